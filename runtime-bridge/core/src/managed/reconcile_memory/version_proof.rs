//! Which version of the object this pass has proven to be the newest.

use jiff::Timestamp;

/// A write or a live read of this pass proved a version.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::managed) struct VersionProof {
    /// The resourceVersion, and when the write or read began.
    newest: Option<(String, Timestamp)>,
    /// How often this pass has proven one; 2: or more often.
    count: u32,
}

impl VersionProof {
    pub(in crate::managed) fn prove(&mut self, resource_version: &str, began: Timestamp) {
        self.newest = Some((resource_version.to_owned(), began));
        self.count = self.count.saturating_add(1).min(2);
    }

    /// A call uses it up.
    pub(in crate::managed) fn spend(&mut self) {
        self.newest = None;
    }

    /// When the proof of just this version began.
    pub(in crate::managed) fn began(&self, resource_version: &str) -> Option<Timestamp> {
        self.newest
            .as_ref()
            .filter(|(proven, _)| proven == resource_version)
            .map(|(_, began)| *began)
    }

    /// There was one before, and it did not suffice.
    pub(in crate::managed) fn is_repeated(&self) -> bool {
        self.count > 1
    }
}
