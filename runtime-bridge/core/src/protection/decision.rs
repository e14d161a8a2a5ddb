//! One thing to do for a usage: a value that prints.

use std::{collections::BTreeMap, fmt};

use serde_json::Value;

use super::{mark::Mark, snapshot::Subject, usage::Side};
use crate::{
    composite::{LiveObject, ResourceRef},
    managed::Event,
};

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Read something past the store.
    Observe(Subject),
    /// Read the usage past the store.
    VerifyResourceVersion,
    /// Write metadata and spec of the usage, guarded by resourceVersion.
    Write(Box<UsageWrite>),
    /// Write label and annotations of the used resource.
    Mark(Box<MarkWrite>),
    /// Delete the used resource, as somebody tried to before.
    Replay(Replay),
    /// Write the status, guarded by resourceVersion.
    WriteStatus(Box<StatusWrite>),
    /// Let the usage go.
    RemoveFinalizer,
}

/// What is to become of a usage, its status aside.
#[derive(Debug, Clone, PartialEq)]
pub struct UsageWrite {
    /// Why, for the log.
    pub why: Vec<&'static str>,
    /// All of its finalizers.
    pub finalizers: Vec<String>,
    /// All of its annotations.
    pub annotations: BTreeMap<String, String>,
    /// All of its owner references.
    pub owners: Vec<Value>,
    /// Its spec, whole.
    pub spec: Value,
}

/// A change of what a used object bears, guarded by uid and resourceVersion.
#[derive(Debug, Clone, PartialEq)]
pub struct MarkWrite {
    /// Which object.
    pub reference: ResourceRef,
    /// Uid that it was decided on.
    pub uid: String,
    /// `resourceVersion` that it was decided on.
    pub resource_version: String,
    /// What it is to bear.
    pub mark: Mark,
}

impl MarkWrite {
    /// `None`: the object bears it already.
    pub(super) fn of(reference: &ResourceRef, object: &LiveObject, mark: Mark) -> Option<Self> {
        (mark != Mark::of(object)).then(|| Self {
            reference: reference.clone(),
            uid: object.uid().to_owned(),
            resource_version: object.resource_version().to_owned(),
            mark,
        })
    }
}

/// A deletion of the used resource, guarded by uid and resourceVersion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Which object.
    pub reference: ResourceRef,
    /// Uid that it was decided on.
    pub uid: String,
    /// `resourceVersion` that it was decided on.
    pub resource_version: String,
    /// What becomes of what it owns.
    pub policy: ReplayPolicy,
}

/// What becomes of the objects that name a deleted one as their owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayPolicy {
    /// They are deleted afterwards.
    Background,
    /// They are deleted first.
    Foreground,
    /// They stay.
    Orphan,
}

impl ReplayPolicy {
    /// As the annotation of an attempt has it.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "Background" => Some(Self::Background),
            "Foreground" => Some(Self::Foreground),
            "Orphan" => Some(Self::Orphan),
            _ => None,
        }
    }
}

/// A status to write.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusWrite {
    /// Whole.
    pub status: Value,
    /// To be recorded once it is written.
    pub events: Vec<Event>,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Observe(Subject::Resource(Side::Used)) => f.write_str("observe used resource"),
            Self::Observe(Subject::Resource(Side::Using)) => f.write_str("observe using resource"),
            Self::Observe(Subject::Controller) => f.write_str("observe controller"),
            Self::Observe(Subject::Owner) => f.write_str("observe owner"),
            Self::VerifyResourceVersion => f.write_str("verify resourceVersion"),
            Self::Write(write) => write!(f, "write {}", write.why.join(", ")),
            Self::Mark(write) if write.mark.let_go_by.is_some() => {
                write!(f, "let {} {} go", write.reference.kind, write.reference.name)
            }
            Self::Mark(write) if write.mark.label => {
                write!(
                    f,
                    "label {} {} as in use",
                    write.reference.kind, write.reference.name
                )
            }
            Self::Mark(write) => {
                write!(
                    f,
                    "take the label off {} {}",
                    write.reference.kind, write.reference.name
                )
            }
            Self::Replay(replay) => write!(f, "delete {} {}", replay.reference.kind, replay.reference.name),
            Self::WriteStatus(_) => f.write_str("write status"),
            Self::RemoveFinalizer => f.write_str("remove finalizer"),
        }
    }
}
