//! What this process knows of an operation that runs upstream.

use std::time::Duration;

use jiff::Timestamp;

use crate::external::{Operation, OperationVerb};
use crate::managed::{decision::Call, intervals::POLL_AFTER, status::OperationReport};

/// What became of an Update or Delete operation.
#[derive(Debug, Clone, Default, PartialEq)]
enum Learned {
    /// The status says all there is to say.
    #[default]
    Nothing,
    /// It runs.
    Running(Box<OperationReport>),
    /// The one in the status has ended.
    Ended,
}

/// The running operation, as far as record and status do not say.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::managed) struct OperationMemory {
    learned: Learned,
    /// A create handle that is of no more use.
    spent_handle: String,
    /// Earliest next poll.
    next_poll: Option<Timestamp>,
    /// Phase, progress and message, as last reported.
    reported: Option<Operation>,
    /// When progress was last written.
    progress_written: Option<Timestamp>,
}

impl OperationMemory {
    /// An answer reported that it runs.
    pub(in crate::managed) fn follow(&mut self, operation: &Operation, now: Timestamp) {
        self.next_poll = Some(now + operation.poll_after.unwrap_or(POLL_AFTER));
        self.reported = Some(operation.clone());
    }

    pub(in crate::managed) fn learn(&mut self, report: OperationReport) {
        self.learned = Learned::Running(Box::new(report));
    }

    /// A creation that is reported anew lives, whatever a poll said of it.
    pub(in crate::managed) fn revive_creation(&mut self) {
        self.spent_handle.clear();
    }

    /// The operation that was polled has ended, or cannot be polled any more.
    pub(in crate::managed) fn end(&mut self, call: &Call) {
        self.reported = None;
        self.next_poll = None;
        match call.operation {
            Some(OperationVerb::Create) => self.spent_handle.clone_from(&call.handle),
            Some(OperationVerb::Update | OperationVerb::Delete) | None => self.learned = Learned::Ended,
        }
    }

    /// What runs, by what this process learned: that nothing runs counts too. Else by what is stored.
    pub(in crate::managed) fn known_or(
        &self,
        stored: impl FnOnce() -> Option<OperationReport>,
    ) -> Option<OperationReport> {
        match &self.learned {
            Learned::Nothing => stored(),
            Learned::Running(report) => Some((**report).clone()),
            Learned::Ended => None,
        }
    }

    /// What this process learned to run.
    pub(in crate::managed) fn learned(&self) -> Option<OperationReport> {
        self.known_or(|| None)
    }

    pub(in crate::managed) fn is_spent(&self, handle: &str) -> bool {
        self.spent_handle == handle
    }

    pub(in crate::managed) fn poll_at(&mut self, next: Option<Timestamp>) {
        self.next_poll = next;
    }

    pub(in crate::managed) fn next_poll(&self) -> Option<Timestamp> {
        self.next_poll
    }

    pub(in crate::managed) fn is_poll_due(&self, now: Timestamp) -> bool {
        self.next_poll.is_none_or(|next| next <= now)
    }

    /// What was last reported of the operation with this handle.
    pub(in crate::managed) fn reported(&self, handle: &str) -> Option<&Operation> {
        self.reported
            .as_ref()
            .filter(|reported| reported.handle == handle)
    }

    pub(in crate::managed) fn record_progress_written(&mut self, began: Timestamp) {
        self.progress_written = Some(began);
    }

    pub(in crate::managed) fn is_progress_recent(&self, now: Timestamp, every: Duration) -> bool {
        self.progress_written.is_some_and(|written| now < written + every)
    }
}
