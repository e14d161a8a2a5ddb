//! Protects what is in use, and says so.

use std::time::Duration;

use jiff::Timestamp;

use super::super::{
    decision::Action,
    facts::Facts,
    outcome::{Flow, NEXT, act, report_and_rest, rest as rest_until, until},
    rules,
    snapshot::Resolution,
    standing::{Standing, due_mark},
    write::usage_write,
};
use crate::{managed::Rest, reasons::UsageReason, rule::Rule};

/// What is not known, or not watched, is looked at again after this.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// Usages are read within a moment.
const USAGES_AGAIN: Duration = Duration::from_millis(250);

/// A usage that was ready says only after this that the guard is not proved: after a restart that takes a moment.
const GUARD_PATIENCE: Duration = Duration::from_secs(30);

pub(in super::super) fn rest_without_authority(of: &Facts) -> Flow {
    if of.snapshot.may_act {
        NEXT
    } else {
        rest_until(None)
    }
}

/// Which other usages an object has is known only once all of them are: until then nothing is marked, left or replayed.
pub(in super::super) fn wait_for_usages(of: &Facts) -> Flow {
    if of.snapshot.unknown_usages.is_none() {
        return NEXT;
    }
    let now = of.snapshot.now;
    match of.unlisted() {
        // What takes longer is reported, and no matter of a moment.
        Some(_) => report_and_rest(of, Some(now + LOOK_AGAIN)),
        None => rest_until(Some(now + USAGES_AGAIN)),
    }
}

/// The uid first: whatever is labelled later can be let go.
pub(in super::super) fn write_usage(of: &Facts) -> Flow {
    match usage_write(of) {
        // Without the rule the uid comes after the label.
        Some(_) if Rule::UsageRecordsFirst.is_off() && due_mark(of).is_some() => NEXT,
        Some(write) => act(Action::Write(Box::new(write))),
        None => NEXT,
    }
}

pub(in super::super) fn mark(of: &Facts) -> Flow {
    if of.found().is_none() || of.is_held_back() || rules::leaves_former(of) {
        return NEXT;
    }
    let Some(write) = due_mark(of) else { return NEXT };
    if !rules::is_verified(of) {
        return act(Action::VerifyResourceVersion);
    }
    act(Action::Mark(Box::new(write)))
}

pub(in super::super) fn write_status(of: &Facts) -> Flow {
    let standing = Standing::of(of);
    if waits_for_better(of, &standing).is_some() {
        return NEXT;
    }
    match standing.to_write(of) {
        Some(write) => act(Action::WriteStatus(Box::new(write))),
        None => NEXT,
    }
}

/// When to come back, once there is nothing to do.
pub(in super::super) fn rest(of: &Facts) -> Rest {
    let now = of.snapshot.now;
    let is_unknown = [Some(&of.snapshot.of), of.snapshot.by.as_ref()]
        .into_iter()
        .flatten()
        .any(|one| matches!(one, Resolution::Unknown(_)));
    let times = [
        (is_unknown || of.snapshot.is_unwatched).then(|| now + LOOK_AGAIN),
        of.memory.failed.as_ref().map(|failed| failed.retry_at),
        of.memory.failed_read.as_ref().map(|(until, _)| *until),
        waits_for_better(of, &Standing::of(of)),
    ];
    until(times.into_iter().flatten().filter(|at| *at > now).min())
}

/// Until when it is not said that it is not ready: what it is about may come in a moment.
fn waits_for_better(of: &Facts, standing: &Standing) -> Option<Timestamp> {
    let ready = standing.ready.as_ref().filter(|ready| !ready.value)?;
    let was_ready = of
        .snapshot
        .usage
        .condition("Ready")
        .is_some_and(|ready| ready["status"] == "True");
    let patience = if was_ready && ready.reason == UsageReason::GuardNotProved.into() {
        GUARD_PATIENCE
    } else {
        of.snapshot.settings.patience
    };
    let until = of.memory.unready_since? + patience;
    (of.snapshot.now < until).then_some(until)
}
