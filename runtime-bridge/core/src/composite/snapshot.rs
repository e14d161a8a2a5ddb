//! All that a decision about a composite resource is made from, save what the process remembers.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;

use crate::{protection::UsageView, reasons::CompositeEvent, watch_plan::GroupKind};

use super::{
    Composite, ObjectId, ResourceRef,
    choose::Selected,
    circuit::CircuitSettings,
    digest::ContentDigest,
    live::ObjectState,
    pipeline::{Lookup, PipelineSpec, RunOutcome},
    publication::SecretVersions,
};

/// The reconcile input of a composite resource.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own.
pub struct Snapshot {
    /// The stored version.
    pub xr: Composite,
    /// What it is composed by.
    pub choice: Result<Chosen, ChoiceProblem>,
    /// What is known of each object that is referred to, that names the composite resource as its controller, or that the last run desires.
    pub seen: BTreeMap<ObjectId, ObjectState>,
    /// What names it as controller and is not among its references.
    pub strays: Vec<ResourceRef>,
    /// Digest of what each stored requirement finds now; `Err`: nothing is known, and why.
    pub required: BTreeMap<Lookup, Result<ContentDigest, String>>,
    /// Versions of the Secrets that count.
    pub secrets: SecretVersions,
    /// Secrets are watched: of one without a version there is none.
    pub secrets_watched: bool,
    /// Why the list of Secrets is not complete: one that no reference names may be unknown. `None`: it is, or may not be read.
    pub unlisted_secrets: Option<String>,
    /// Keys of its connection Secret that its definition lets out; empty: all.
    pub connection_keys: Arc<BTreeSet<String>>,
    /// What of all that is in use.
    pub in_use: InUse,
    /// Some object that counts is of a kind that is not watched now.
    pub is_unwatched: bool,
    /// The run of its pipeline.
    pub run: RunState,
    /// The function for which the run failed has answered since it began, or listens elsewhere.
    pub function_news: bool,
    /// Whether kinds of desired resources are namespaced; what is missing is not served.
    pub namespaced: BTreeMap<GroupKind, bool>,
    /// By kind and external name, of those that the last run desires: who has it and is still being deleted.
    pub reserved: BTreeMap<(GroupKind, String), Vec<Reservation>>,
    /// When this process began to lead.
    pub term_began: Timestamp,
    /// Something new may be begun.
    pub may_act: bool,
    /// Limits and waits.
    pub settings: Arc<Settings>,
    /// From 0 to 1, drawn anew for each snapshot.
    pub jitter: f64,
    /// Wall clock.
    pub now: Timestamp,
}

/// What is known of usages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InUse {
    /// Those that name an object of the composite resource.
    pub usages: Vec<UsageView>,
    /// Why not all usages have been read; `None`: they have.
    pub unknown: Option<String>,
    /// Uids of what waits until the composite resource is gone: what controls it, what controls that, and so on, and their claims.
    pub ancestors: BTreeSet<String>,
}

/// An object that is still being deleted: what is outside of the same name may go with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// The object.
    pub id: ObjectId,
    /// Its uid.
    pub uid: String,
    /// Since when it is being deleted.
    pub since: Option<Timestamp>,
}

/// A composition and the revision of it that is used.
#[derive(Debug, Clone, PartialEq)]
pub struct Chosen {
    /// What is to be stored in the composite resource.
    pub selected: Selected,
    /// Uid of the revision: another one of its name is another one.
    pub revision_uid: String,
    /// Where connection Secrets are put that nobody named.
    pub secrets_namespace: Option<String>,
    /// Its steps; `Err`: it cannot be used, and why.
    pub pipeline: Result<Arc<PipelineSpec>, String>,
}

/// Why nothing can be composed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChoiceProblem {
    /// The step that failed, as its event has it.
    pub event: CompositeEvent,
    /// For people, with the prefix of the step.
    pub message: String,
    /// It is expected to pass soon by itself: it is reported only if it does not.
    pub may_pass: bool,
}

/// Where the run of a pipeline stands.
#[derive(Debug, Clone)]
pub enum RunState {
    /// This process knows of none.
    None,
    /// It goes on.
    Going {
        /// What it was begun for.
        basis: Basis,
        /// When it began.
        since: Timestamp,
    },
    /// It has ended.
    Ended {
        /// What it was begun for, and has seen.
        basis: Basis,
        /// What came of it.
        outcome: Arc<RunOutcome>,
        /// How long it took.
        took: Duration,
        /// When it ended.
        at: Timestamp,
    },
}

/// What a run is begun for.
#[derive(Debug, Clone, PartialEq)]
pub struct Basis {
    /// Digest of what is desired: uid and spec of the composite resource, the fields of the composition layer aside, and the revision. A result of another
    /// one counts for nothing.
    pub desired: ContentDigest,
    /// Digest of what was observed besides: labels, annotations, deletion and what others wrote to the status of the composite resource, and what it composed,
    /// `resourceVersion`s aside. Of another one, another run is due.
    pub observed: ContentDigest,
    /// What its lookups found.
    pub required: BTreeMap<Lookup, ContentDigest>,
    /// Versions of the Secrets that it was to be shown.
    pub secrets: SecretVersions,
}

/// Limits and waits that an operator may set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// After a batch of creates was begun, each may still land for so long: four rounds of writes of 10 s, the time-out of the API server's requests, skew.
    pub late_create: Duration,
    /// How far the clocks of this process and of the API server may be apart.
    pub clock_skew: Duration,
    /// Between two runs of one composite resource, at least; the first ones after a time of quiet wait for a part of it.
    pub settle: Duration,
    /// Likewise, at most, if its runs take long.
    pub longest_settle: Duration,
    /// Its budget of runs upon changes.
    pub circuit: CircuitSettings,
    /// Progress alone is written no sooner than this after it was first seen.
    pub progress: Duration,
    /// What is expected to become known soon is waited for so long before that is reported.
    pub patience: Duration,
    /// After so long a deletion is overdue, unless the composite resource says otherwise.
    pub deletion_deadline: Duration,
    /// Who composes or claims goes once its deletions are sent, as with Crossplane, and not once what it composed is gone.
    pub vanishing_parents: bool,
    /// A refused deletion is repeated if it came at most so long before its usage, or the using resource, began to go.
    pub replay_window: Duration,
    /// Creates and applies of one batch.
    pub writes: usize,
    /// Deletions and reads of one batch.
    pub batch: usize,
    /// Composed resources of one composite resource.
    pub max_composed: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            late_create: Duration::from_mins(2),
            clock_skew: Duration::from_secs(5),
            settle: Duration::from_millis(100),
            longest_settle: Duration::from_secs(5),
            circuit: CircuitSettings::default(),
            progress: Duration::from_secs(1),
            patience: Duration::from_secs(5),
            deletion_deadline: Duration::from_mins(15),
            vanishing_parents: false,
            replay_window: Duration::from_mins(10),
            writes: 64,
            batch: 256,
            max_composed: 2_000,
        }
    }
}
