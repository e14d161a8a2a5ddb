//! What a process remembers of a composite resource, and may lose at any time.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use super::{
    ObjectId,
    circuit::{Circuit, CircuitCounts},
    digest::{BodyDigest, ContentDigest},
    movement::Movement,
    present::Difference,
    publication::{FailedPublication, Published},
    reapplication::Reapplication,
    refused_report::RefusedReport,
};
use crate::{managed::Event, reasons::CompositeEvent};

/// What a process remembers of one composite resource.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CompositeMemory {
    /// Term of leading in which all of this was learnt.
    pub(super) term: u64,
    /// `resourceVersion` that a write or a live read of this term returned.
    pub(super) verified: Option<String>,
    /// The version that was read live last, and the uids of what had lost its owner then, or never had one.
    pub(super) adoptable: Option<(String, BTreeSet<String>)>,
    /// Creates whose answers were lost -> when the last of them began. One that was answered can have no more effect.
    pub(super) lost_creates: BTreeMap<ObjectId, Timestamp>,
    /// The last token by which a person asked for a reconcile; `None`: it has not been looked at in this term.
    pub(super) requested: Option<String>,
    /// Objects of ours that were seen in this term.
    pub(super) seen: BTreeSet<ObjectId>,
    /// Objects that were created in this term, under a reference that the last write had not added.
    pub(super) recreated: BTreeSet<ObjectId>,
    /// Of what was created more than once: how often, and until when it is not created again.
    pub(super) recreations: BTreeMap<ObjectId, Recreation>,
    /// Uid -> how often the same was applied to it, and until when it is not applied again.
    pub(super) reapplications: BTreeMap<String, Reapplication>,
    /// Objects that a live read did not find -> when that read began.
    pub(super) absences: BTreeMap<ObjectId, Timestamp>,
    /// Composition resource name -> the write that failed.
    pub(super) failures: BTreeMap<String, FailedWrite>,
    /// Uid -> the deletion that failed.
    pub(super) failed_deletions: BTreeMap<String, FailedDeletion>,
    /// Objects that could not be read -> until when they are not read again.
    pub(super) failed_reads: BTreeMap<ObjectId, Timestamp>,
    /// Digest of the last write of the composite resource beside its status.
    pub(super) last_write: Option<ContentDigest>,
    /// A status that the API server refuses.
    pub(super) rejected_status: Option<Box<RejectedStatus>>,
    /// The report of its deletion.
    pub(super) refused_report: RefusedReport,
    /// The last write of the composite resource beside its status, if the API server refused it.
    pub(super) refused_write: Option<RefusedWrite>,
    /// Uid -> what the API server, or who stands before it, made of desired fields: not fought.
    pub(super) altered: BTreeMap<String, Vec<Difference>>,
    /// Since when something is not known that is expected to become known soon.
    pub(super) unknown_since: Option<Timestamp>,
    /// Objects that are not known -> since when, and when that was seen last.
    pub(super) unread: BTreeMap<ObjectId, (Timestamp, Timestamp)>,
    /// Since when it is not known which Secrets it composed, and when that was seen last.
    pub(super) secrets_unlisted: Option<(Timestamp, Timestamp)>,
    /// Since when it is not known what is in use, and when that was seen last.
    pub(super) unlisted: Option<(Timestamp, Timestamp)>,
    /// How its budget of runs upon changes stands.
    pub(super) circuit: Circuit,
    /// Runs in a row that failed.
    pub(super) failed_runs: u32,
    /// Requests to the API server in a row that were not carried out.
    pub(super) failed_writes: u32,
    /// What the last status became on its way: sent, stored.
    pub(super) status_echo: Option<Box<(Value, Value)>>,
    /// What functions desired of the status when it was last written.
    pub(super) desired_status: Option<Value>,
    /// Types of conditions that functions set when it was last written.
    pub(super) function_conditions: BTreeSet<String>,
    /// Creates that met an object of that name: it is looked at before anything else.
    pub(super) name_taken: BTreeSet<ObjectId>,
    /// References that our writes of this term added, and of which nothing was created yet.
    pub(super) added: BTreeSet<ObjectId>,
    /// Since when a status that only shows progress waits to be written.
    pub(super) progress_since: Option<Timestamp>,
    /// The run whose results were recorded last, by its end.
    pub(super) reported_run: Option<Timestamp>,
    /// The connection Secret as it was published.
    pub(super) published: Option<Published>,
    /// When connection details were written, until the status says so.
    pub(super) published_at: Option<Timestamp>,
    /// The publication that failed.
    pub(super) failed_publication: Option<FailedPublication>,
    /// The connection Secret was deleted, or is another owner's.
    pub(super) secret_deleted: bool,
    /// Its deletion that was refused.
    pub(super) failed_secret_deletion: Option<FailedDeletion>,
    /// How its deletion moves.
    pub(super) movement: Option<Movement>,
    /// States of which an event was recorded.
    pub(super) reported: BTreeSet<String>,
    /// To be recorded.
    pub(super) events: Vec<Event>,
}

/// What somebody else deletes is created again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Recreation {
    /// In a row.
    pub times: u32,
    /// It is not created again before this.
    pub retry_at: Timestamp,
}

/// A write of a composed resource that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FailedWrite {
    /// Digest of what was desired: something else is tried at once.
    pub desired: BodyDigest,
    /// For people.
    pub message: String,
    /// Of which an event was recorded; `None`: of none.
    pub told: Option<String>,
    /// Another writer was faster: nothing is wrong.
    pub is_conflict: bool,
    /// In a row.
    pub failures: u32,
    /// It is not tried again before this.
    pub retry_at: Timestamp,
}

/// A write of the composite resource beside its status that the API server refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RefusedWrite {
    /// Digest of all that it brings: another one is tried at once.
    pub write: ContentDigest,
    /// Why it is refused.
    pub message: String,
}

/// A status that the API server refuses.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RejectedStatus {
    /// What functions desire of it.
    pub desired: Value,
    /// Why it is refused.
    pub message: String,
    /// It is not tried again before this; `None`: it was refused just now.
    pub retry_at: Option<Timestamp>,
}

/// A deletion that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FailedDeletion {
    /// For people.
    pub message: String,
    /// Another writer was faster: nothing is wrong.
    pub is_conflict: bool,
    /// In a row.
    pub failures: u32,
    /// It is not tried again before this.
    pub retry_at: Timestamp,
}

impl CompositeMemory {
    /// Takes the events that are to be recorded.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Takes what has happened to its circuit since this was called last.
    pub fn take_circuit_counts(&mut self) -> CircuitCounts {
        self.circuit.take_counts()
    }

    /// Another term began: another leader may have written, created and deleted in between.
    pub(super) fn begin(&mut self, term: u64) {
        if self.term != term {
            *self = Self {
                term,
                reported: std::mem::take(&mut self.reported),
                ..Self::default()
            };
        }
    }

    /// Records an event unless it was recorded for the state that still stands.
    pub(super) fn report(&mut self, state: &str, event: Event) {
        if self.reported.insert(state.to_owned()) {
            self.events.push(event);
        }
    }

    /// A person asked for a reconcile if the annotation holds another token than before: what was refused is tried again now, and what failed is run
    /// again. That of a process that has just begun to lead was handled by the one before, as nothing is held back then.
    pub(super) fn handle_request(&mut self, token: &str) {
        let former = self.requested.replace(token.to_owned());
        if token.is_empty() || former.is_none_or(|former| former == token) {
            return;
        }
        self.failures.clear();
        self.failed_deletions.clear();
        if let Some(failed) = &mut self.failed_secret_deletion {
            failed.retry_at = Timestamp::MIN;
        }
        self.failed_reads.clear();
        self.recreations.clear();
        self.reapplications.clear();
        self.failed_runs = 0;
        self.rejected_status = None;
        self.refused_report.end();
        self.failed_publication = None;
        self.events.push(Event::normal(
            CompositeEvent::ReconcileRequestHandled,
            "Handling reconcile request",
        ));
    }

    /// It could not be read just now.
    pub(super) fn holds_read(&self, id: &ObjectId, now: Timestamp) -> bool {
        self.failed_reads.get(id).is_some_and(|until| now < *until)
    }

    /// A deletion of the object with this uid failed, and it is not time for another one.
    pub(super) fn holds_deletion(&self, uid: &str, now: Timestamp) -> bool {
        self.failed_deletions
            .get(uid)
            .is_some_and(|failed| now < failed.retry_at)
    }

    /// Of the states that begin with `prefix`, only these still stand.
    pub(super) fn keep_reported(&mut self, prefix: &str, standing: &BTreeSet<String>) {
        self.reported
            .retain(|state| !state.starts_with(prefix) || standing.contains(state));
    }
}
