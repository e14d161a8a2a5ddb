//! The kinds that are served: wanted by sources, started and stopped one by one.
//!
//! A *source* says which kinds it wants: a plugin those that it publishes; definitions of composite resources will be another. The
//! [`Registry`] brings the definition of each kind into the cluster, or checks it, and then serves the kind by a handle, [`Served`]. What no
//! source wants any more is dropped: without I/O, without waiting, and without touching any other kind.

mod definition;
mod entry;
mod registry;
mod served;

use std::sync::Arc;

use bridge_core::watch_plan::GroupKind;
use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;

pub use self::{registry::Registry, served::Served};
use crate::engine::Controller;

/// One kind that a source wants served. A kind that changes in any way is another one.
pub struct DesiredKind {
    /// With its version, for people.
    pub name: String,
    /// Who wants it, for people.
    pub source: String,
    /// The definition that the cluster is to have.
    pub crd: Value,
    /// Who reconciles it; `None`: nobody here, only its definition is wanted.
    pub controller: Option<Controller>,
}

impl DesiredKind {
    /// Group and kind.
    pub fn kind(&self) -> GroupKind {
        GroupKind::new(self.text("/spec/group"), self.text("/spec/names/kind"))
    }

    /// Name of its definition.
    pub fn crd_name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// The API server can serve only one of them.
    fn excludes(&self, other: &Self) -> bool {
        self.kind() == other.kind() || self.crd_name() == other.crd_name()
    }

    fn text(&self, pointer: &str) -> &str {
        self.crd
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}

/// What a source wants.
#[derive(Default)]
pub struct Wanted {
    /// Kinds to serve. One that did not change since the source was asked last is the same `Arc`; one that was withdrawn never comes back as the
    /// same `Arc`.
    pub kinds: Vec<Arc<DesiredKind>>,
    /// Kinds that can never be served as they are, by name, and why.
    pub rejected: Vec<(String, String)>,
}

/// Something that wants kinds served.
pub trait KindSource: Send + Sync {
    /// Resolves when [`KindSource::wanted`] may answer otherwise than it did last. Dropping the future loses nothing.
    fn changed(&self) -> BoxFuture<'static, ()>;

    /// What is wanted now.
    fn wanted(&mut self) -> Wanted;

    /// These of them are served, or will be as soon as their definitions are as they should be: no other source has them.
    fn accepted(&mut self, kinds: &[Arc<DesiredKind>]);
}

/// What became of a kind that a source wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum KindStatus {
    /// Its CRD has not been inspected yet.
    Starting,
    /// Its CRD is as it should be.
    Served,
    /// Served, though its CRD was changed, or cannot be read now: why. Inspected again.
    Degraded(String),
    /// Its CRD is on its way: the API server has not established it yet, or the leader installs it. Nothing is wrong so far; inspected again.
    Pending(String),
    /// Its CRD is missing or otherwise; inspected again.
    Waiting(String),
    /// Never, as it is.
    Refused(String),
}

/// Learns what becomes of kinds.
pub trait KindReport: Send + Sync {
    /// A kind stands thus.
    fn kind(&self, name: &str, status: KindStatus);

    /// No source wants any kind but these any more.
    fn retain(&self, wanted: &dyn Fn(&str) -> bool);
}

/// What becomes of definitions in the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefinitionMode {
    /// The leader creates them, and updates those that a bridge has made.
    Install,
    /// They are left alone; a kind is served while its definition is as it should be.
    Check,
}
