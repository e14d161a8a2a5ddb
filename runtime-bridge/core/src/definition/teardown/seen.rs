//! What a plan is made of.

use jiff::Timestamp;

use super::Side;

/// A definition, and what exists of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// Its uid.
    pub uid: String,
    /// Its finalizers, whosever they are.
    pub finalizers: Vec<String>,
    /// Its stored status says that it ends.
    pub is_reported: bool,
    /// The CRD of its claims; `None`: there is none.
    pub claims: Option<Crd>,
    /// Likewise of its composite resources.
    pub composites: Option<Crd>,
    /// It is not known which usages there are.
    pub unlisted: Option<Unlisted>,
}

/// Why it is not known which usages there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlisted {
    /// Why.
    pub why: String,
    /// Since when this definition waits for it.
    pub since: Timestamp,
}

/// A CRD, and what exists of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crd {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The version that was read.
    pub resource_version: Option<u64>,
    /// Uid of the definition that controls it.
    pub controller: Option<String>,
    /// It is being deleted.
    pub is_deleting: bool,
    /// Its objects.
    pub objects: Objects,
}

/// The objects of a CRD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Objects {
    /// As a watch shows them, which may lag behind: that it shows none proves nothing. Without a watch it is empty.
    Watched(Vec<Instance>),
    /// As a list past the caches shows them.
    Listed(Vec<Instance>),
    /// No version was ever served, so that there are none.
    NeverServed,
    /// They cannot be listed, for this reason.
    Unreadable(String),
}

/// An object of a CRD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// `Order.shop.example.org one/a`.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// The version that was seen.
    pub resource_version: u64,
    /// It is being deleted.
    pub is_deleting: bool,
    /// The first of the usages that protect it, with its details.
    pub used_by: Option<String>,
}

impl Seen {
    /// The CRD of a side.
    pub const fn crd(&self, side: Side) -> Option<&Crd> {
        match side {
            Side::Claim => self.claims.as_ref(),
            Side::Composite => self.composites.as_ref(),
        }
    }
}

impl Objects {
    /// As far as they are known.
    pub fn left(&self) -> &[Instance] {
        match self {
            Self::Watched(left) | Self::Listed(left) => left,
            Self::NeverServed | Self::Unreadable(_) => &[],
        }
    }

    /// As far as is known, there are none.
    pub(super) fn are_none(&self) -> bool {
        !matches!(self, Self::Unreadable(_)) && self.left().is_empty()
    }
}
