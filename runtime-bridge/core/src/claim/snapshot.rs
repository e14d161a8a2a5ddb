//! All that a decision about a claim is made from, save what the process remembers.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Claim, SecretVersions};
use crate::{
    composite::{ObjectState, Selected, Settings},
    definition::Terms,
};

/// The reconcile input of a claim.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The stored version.
    pub claim: Claim,
    /// What the definition says of its type.
    pub terms: Arc<Terms>,
    /// Name of its composite resource: the one that it names, or that it would name.
    pub name: String,
    /// What is known of the composite resource of that name.
    pub xr: ObjectState,
    /// What the composite resource would be composed by; `None`: nothing can be chosen now.
    pub choice: Option<Selected>,
    /// How the two connection Secrets are known, if there are to be two.
    pub secrets: Option<SecretVersions>,
    /// By what the composite resource is in use, for people; `None`: it is not.
    pub in_use: Option<String>,
    /// Why not all usages have been read; `None`: they have.
    pub unknown_usages: Option<String>,
    /// Composite resources are not watched now.
    pub is_unwatched: bool,
    /// When this process began to lead.
    pub term_began: Timestamp,
    /// Something new may be begun.
    pub may_act: bool,
    /// Limits and waits.
    pub settings: Arc<Settings>,
    /// Wall clock.
    pub now: Timestamp,
}
