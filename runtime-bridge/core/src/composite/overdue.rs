//! `DeletionOverdue`: a deletion that takes longer than its deadline says so, and goes on.

use std::time::Duration;

use jiff::Timestamp;

use super::status::ConditionReport;
use crate::{managed::parse_go, reasons::DeletionReason};

/// Until when a deletion is expected to end.
#[derive(Debug)]
pub(crate) struct Deadline {
    since: Timestamp,
    takes: Duration,
}

impl Deadline {
    /// Of an object that is being deleted since then. `own`: value of its annotation [`names::DELETION_DEADLINE`](super::names::DELETION_DEADLINE); one that
    /// cannot be read counts as none.
    pub fn new(since: Timestamp, own: Option<&str>, usual: Duration) -> Self {
        let takes = own.and_then(parse_go).unwrap_or(usual);
        Self { since, takes }
    }

    /// When the deletion is overdue.
    pub fn end(&self) -> Timestamp {
        self.since + self.takes
    }

    /// What the condition says once it is; `None`: it is not.
    pub fn exceeded(&self, now: Timestamp) -> Option<ConditionReport> {
        let (minutes, seconds) = (self.takes.as_secs() / 60, self.takes.as_secs() % 60);
        (now >= self.end()).then(|| ConditionReport {
            value: true,
            reason: DeletionReason::DeadlineExceeded.into(),
            message: format!(
                "it is being deleted since {}, longer than its deadline of {minutes}m{seconds}s. Nothing is given up: see what remains in Ready and \
                 DeletionBlocked",
                self.since
            ),
        })
    }
}
