//! The resource is not found: whether that is believed.

use std::{ops::ControlFlow::Break, time::Duration};

use crate::managed::{
    context::{Absence, ReconcileContext},
    decision::{Event, Purpose},
    poll::wait_for_poll,
    report::Report,
    rules, running,
    status::ConditionValue,
    step::{Flow, NEXT},
};
use crate::reasons::{ConditionReason, NormalEvent, StopReason};

/// Created, and not to be seen yet: beside what runs nothing is begun.
pub fn wait_for_operation(ctx: &ReconcileContext) -> Flow {
    if ctx.absence().is_some() && running::followed(ctx).is_some() {
        return Break(wait_for_poll(ctx, ctx.memory.operation.next_poll()));
    }
    NEXT
}

pub fn stop_elsewhere(ctx: &ReconcileContext) -> Flow {
    let snapshot = ctx.snapshot;
    let elsewhere = ctx
        .record()
        .is_some_and(|record| rules::confirmed(snapshot, record) && !rules::same_location(snapshot, record));
    let Some(absence) = ctx.absence().filter(|_| elsewhere) else {
        return NEXT;
    };
    Break(ctx.stop(
        StopReason::ConfigIdentityChanged,
        format!(
            "nothing is found under {:?}, but the ProviderConfig now means another account or has other settings than when it was made; put it back, or delete this object and make another",
            absence.name
        ),
    ))
}

/// What should be there is missed; a name that the user gave says so too, to import what the upstream had named.
fn missed<'c>(ctx: &'c ReconcileContext) -> Option<Absence<'c>> {
    let known = ctx
        .record()
        .is_some_and(|record| rules::confirmed(ctx.snapshot, record));
    let named = ctx.snapshot.is_named_upstream();
    ctx.absence()
        .filter(|absence| known || named && !absence.name.is_empty())
}

/// It is created anew once a second observation has not found it either.
pub fn confirm(ctx: &ReconcileContext) -> Flow {
    let snapshot = ctx.snapshot;
    let Some(absence) = missed(ctx)
        .filter(|absence| !rules::absence_confirmed(snapshot, ctx.memory, absence.last_observation))
    else {
        return NEXT;
    };
    let visible = ctx
        .record()
        .and_then(|record| rules::visible_at(snapshot, record));
    let believed = match ctx.memory.observed.absent_since() {
        Some(since) => rules::absence_believed_after(snapshot, since),
        None => visible.unwrap_or(absence.last_observation.began),
    };
    if snapshot.now > believed {
        return Break(ctx.observe(absence.name));
    }
    let report = Report::synced().ready(ConditionValue::no(
        ConditionReason::Unavailable,
        "external resource not found; it is observed again before it is created anew",
    ));
    let event = Event::normal(
        NormalEvent::PendingExternalResource,
        "external resource not found; it is observed again before it is created anew",
    );
    Break(ctx.wait(
        report.event(event),
        Some(believed + Duration::from_millis(1)),
        Purpose::Operation,
    ))
}
