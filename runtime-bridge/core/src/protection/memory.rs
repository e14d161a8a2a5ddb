//! What a process remembers of a usage, and may lose at any time.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::{decision::UsageWrite, snapshot::ControllerState};
use crate::{
    composite::{WriteFailure, WriteFailureKind},
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
    /// Something could not be read: until when nothing is read again, and why.
    pub(super) failed_read: Option<(Timestamp, String)>,
    /// The write of the used resource that failed.
    pub(super) failed: Option<FailedWrite>,
    /// Whether a write of the label may still be carried out.
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

/// What is known of the writes of the label that were sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum LabelWrites {
    /// Nothing: another process, or term, may have sent some.
    #[default]
    Unknown,
    /// The last one had no answer: it may be carried out later.
    Unanswered,
    /// All were answered that were sent for the object of this uid.
    Settled(String),
}

impl LabelWrites {
    /// Each is guarded by the object's version, so that one that was carried out rejects all that were sent before it.
    pub(super) fn record(&mut self, uid: &str, result: &Result<(), WriteFailure>) {
        match (result.as_ref().map_err(|failure| failure.kind), &self) {
            (Err(WriteFailureKind::Unknown), _) => *self = Self::Unanswered,
            // No usage is kept for ever by an object that the bridge may not write, and never wrote as far as is known.
            (Ok(()), _) | (Err(WriteFailureKind::Rejected), Self::Unknown | Self::Settled(_)) => {
                *self = Self::Settled(uid.to_owned());
            }
            (
                Err(
                    WriteFailureKind::AlreadyExists
                    | WriteFailureKind::Conflict
                    | WriteFailureKind::NotDone
                    | WriteFailureKind::Rejected,
                ),
                _,
            ) => {}
        }
    }

    pub(super) fn is_settled(&self, uid: &str) -> bool {
        matches!(self, Self::Settled(settled) if settled == uid)
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
