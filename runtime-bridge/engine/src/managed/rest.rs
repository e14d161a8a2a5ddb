//! When an object at rest gets its next turn.

use bridge_core::{
    managed::{Purpose, Rest},
    queue::{Priority, Wake},
};
use jiff::{RoundMode, SignedDuration, Timestamp, TimestampRound, Unit};

use crate::reconcile::Next;

/// Drift polls come together at the ends of such slots: for one alone everything is woken, and nothing of it is in a cache.
const SLOT: SignedDuration = SignedDuration::from_millis(250);

pub(super) fn next_after(rest: &Rest) -> Next {
    let Some(wake) = rest.wake else {
        return Next::idle();
    };
    match rest.purpose {
        Purpose::Operation => Next::at(wake, Priority::OperationPoll),
        Purpose::Drift => Next::at(end_of_slot(wake), Priority::DriftPoll),
        Purpose::Unsettled | Purpose::Retry => Next::at(wake, Priority::DriftPoll),
    }
}

/// The first turn of an object that was there before: a poll like any other, unless it changed or is under way.
pub(super) fn initial(wake: Wake) -> Wake {
    match wake.priority {
        Priority::InitialList => Wake {
            at: end_of_slot(wake.at),
            ..wake
        },
        _ => wake,
    }
}

fn end_of_slot(at: Timestamp) -> Timestamp {
    let slots = TimestampRound::new()
        .smallest(Unit::Millisecond)
        .increment(i64::try_from(SLOT.as_millis()).unwrap_or(1))
        .mode(RoundMode::Ceil);
    at.round(slots).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    fn rest(wake: &str, purpose: Purpose) -> Rest {
        Rest {
            wake: Some(at(wake)),
            purpose,
        }
    }

    #[test]
    fn a_drift_poll_waits_for_the_end_of_its_slot() {
        for (wake, slot) in [
            ("2026-11-28T05:00:00.000000001Z", "2026-11-28T05:00:00.25Z"),
            ("2026-11-28T05:00:00.249Z", "2026-11-28T05:00:00.25Z"),
            ("2026-11-28T05:00:00.25Z", "2026-11-28T05:00:00.25Z"),
            ("2026-11-28T05:00:59.9Z", "2026-11-28T05:01:00Z"),
        ] {
            let first = Wake {
                at: at(wake),
                priority: Priority::InitialList,
            };
            assert_eq!(initial(first).at, at(slot));
            let next = next_after(&rest(wake, Purpose::Drift));
            assert_eq!(next, Next::at(at(slot), Priority::DriftPoll));
        }
    }

    #[test]
    fn nothing_else_waits_for_others() {
        let wake = "2026-11-28T05:00:00.1Z";
        for purpose in [Purpose::Unsettled, Purpose::Retry] {
            let next = next_after(&rest(wake, purpose));
            assert_eq!(next, Next::at(at(wake), Priority::DriftPoll));
        }
        let at_once = Wake {
            at: at(wake),
            priority: Priority::UserChange,
        };
        assert_eq!(initial(at_once), at_once);
        let operation = next_after(&rest(wake, Purpose::Operation));
        assert_eq!(operation, Next::at(at(wake), Priority::OperationPoll));
    }
}
