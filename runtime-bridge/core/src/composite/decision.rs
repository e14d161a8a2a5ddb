//! One thing to do for a composite resource: a value that prints.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use serde_json::Value;

use super::{
    ObjectId, ResourceRef,
    desired::ComposedResource,
    live::LiveObject,
    pipeline::PipelineSpec,
    publication::{Publication, SecretName},
    requires::StepRequirements,
    snapshot::Basis,
};
use crate::{function::Observed, managed::Event, rule::Rule};

/// One thing to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Read these past the store: the decision needs to know them for certain.
    Observe(Vec<ResourceRef>),
    /// Read the composite resource past the store.
    VerifyResourceVersion,
    /// Begin a run of the pipeline, in place of the one that goes on.
    Run(Box<RunStart>),
    /// Write metadata and machinery fields, guarded by resourceVersion.
    Write(Box<CompositeWrite>),
    /// Create objects whose references are stored. Nothing that exists is touched.
    Create(Vec<ComposedResource>),
    /// Change objects, each guarded by uid and resourceVersion.
    Apply(Vec<Change>),
    /// Delete objects, each guarded by uid and resourceVersion.
    Delete(Vec<Deletion>),
    /// Take owner and labels off objects that are left behind, each guarded by uid and resourceVersion.
    Release(Vec<Deletion>),
    /// Bring keys into the connection Secret.
    Publish(Publication),
    /// Delete the connection Secret, if the composite resource controls it.
    DeleteSecret(SecretName),
    /// Write the status, guarded by resourceVersion.
    WriteStatus(Box<StatusWrite>),
    /// Let the composite resource go.
    RemoveFinalizer,
}

/// A run to begin.
#[derive(Debug, Clone, PartialEq)]
pub struct RunStart {
    /// What it is begun for.
    pub basis: Basis,
    /// What all of its calls are shown.
    pub observed: Arc<Observed>,
    /// The steps.
    pub pipeline: Arc<PipelineSpec>,
    /// What each step required last.
    pub seeds: StepRequirements,
}

/// What is to become of a composite resource, its status aside.
#[derive(Debug, Clone, PartialEq)]
pub struct CompositeWrite {
    /// Why, for the log.
    pub why: Vec<&'static str>,
    /// All of its finalizers.
    pub finalizers: Vec<String>,
    /// All of its labels.
    pub labels: BTreeMap<String, String>,
    /// All of its annotations.
    pub annotations: BTreeMap<String, String>,
    /// Its spec, whole.
    pub spec: Value,
    /// To be recorded once it is written.
    pub events: Vec<Event>,
}

/// A change of an object that exists.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// What it is to be.
    pub resource: ComposedResource,
    /// Uid that it was decided on.
    pub uid: String,
    /// `resourceVersion` that it was decided on.
    pub resource_version: String,
    /// What it was created with belongs to another field manager: that is handed over first.
    pub convert: bool,
    /// Nobody controlled it, and it bears our composition resource name.
    pub adopts: bool,
}

/// A deletion of an object, or its release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deletion {
    /// How it is addressed.
    pub reference: ResourceRef,
    /// Which object it is.
    pub id: ObjectId,
    /// Uid that it was decided on.
    pub uid: String,
    /// `resourceVersion` that it was decided on.
    pub resource_version: String,
}

impl Deletion {
    /// Guarded by uid and version: what was orphaned or made anew since it was seen is not met.
    pub(super) fn of(id: ObjectId, reference: &ResourceRef, object: &LiveObject) -> Self {
        let version = object.resource_version();
        Self {
            reference: reference.clone(),
            id,
            uid: object.uid().to_owned(),
            resource_version: if Rule::DeletionNamesVersion.is_off() {
                String::new()
            } else {
                version.to_owned()
            },
        }
    }
}

/// A status to write.
#[derive(Debug, Clone, PartialEq)]
pub struct StatusWrite {
    /// Whole.
    pub status: Value,
    /// Types of the conditions in it that functions set; `None`: those of before.
    pub function_conditions: Option<BTreeSet<String>>,
    /// What functions desire of it; `None`: what they desired before.
    pub desired: Option<Value>,
    /// To be recorded once it is written.
    pub events: Vec<Event>,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn list<T>(
            f: &mut fmt::Formatter<'_>,
            verb: &str,
            all: &[T],
            name: impl Fn(&T) -> String,
        ) -> fmt::Result {
            write!(
                f,
                "{verb} {}",
                all.iter().map(name).collect::<Vec<_>>().join(", ")
            )
        }
        match self {
            Self::Observe(refs) => list(f, "observe", refs, |one| format!("{} {}", one.kind, one.name)),
            Self::VerifyResourceVersion => f.write_str("verify resourceVersion"),
            Self::Run(_) => f.write_str("run the pipeline"),
            Self::Write(write) => write!(f, "write {}", write.why.join(", ")),
            Self::Create(all) => list(f, "create", all, |one| one.id.to_string()),
            Self::Apply(all) => list(f, "apply", all, |one| one.resource.id.to_string()),
            Self::Delete(all) => list(f, "delete", all, |one| one.id.to_string()),
            Self::Release(all) => list(f, "release", all, |one| one.id.to_string()),
            Self::Publish(publication) => {
                write!(f, "publish connection details in Secret {}", publication.secret)
            }
            Self::DeleteSecret(secret) => write!(f, "delete connection Secret {secret}"),
            Self::WriteStatus(_) => f.write_str("write status"),
            Self::RemoveFinalizer => f.write_str("remove finalizer"),
        }
    }
}
