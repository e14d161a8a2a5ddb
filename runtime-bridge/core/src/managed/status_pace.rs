//! How often a status is written for texts and data alone. A plugin that says something new each second would have each of its objects written as
//! often, and the API server tell all who watch.

use jiff::{SignedDuration, Timestamp};

use super::status::{Condition, Status};

/// So many such writes may come at once.
const AT_ONCE: u32 = 10;

/// Then one more in this time.
const ONE_MORE: SignedDuration = SignedDuration::from_secs(10);

/// What of them was used up lately.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct StatusPace(Option<Used>);

#[derive(Debug, Clone, Copy, PartialEq)]
struct Used {
    writes: u32,
    since: Timestamp,
}

impl StatusPace {
    /// When the next such write may come; `None`: now.
    pub(super) fn not_before(&self, now: Timestamp) -> Option<Timestamp> {
        let used = self.left_over(now)?;
        // A clock that was set back holds nothing for longer.
        (used.writes >= AT_ONCE).then(|| used.since.min(now) + ONE_MORE)
    }

    /// One of them begins, if it is one.
    pub(super) fn begin(&mut self, old: &Status, new: &Status, now: Timestamp) {
        if !differs_in_texts_alone(old, new) {
            return;
        }
        let used = self.left_over(now).unwrap_or(Used {
            writes: 0,
            since: now,
        });
        self.0 = Some(Used {
            writes: used.writes.saturating_add(1).min(AT_ONCE),
            ..used
        });
    }

    /// What time has not given back.
    fn left_over(&self, now: Timestamp) -> Option<Used> {
        let used = self.0?;
        let steps = now.duration_since(used.since).as_secs().max(0) / ONE_MORE.as_secs();
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        let writes = used.writes.checked_sub(steps).filter(|writes| *writes > 0)?;
        let steps = i32::try_from(steps).unwrap_or(i32::MAX);
        Some(Used {
            writes,
            since: used.since + ONE_MORE * steps,
        })
    }
}

/// Whether nothing is new but messages of conditions and `atProvider`, all of which were there before. What a person did, what is decided and what is
/// recorded waits for nothing.
pub(super) fn differs_in_texts_alone(old: &Status, new: &Status) -> bool {
    let is_same = |(old, new): (&Condition, &Condition)| {
        old.kind == new.kind
            && old.status == new.status
            && old.reason == new.reason
            && old.observed_generation == new.observed_generation
    };
    old.conditions.len() == new.conditions.len()
        && old.conditions.iter().zip(&new.conditions).all(is_same)
        && old.at_provider.is_some() == new.at_provider.is_some()
        && old.progress == new.progress
        && old.last_handled == new.last_handled
        && old.others == new.others
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        managed::status::{ConditionValue, READY, SYNCED},
        reasons::ConditionReason,
    };

    const START: Timestamp = Timestamp::UNIX_EPOCH;

    fn status(message: &str) -> Status {
        let mut status = Status::default();
        let ready = ConditionValue::no(ConditionReason::Unavailable, message);
        status.set(READY, &ready, 1, START);
        status
    }

    #[test]
    fn texts_alone_are_written_ten_times_and_then_once_in_ten_seconds() {
        let mut pace = StatusPace::default();
        let mut written = Vec::new();
        for second in 0..60 {
            let now = START + SignedDuration::from_secs(second);
            if pace.not_before(now).is_none() {
                pace.begin(&status(""), &status(&second.to_string()), now);
                written.push(second);
            }
        }
        assert_eq!(written, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50]);
        let later = START + SignedDuration::from_hours(1);
        assert_eq!(pace.not_before(later), None);
    }

    #[test]
    fn whatever_else_is_new_waits_for_nothing() {
        let old = status("a");
        assert!(differs_in_texts_alone(&old, &status("b")));
        let mut synced = status("b");
        synced.set(
            SYNCED,
            &ConditionValue::yes(ConditionReason::ReconcileSuccess),
            1,
            START,
        );
        assert!(!differs_in_texts_alone(&old, &synced));
        let mut ready = old.clone();
        ready.set(READY, &ConditionValue::yes(ConditionReason::Available), 1, START);
        assert!(!differs_in_texts_alone(&old, &ready));
        let mut observed = old.clone();
        let unavailable = ConditionValue::no(ConditionReason::Unavailable, "b");
        observed.set(READY, &unavailable, 2, START);
        assert!(!differs_in_texts_alone(&old, &observed));
        let handled = Status {
            last_handled: "now".to_owned(),
            ..old.clone()
        };
        assert!(!differs_in_texts_alone(&old, &handled));
        let mut pace = StatusPace::default();
        (0..20).for_each(|_| pace.begin(&old, &handled, START));
        assert_eq!(pace, StatusPace::default());
    }
}
