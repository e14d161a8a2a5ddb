//! What a plugin is asked.

mod desired;
mod ensure;
mod request;

use std::sync::OnceLock;

pub use desired::{Desired, Known};
pub use request::{Create, Delete, List, Poll, Update};

use crossbridge_types::OperationVerb;

use crate::{Config, Deadline};

/// What a call is about.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Target {
    /// Name of the external resource; empty where none is known yet.
    pub external_name: String,
    /// Put this on the external resource, where the kind [holds a marker](crate::Kind::holds_marker). At most 63 of
    /// `[a-z0-9-]`, begins with a letter.
    pub ownership_marker: String,
    /// Another marker that counts as ours, and that the next update replaces; empty: none.
    pub former_marker: String,
    /// Whatever this plugin last returned; empty: nothing.
    pub provider_state: String,
    /// The Kubernetes object's namespace; empty for cluster-scoped kinds.
    pub owner_namespace: String,
    /// The Kubernetes object's `metadata.name`.
    pub owner_name: String,
    /// The Kubernetes object's `metadata.uid`.
    pub owner_uid: String,
    /// The Kubernetes object's generation that the desired state was read from.
    pub owner_generation: i64,
}

impl Target {
    /// Whether a marker found on a resource is ours, or one that a person has said is ours too.
    pub fn is_ours(&self, found_marker: &str) -> bool {
        !found_marker.is_empty()
            && (found_marker == self.ownership_marker || found_marker == self.former_marker)
    }
}

/// The context of one call: about what, with which settings and credentials, until when.
#[derive(Debug)]
#[non_exhaustive]
pub struct Call {
    /// The resource that the call is about, and its owner.
    pub target: Target,
    /// The config of the call: settings and credentials.
    pub config: Config,
    /// When the call must have ended; every upstream request is bounded by it.
    pub deadline: Deadline,
    /// The bridge's id of this call, for logs.
    pub id: String,
    /// In full, with its version.
    pub(crate) resource_type: String,
    /// What bears no marker is not ours: in Delete and polls of a kind with recovery by marker.
    pub(crate) requires_marker: bool,
    pub(crate) recorded_name: OnceLock<String>,
}

impl Call {
    /// Records which name the upstream has given, the moment it is known. Whatever becomes of the call then, the bridge
    /// gets the name: the answer carries it when the call succeeds, fails at a `?`, panics or runs out of time. The first one counts.
    /// A creation that fails afterwards never reports that nothing was done, whatever its [`Failure`](crate::Failure) states.
    pub fn record_name(&self, external_name: impl Into<String>) {
        let _ = self.recorded_name.set(external_name.into());
    }

    /// Whether a name was recorded that the bridge may not know. Where it knows the name, a status may stand: that of a poll ends an
    /// operation that cannot be read.
    pub(crate) fn has_news(&self, verb: Option<OperationVerb>) -> bool {
        self.recorded_name.get().is_some_and(|name| {
            let is_known = verb != Some(OperationVerb::Create) && *name == self.target.external_name;
            !name.is_empty() && !is_known
        })
    }
}

/// The context of a call that is about no single resource.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ConfigCall {
    /// The config to check: settings and credentials.
    pub config: Config,
    /// When the call must have ended; every upstream request is bounded by it.
    pub deadline: Deadline,
    /// The bridge's id of this call, for logs.
    pub id: String,
}
