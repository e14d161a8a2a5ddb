//! What a process remembers of a usage, and may lose at any time.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::{
    decision::{MarkWrite, UsageWrite},
    snapshot::ControllerState,
};
use crate::{
    composite::{LiveObject, WriteFailure, WriteFailureKind},
    managed::Event,
};

/// What a process remembers of one usage.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UsageMemory {
    /// Term of leading in which all of this was learnt.
    pub(super) term: u64,
    /// `resourceVersion` that a write or a live read of this term returned.
    pub(super) verified: Option<String>,
    /// Uids that a live read did not find under their names: they never come again.
    pub(super) gone: BTreeSet<String>,
    /// When the last live read of the using resource began that found it, and not being deleted.
    pub(super) using_lived: Option<Timestamp>,
    /// What the last live read showed of the controller.
    pub(super) controller: Option<ControllerState>,
    /// The version of the used resource of which a live read found that nothing owns it: another one may name another owner.
    pub(super) ownerless: Option<String>,
    /// Something could not be read: until when nothing is read again, and why.
    pub(super) failed_read: Option<(Timestamp, String)>,
    /// The write of the used resource that failed.
    pub(super) failed: Option<FailedWrite>,
    /// Of the used object: whether one of them may still be carried out.
    pub(super) label_writes: LabelWrites,
    /// The last write of the usage beside its status.
    pub(super) last_write: Option<UsageWrite>,
    /// What the last status became on its way: sent, stored.
    pub(super) status_echo: Option<Box<(Value, Value)>>,
    /// Since when it waits for all usages to be read.
    pub(super) unlisted_since: Option<Timestamp>,
    /// Since when it is not ready, without having said so.
    pub(super) unready_since: Option<Timestamp>,
    /// Requests to the API server in a row that were not carried out.
    pub(super) failed_writes: u32,
    /// States of which an event was recorded.
    pub(super) reported: BTreeSet<String>,
    /// To be recorded.
    pub(super) events: Vec<Event>,
}

/// What is known of the writes of the label that were sent. Each is guarded by the object's version, so that one that is carried out rejects all that were
/// sent before it, whoever sent them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LabelWrites {
    /// Uid of the object of which a write was carried out in this term: what another process or term had sent is rejected.
    pub settled: Option<String>,
    /// Uid and version that the last write was decided on that had no answer, and by which the usage would hold the label.
    pub unanswered: Option<(String, String)>,
}

impl LabelWrites {
    pub(super) fn record(&mut self, usage: &str, write: &MarkWrite, result: &Result<(), WriteFailure>) {
        match result.as_ref().map_err(|failure| failure.kind) {
            Ok(()) => self.settle(write),
            // No usage is kept for ever by an object that the bridge may not write.
            Err(WriteFailureKind::Rejected) if write.mark.let_go_by.is_some() => self.settle(write),
            Err(WriteFailureKind::Unknown) if write.mark.held_by.contains(usage) => {
                self.unanswered = Some((write.uid.clone(), write.resource_version.clone()));
            }
            Err(_) => {}
        }
    }

    fn settle(&mut self, write: &MarkWrite) {
        *self = Self {
            settled: Some(write.uid.clone()),
            unanswered: None,
        };
    }

    /// No write of the label that was sent can be carried out any more.
    pub(super) fn are_settled(&self, object: &LiveObject) -> bool {
        let may_land = self
            .unanswered
            .as_ref()
            .is_some_and(|(uid, version)| uid == object.uid() && version == object.resource_version());
        self.settled.as_deref() == Some(object.uid()) && !may_land
    }
}

/// A write of the used resource that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FailedWrite {
    /// For people.
    pub message: String,
    /// Another writer was faster: nothing is wrong.
    pub is_conflict: bool,
    /// In a row.
    pub failures: u32,
    /// It is not tried again before this.
    pub retry_at: Timestamp,
}

impl UsageMemory {
    /// Takes the events that are to be recorded.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Another term began: another leader may have written and deleted in between.
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
    pub(super) fn report(&mut self, event: &Event) {
        if self.reported.insert(state_of(event)) {
            self.events.push(event.clone());
        }
    }

    /// Of the events, only these speak of what still stands.
    pub(super) fn keep_reported(&mut self, standing: &[Event]) {
        let standing: BTreeSet<String> = standing.iter().map(state_of).collect();
        self.reported.retain(|state| standing.contains(state));
    }
}

fn state_of(event: &Event) -> String {
    format!("{}/{}", event.reason, event.message)
}
