//! One thing to do for a claim: a value that prints.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::Value;

use super::{CompositeBody, SecretRefs};
use crate::{composite::SecretName, managed::Event};

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Read the composite resource of this name past the store.
    Observe(String),
    /// Read the claim past the store.
    VerifyResourceVersion,
    /// Write metadata and spec of the claim, guarded by resourceVersion.
    Write(Box<ClaimWrite>),
    /// Create the composite resource of this name, which the claim names. Nothing that exists is touched.
    Create(String, Box<CompositeBody>),
    /// Bring the composite resource to what the claim wants.
    Apply(Box<CompositeChange>),
    /// Copy the connection Secret of the composite resource, if the one with this uid controls it.
    Propagate(SecretRefs, String),
    /// Delete the claim's connection Secret, if the claim controls it.
    DeleteSecret(SecretName),
    /// Delete the composite resource.
    Delete(CompositeDeletion),
    /// Write the status, guarded by resourceVersion.
    WriteStatus(Box<StatusWrite>),
    /// Let the claim go.
    RemoveFinalizer,
}

/// What is to become of a claim, its status aside.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimWrite {
    /// Why, for the log.
    pub why: Vec<&'static str>,
    /// All of its finalizers.
    pub finalizers: Vec<String>,
    /// All of its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Its spec, whole.
    pub spec: Value,
}

/// A change of a composite resource that exists, guarded by uid and resourceVersion.
#[derive(Debug, Clone, PartialEq)]
pub struct CompositeChange {
    /// Name.
    pub name: String,
    /// What the claim wants of it.
    pub body: CompositeBody,
    /// Uid that it was decided on.
    pub uid: String,
    /// `resourceVersion` that it was decided on.
    pub resource_version: String,
    /// What it was created with belongs to another field manager: that is handed over first.
    pub convert: bool,
}

/// A deletion of a composite resource, guarded by uid and resourceVersion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompositeDeletion {
    /// Name.
    pub name: String,
    /// Uid that it was decided on.
    pub uid: String,
    /// `resourceVersion` that it was decided on.
    pub resource_version: String,
}

/// A status to write.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusWrite {
    /// Whole.
    pub status: Value,
    /// Types of the conditions in it that are the composite resource's.
    pub copied: BTreeSet<String>,
    /// To be recorded once it is written.
    pub events: Vec<Event>,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Observe(name) => write!(f, "observe composite resource {name}"),
            Self::VerifyResourceVersion => f.write_str("verify resourceVersion"),
            Self::Write(write) => write!(f, "write {}", write.why.join(", ")),
            Self::Create(name, _) => write!(f, "create composite resource {name}"),
            Self::Apply(change) => write!(f, "apply composite resource {}", change.name),
            Self::Propagate(refs, _) => write!(f, "propagate connection Secret {}", refs.target),
            Self::DeleteSecret(secret) => write!(f, "delete connection Secret {secret}"),
            Self::Delete(deletion) => write!(f, "delete composite resource {}", deletion.name),
            Self::WriteStatus(_) => f.write_str("write status"),
            Self::RemoveFinalizer => f.write_str("remove finalizer"),
        }
    }
}
