//! What the shell gathers before each decision.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;

use crate::{
    back_off::policies::CallBackoffs,
    external::{Config, Document, Secrets},
    kind::{CreateRecovery, Kind, NameSource},
    reasons::ConditionReason,
    rule::Rule,
};

use super::{
    annotations::Annotations,
    names,
    policy::Policies,
    record::{Record, Stored},
    status::{Condition, Status},
};

/// The managed resource as it stands in Kubernetes.
#[derive(Debug, Clone, PartialEq)]
pub struct Managed {
    /// Empty for cluster-scoped kinds.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.generation`.
    pub generation: i64,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// `metadata.deletionTimestamp`.
    pub deletion: Option<Timestamp>,
    /// `metadata.finalizers`.
    pub finalizers: Vec<String>,
    /// `metadata.annotations`.
    pub annotations: Annotations,
    /// From `spec`.
    pub policies: Policies,
    /// `spec.writeConnectionSecretToRef` is set.
    pub wants_connection_secret: bool,
    /// `status`, read.
    pub status: Status,
}

impl Managed {
    /// The annotation's value; empty: none.
    pub fn annotation(&self, key: &str) -> &str {
        self.annotations.get(key).map_or("", String::as_str)
    }

    /// The time that the annotation says; `None`: there is none, or none that one can reckon with.
    pub fn annotated_time(&self, key: &str) -> Option<Timestamp> {
        let time = self.annotation(key).parse().ok();
        time.filter(|time| super::duration::within_reach(*time))
    }

    /// Its deletion was begun, and everybody may see it.
    pub fn shows_deleting(&self) -> bool {
        self.condition(super::status::READY)
            .is_some_and(|ready| ready.reason == ConditionReason::Deleting.as_str())
    }

    /// The create or adoption of this record, which is the object's, is confirmed: by metadata, or by the status that names its token.
    pub fn confirms(&self, record: &Record) -> bool {
        record.confirmed
            || record.create().is_some_and(|intent| {
                !Rule::StatusConfirmsToken.is_off() && self.status.progress.create_token == intent.token
            })
    }

    /// Our finalizer stands.
    pub fn has_finalizer(&self) -> bool {
        self.finalizers
            .iter()
            .any(|finalizer| finalizer == names::FINALIZER)
    }

    /// The record, if it is this object's.
    pub fn record(&self) -> Arc<Stored> {
        self.annotations.record(&self.uid)
    }

    /// Paused by annotation, or by an empty list of policies.
    pub fn paused(&self) -> bool {
        self.annotation(names::PAUSED) == "true" || self.policies.paused
    }

    /// Finalizers of others that a deletion waits for.
    pub fn other_finalizers(&self) -> Vec<&str> {
        let ours = |finalizer: &&str| {
            *finalizer != names::FINALIZER && !names::GARBAGE_COLLECTION_FINALIZERS.contains(finalizer)
        };
        self.finalizers.iter().map(String::as_str).filter(ours).collect()
    }

    /// The condition of one type, as it stands.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.status
            .conditions
            .iter()
            .find(|condition| condition.kind == kind)
    }
}

/// A stable reason and a sentence that tells the user what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// PascalCase.
    pub reason: String,
    /// For people.
    pub message: String,
}

/// The desired state with its secrets, or what is in the way.
#[derive(Debug, Clone, PartialEq)]
pub struct ResolvedDesiredState {
    /// Without sensitive values.
    pub parameters: Document,
    /// Digest of the parameters.
    pub digest: String,
    /// Read from Secrets.
    pub sensitive: Secrets,
    /// `<key id>:<keyed digest>`; empty where there are no sensitive values.
    pub sensitive_digest: String,
}

/// A pause that reaches further than one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspension {
    /// When it ends by itself or is looked at again.
    pub until: Timestamp,
    /// Why.
    pub problem: Problem,
}

/// What must go first, before the external Delete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocker {
    /// For people: what blocks, and why.
    pub message: String,
    /// Which usages there are is not known: nothing is told when they are listed, and none is.
    pub is_unknown: bool,
}

/// Drawn anew for each decision, so that the core needs no randomness.
#[derive(Debug, Clone, PartialEq)]
pub struct Fresh {
    /// A UUID.
    pub token: String,
    /// A short random word.
    pub question: String,
    /// From 0 to 1.
    pub jitter: f64,
}

/// What the operator of the bridge has set.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Between drift polls.
    pub poll: Duration,
    /// Uniformly about `poll`, at most this much either way.
    pub poll_jitter: Duration,
    /// How far two clocks may be apart.
    pub clock_skew: Duration,
    /// After calls that failed.
    pub backoffs: CallBackoffs,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            poll: Duration::from_mins(1),
            poll_jitter: Duration::from_secs(6),
            clock_skew: Duration::from_secs(5),
            backoffs: CallBackoffs::default(),
        }
    }
}

/// All that a decision is made from, save the memory.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Its kind.
    pub kind: Arc<Kind>,
    /// The object.
    pub managed: Managed,
    /// The desired state, or why it cannot be read.
    pub desired: Result<Arc<ResolvedDesiredState>, Problem>,
    /// The parameters without secrets: a deletion goes by them where the desired state cannot be read.
    pub bare: Document,
    /// The config, or why there is none.
    pub config: Result<Arc<Config>, Problem>,
    /// On the config or on the rate-limit group.
    pub suspension: Option<Suspension>,
    /// Before the external Delete.
    pub blocker: Option<Blocker>,
    /// Another object of ours that has the same external resource, or is making one of the name that this one is about to make.
    pub conflicting_object: Option<String>,
    /// May new calls be begun: the lease is ours, and no shutdown is on.
    pub may_act: bool,
    /// Ours on external resources.
    pub marker: String,
    /// Of the plugin.
    pub plugin_version: String,
    /// Set by the operator.
    pub settings: Arc<Settings>,
    /// Drawn.
    pub fresh: Fresh,
    /// Wall clock.
    pub now: Timestamp,
}

/// What the annotation [`names::ADOPT`] says where it is a marker, and not our own; else empty.
pub fn former_marker<'a>(word: &'a str, own: &str) -> &'a str {
    let fits = word.len() <= 63
        && word.starts_with(|first: char| first.is_ascii_lowercase())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if fits && word != own { word } else { "" }
}

impl Snapshot {
    /// Does the kind declare this recovery?
    pub fn recovers_by(&self, recovery: CreateRecovery) -> bool {
        self.kind.capabilities.create_recovery.contains(&recovery)
    }

    /// The upstream gives the names.
    pub fn is_named_upstream(&self) -> bool {
        self.kind.external_name.source == NameSource::Provider
    }

    /// A marker of another object that a person has said is ours too; empty: none.
    pub fn former_marker(&self) -> &str {
        former_marker(self.managed.annotation(names::ADOPT), &self.marker)
    }

    /// Clock skew and the kind's late margin: after a deadline plus this nothing of the call can still happen.
    pub fn margin(&self) -> Duration {
        self.settings.clock_skew + self.kind.capabilities.late_margin
    }

    /// The name to look by in the ordinary course; `None`: there is nothing to look by. Empty: by derived name or marker.
    pub fn name_to_observe_by(&self, record: Option<&Record>) -> Option<String> {
        if let Some(name) = record
            .map(|record| &record.external_name)
            .filter(|name| !name.is_empty())
        {
            return Some(name.clone());
        }
        let annotated = self.managed.annotation(names::EXTERNAL_NAME);
        if !annotated.is_empty() {
            return Some(annotated.to_owned());
        }
        match self.kind.external_name.source {
            NameSource::User => Some(self.managed.name.clone()),
            NameSource::Derived => Some(String::new()),
            NameSource::Provider => self.recovers_by(CreateRecovery::Marker).then(String::new),
        }
    }
}
