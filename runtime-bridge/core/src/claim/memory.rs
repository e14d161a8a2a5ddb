//! What a process remembers of a claim, and may lose at any time.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::{SecretRefs, SecretVersions, decision::ClaimWrite};
use crate::{
    composite::{BodyDigest, Difference, Reapplication, RefusedReport},
    managed::Event,
    reasons::DeletionReason,
};

/// What a process remembers of one claim.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClaimMemory {
    /// Term of leading in which all of this was learnt.
    pub(super) term: u64,
    /// `resourceVersion` that a write or a live read of this term returned.
    pub(super) verified: Option<String>,
    /// The name that our own write stored: nothing of that name was ever created for the claim.
    pub(super) named: Option<String>,
    /// When the last create began whose answer was lost. One that was answered can have no more effect.
    pub(super) lost_create: Option<Timestamp>,
    /// Uid of the composite resource whose deletion the API server has accepted.
    pub(super) deleted: Option<String>,
    /// When the claim's composite resource was created, if it was seen in this term.
    pub(super) created: Option<Timestamp>,
    /// The name that was last read live without finding a composite resource of the claim, and when that read began.
    pub(super) looked: Option<(String, Timestamp)>,
    /// A create met an object of that name: it is looked at before anything else.
    pub(super) name_taken: bool,
    /// The composite resource could not be read: until when it is not read again.
    pub(super) failed_read: Option<Timestamp>,
    /// The write of the claim that the API server refused, and how.
    pub(super) refused_write: Option<(ClaimWrite, FailedWrite)>,
    /// The write of the composite resource that failed.
    pub(super) failed: Option<FailedWrite>,
    /// The deletion of the composite resource that failed.
    pub(super) failed_deletion: Option<FailedWrite>,
    /// The copy of the connection Secret that failed, and how the two were known then: what somebody did since is worth another try.
    pub(super) failed_secret: Option<(Option<SecretVersions>, FailedWrite)>,
    /// Uid of the composite resource, and what the API server, or who stands before it, made of desired fields: not fought.
    pub(super) altered: Option<(String, Vec<Difference>)>,
    /// Uid of the composite resource, and how often the same was applied to it.
    pub(super) reapplied: Option<(String, Reapplication)>,
    /// The report of its deletion.
    pub(super) refused_report: RefusedReport,
    /// The last write of the claim beside its status.
    pub(super) last_write: Option<ClaimWrite>,
    /// What the last status became on its way: sent, stored.
    pub(super) status_echo: Option<Box<(Value, Value)>>,
    /// Types of conditions that were copied when it was last written.
    pub(super) copied: BTreeSet<String>,
    /// Since when there is something to tell.
    pub(super) news_since: Option<Timestamp>,
    /// What holds its deletion up, and since when.
    pub(super) hold: Option<(DeletionReason, Timestamp)>,
    /// Since when something is not known that is expected to become known soon.
    pub(super) unknown_since: Option<Timestamp>,
    /// The connection Secret that was copied.
    pub(super) propagated: Option<PropagatedSecret>,
    /// The claim's connection Secret was deleted, or is another owner's.
    pub(super) secret_deleted: bool,
    /// Its deletion that was refused.
    pub(super) failed_secret_deletion: Option<FailedWrite>,
    /// When the claim's connection Secret was written, until the status says so.
    pub(super) published: Option<Timestamp>,
    /// Requests to the API server in a row that were not carried out.
    pub(super) failed_writes: u32,
    /// States of which an event was recorded.
    pub(super) reported: BTreeSet<String>,
    /// To be recorded.
    pub(super) events: Vec<Event>,
}

/// A write that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FailedWrite {
    /// Digest of what was desired: something else is tried at once. `None`: it had no content.
    pub desired: Option<BodyDigest>,
    /// For people.
    pub message: String,
    /// Another writer was faster: nothing is wrong.
    pub is_conflict: bool,
    /// In a row.
    pub failures: u32,
    /// It is not tried again before this.
    pub retry_at: Timestamp,
}

/// A connection Secret that was copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PropagatedSecret {
    /// Which, and where to.
    pub refs: SecretRefs,
    /// As they were then.
    pub versions: SecretVersions,
    /// When.
    pub at: Timestamp,
}

impl ClaimMemory {
    /// When a live read of this name began that found no composite resource of the claim.
    pub(super) fn looked_for(&self, name: &str) -> Option<Timestamp> {
        let looked = self.looked.as_ref().filter(|(looked, _)| looked == name);
        looked.map(|(_, began)| *began)
    }

    /// Takes the events that are to be recorded.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
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
