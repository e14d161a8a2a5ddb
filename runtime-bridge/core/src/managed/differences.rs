//! In what an external resource differs from its desired state.

use crate::{
    external::{FieldDiff, Observation},
    kind::Kind,
};

use super::{diff, record::Record, snapshot::ResolvedDesiredState};

/// Each field that differs stands in one of the two lists.
pub(super) struct Differences {
    /// Fields that an Update changes.
    pub updated: Vec<FieldDiff>,
    /// Fields that only a replacement changes.
    pub replaced: Vec<FieldDiff>,
    /// Sensitive values that were applied are not today's, as far as the record knows.
    pub secrets: bool,
    /// It does not bear our marker, though resources of its kind can.
    pub unmarked: bool,
}

impl Differences {
    pub fn of(
        kind: &Kind,
        desired: &ResolvedDesiredState,
        marker: &str,
        record: &Record,
        observation: &Observation,
    ) -> Self {
        let (replaced, updated) = diff::differences(kind, &desired.parameters, observation)
            .into_iter()
            .partition(|diff| diff.needs_replacement || !kind.capabilities.can_update);
        Self {
            updated,
            replaced,
            secrets: record.sensitive_digest != desired.sensitive_digest,
            unmarked: kind.capabilities.holds_marker && observation.found_marker != marker,
        }
    }

    pub fn has_fields(&self) -> bool {
        !self.updated.is_empty() || !self.replaced.is_empty()
    }

    /// For people: what an Update is to change.
    pub fn to_update(&self) -> String {
        let mut all: Vec<&str> = self.updated.iter().map(|diff| diff.path.as_str()).collect();
        all.extend(self.secrets.then_some("sensitive values"));
        all.extend(self.unmarked.then_some("the ownership marker"));
        all.join(", ")
    }

    /// For people: what only a replacement changes.
    pub fn to_replace(&self) -> String {
        let paths: Vec<&str> = self.replaced.iter().map(|diff| diff.path.as_str()).collect();
        paths.join(", ")
    }
}
