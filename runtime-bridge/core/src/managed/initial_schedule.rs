//! The first turn of an object that was there when the bridge started.

use jiff::Timestamp;

use crate::queue::{Priority, Wake};
use crate::reasons::ConditionReason;

use super::{
    intervals::{UNREADY, poll_interval_of},
    names,
    record::Stored,
    snapshot::{Managed, Settings},
    status::{READY, SYNCED},
};

/// First what changed while nobody looked, then what is under way; what is not well comes soon, and what is at rest within its poll interval,
/// spread by `jitter` from 0 to 1: nobody knows when it was last looked at.
pub fn initial_schedule(managed: &Managed, settings: &Settings, jitter: f64, now: Timestamp) -> Wake {
    let within = |limit: std::time::Duration| Wake {
        at: now + limit.mul_f64(jitter.clamp(0.0, 1.0)),
        priority: Priority::InitialList,
    };
    let at_once = |priority| Wake { at: now, priority };
    if changed_meanwhile(managed) {
        return at_once(Priority::UserChange);
    }
    if is_under_way(managed) {
        return at_once(Priority::OperationPoll);
    }
    let is_true = |kind| {
        managed
            .condition(kind)
            .is_some_and(|condition| condition.status == "True")
    };
    // What changed in a way that nothing here shows waits no longer than what has no interval of its own.
    let interval = poll_interval_of(managed, settings, 0.5).min(settings.poll);
    if is_true(READY) && is_true(SYNCED) {
        within(interval)
    } else {
        within(interval.min(UNREADY))
    }
}

fn changed_meanwhile(managed: &Managed) -> bool {
    let Some(synced) = managed.condition(SYNCED) else {
        return true;
    };
    let named_otherwise = match &*managed.record() {
        Stored::Owned(record) => record.external_name != managed.annotation(names::EXTERNAL_NAME),
        Stored::None | Stored::Unreadable(_) => false,
    };
    let shows_paused = synced.reason == ConditionReason::ReconcilePaused.as_str();
    synced.observed_generation != managed.generation
        || managed.deletion.is_some()
        || managed.annotation(names::RECONCILE_REQUESTED) != managed.status.last_handled
        || managed.paused() != shows_paused
        || named_otherwise
}

fn is_under_way(managed: &Managed) -> bool {
    let unsettled = match &*managed.record() {
        Stored::Owned(record) => record.intent.is_some() && !managed.confirms(record),
        Stored::None => false,
        Stored::Unreadable(_) => true,
    };
    unsettled || managed.status.progress.operation.is_some()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::managed::{
        Annotations, Policies,
        status::{ConditionValue, OperationReport, Status},
    };

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    /// Ready, and at rest.
    fn at_rest() -> Managed {
        let mut status = Status::default();
        status.set(READY, &ConditionValue::yes(ConditionReason::Available), 2, NOW);
        status.set(
            SYNCED,
            &ConditionValue::yes(ConditionReason::ReconcileSuccess),
            2,
            NOW,
        );
        Managed {
            namespace: "team".to_owned(),
            name: "one".to_owned(),
            uid: "uid".to_owned(),
            generation: 2,
            resource_version: "7".to_owned(),
            deletion: None,
            finalizers: vec![names::FINALIZER.to_owned()],
            annotations: Annotations::default(),
            policies: Policies::of(&serde_json::json!({})),
            wants_connection_secret: false,
            status,
        }
    }

    /// With a jitter of a half.
    fn turn(change: impl FnOnce(&mut Managed)) -> (u64, Priority) {
        let mut managed = at_rest();
        change(&mut managed);
        let wake = initial_schedule(&managed, &Settings::default(), 0.5, NOW);
        let after = Duration::try_from(wake.at.duration_since(NOW)).unwrap();
        (after.as_secs(), wake.priority)
    }

    fn annotate(managed: &mut Managed, key: &str, value: &str) {
        managed.annotations.insert(key.to_owned(), value.to_owned());
    }

    #[test]
    fn what_changed_goes_first() {
        let changes: [fn(&mut Managed); 6] = [
            |managed| managed.generation = 3,
            |managed| managed.deletion = Some(NOW),
            |managed| managed.status.clear(SYNCED),
            |managed| annotate(managed, names::PAUSED, "true"),
            |managed| annotate(managed, names::RECONCILE_REQUESTED, "now"),
            |managed| {
                managed.status.set(
                    SYNCED,
                    &ConditionValue::no(ConditionReason::ReconcilePaused, ""),
                    2,
                    NOW,
                );
            },
        ];
        for change in changes {
            assert_eq!(turn(change), (0, Priority::UserChange));
        }
    }

    #[test]
    fn operations_are_scheduled_second() {
        let operation = |managed: &mut Managed| {
            managed.status.progress.operation = Some(OperationReport {
                handle: "handle".to_owned(),
                verb: crate::external::OperationVerb::Update,
                phase: String::new(),
                progress: None,
                since: NOW,
                generation: 2,
                poll_driven: false,
                expire_time: None,
                external_name: String::new(),
                incarnation: 0,
                sensitive_digest: None,
            });
        };
        assert_eq!(turn(operation), (0, Priority::OperationPoll));
        let unreadable = |managed: &mut Managed| annotate(managed, names::RECORD, "{");
        assert_eq!(turn(unreadable), (0, Priority::OperationPoll));
    }

    #[test]
    fn the_rest_is_spread_over_the_poll_interval() {
        assert_eq!(turn(|_| ()), (30, Priority::InitialList));
        let seldom = |managed: &mut Managed| annotate(managed, names::POLL_INTERVAL, "24h");
        assert_eq!(turn(seldom), (30, Priority::InitialList));
        let often = |managed: &mut Managed| annotate(managed, names::POLL_INTERVAL, "20s");
        assert_eq!(turn(often), (10, Priority::InitialList));
        let unwell = |managed: &mut Managed| {
            managed.status.set(
                SYNCED,
                &ConditionValue::no(ConditionReason::ReconcileError, ""),
                2,
                NOW,
            );
        };
        assert_eq!(turn(unwell), (5, Priority::InitialList));
    }
}
