//! The status of a deletion that the API server refuses, as the type's schema requires a field that no function has set: what is to be deleted does not
//! wait for it. An event tells of it.

use std::time::Duration;

use jiff::Timestamp;

use crate::rule::Rule;

/// Refused so often in a row it is not waited for: a policy may refuse one by mistake.
const TRIES: u32 = 3;

/// It is tried again after this: the schema may have been mended.
const TRY_AGAIN: Duration = Duration::from_mins(5);

/// What became of the newest report of a deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RefusedReport(Option<Refused>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Refused {
    /// In a row.
    times: u32,
    /// `None`: the time was not known then.
    retry_at: Option<Timestamp>,
}

impl RefusedReport {
    /// It was refused.
    pub fn refuse(&mut self) {
        let times = self.0.as_ref().map_or(0, |refused| refused.times);
        self.0 = Some(Refused {
            times: times.saturating_add(1),
            retry_at: None,
        });
    }

    /// A status was stored, or a person asks for another try.
    pub fn end(&mut self) {
        self.0 = None;
    }

    /// A pass begins. `reports`: it reports a deletion, which is neither before that nor while it is paused.
    pub fn begin_pass(&mut self, reports: bool, now: Timestamp) {
        if !reports {
            self.0 = None;
        }
        if let Some(refused) = &mut self.0 {
            refused.retry_at.get_or_insert(now + TRY_AGAIN);
        }
    }

    /// It has been refused so often that the next pass goes on without it: then that need not wait as long as the refusals were.
    pub fn is_given_up(&self) -> bool {
        self.0.as_ref().is_some_and(|refused| refused.times >= TRIES)
    }

    /// Until when it is not written again; `None`: it is written.
    pub fn held_until(&self, now: Timestamp) -> Option<Timestamp> {
        let retry_at = self.0.as_ref().filter(|_| self.is_given_up())?.retry_at?;
        (now < retry_at && !Rule::RefusedReportHoldsNothing.is_off()).then_some(retry_at)
    }
}
