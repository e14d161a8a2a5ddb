//! Deletion (design 4.4): deletes, observes, and only then lets the object go.

use std::ops::ControlFlow::Break;

use jiff::Timestamp;

use crate::managed::{
    actions::left_behind,
    context::{Absence, Found, ReconcileContext},
    decision::{Decision, Purpose},
    removal::{blocked, finish, observe_later, remove, send},
    report::Report,
    rules::{self, Ownership},
    step::{Flow, NEXT, decided},
};
use crate::{external::Observation, kind::CreateRecovery, reasons::StopReason, rule::Rule};

pub fn wait_for_finalizers(ctx: &ReconcileContext) -> Flow {
    let others = ctx.snapshot.managed.other_finalizers();
    if !ctx.deleting() || others.is_empty() {
        return NEXT;
    }
    let report = Report::synced().blocked(format!("waiting for finalizers of others: {}", others.join(", ")));
    Break(ctx.wait(report, None, Purpose::Drift))
}

pub fn wait_for_blocker(ctx: &ReconcileContext) -> Flow {
    decided(blocked(ctx).filter(|_| ctx.deleting()))
}

/// What exists under its name, and when the observation began.
fn existing<'c>(ctx: &'c ReconcileContext) -> Option<(&'c Observation, Timestamp)> {
    match ctx.found() {
        Found::Exists(last_observation, observation) if ctx.deleting() => {
            Some((observation, last_observation.began))
        }
        Found::Exists(..) | Found::Unidentified | Found::Unobserved(_) | Found::Absent(_) => None,
    }
}

fn leave(ctx: &ReconcileContext, observation: &Observation, because: &str) -> Decision {
    let event = left_behind(ctx.snapshot, &observation.external_name, because);
    finish(ctx, Some(event))
}

/// What is another's, or was never this object's, stays.
pub fn leave_foreign(ctx: &ReconcileContext) -> Flow {
    let snapshot = ctx.snapshot;
    let Some((observation, _)) = existing(ctx) else {
        return NEXT;
    };
    if let Some(conflicting_object) = rules::conflicting_object(snapshot, observation) {
        return Break(leave(
            ctx,
            observation,
            &format!("it is managed by {conflicting_object}"),
        ));
    }
    let adopted = ctx.record().is_some_and(|record| record.adopted);
    match rules::ownership(snapshot, observation) {
        Ownership::Foreign(marker) => {
            let because = format!("it has the marker {marker} of another object");
            Break(leave(ctx, observation, &because))
        }
        Ownership::Unmarked if !ctx.is_bound() => Break(leave(
            ctx,
            observation,
            "it has no marker, and this object never managed it",
        )),
        Ownership::Unmarked if adopted && snapshot.kind.capabilities.holds_marker => Break(leave(
            ctx,
            observation,
            "it was adopted, and never marked as this object's",
        )),
        Ownership::Owned | Ownership::FormerlyOwned | Ownership::Unmarked => NEXT,
    }
}

/// What the creating request would have marked stays without its marker, unless that may only not be seen yet.
pub fn leave_unmarked(ctx: &ReconcileContext) -> Flow {
    let snapshot = ctx.snapshot;
    let marks = snapshot.recovers_by(CreateRecovery::Marker) && !Rule::DeletionLeavesUnmarked.is_off();
    let Some((observation, began)) = existing(ctx)
        .filter(|(observation, _)| marks && rules::ownership(snapshot, observation) == Ownership::Unmarked)
    else {
        return NEXT;
    };
    let visible = ctx
        .record()
        .and_then(|record| rules::visible_at(snapshot, record));
    Break(match visible.filter(|visible| began <= *visible) {
        Some(visible) => observe_later(
            ctx,
            &observation.external_name,
            began,
            Some(visible),
            "waiting until its marker can be seen",
        ),
        None => leave(ctx, observation, "it has no marker"),
    })
}

pub fn remove_existing(ctx: &ReconcileContext) -> Flow {
    decided(existing(ctx).map(|(observation, began)| remove(ctx, observation, began)))
}

/// What this object never had is not missing.
pub fn finish_unbound(ctx: &ReconcileContext) -> Flow {
    match ctx.found() {
        Found::Unidentified if ctx.deleting() => Break(finish(ctx, None)),
        Found::Absent(_) if ctx.deleting() && !ctx.is_bound() => Break(finish(ctx, None)),
        Found::Exists(..) | Found::Unidentified | Found::Unobserved(_) | Found::Absent(_) => NEXT,
    }
}

fn absence<'c>(ctx: &'c ReconcileContext) -> Option<Absence<'c>> {
    match ctx.found() {
        Found::Absent(absence) if ctx.deleting() => Some(absence),
        Found::Exists(..) | Found::Unidentified | Found::Unobserved(_) | Found::Absent(_) => None,
    }
}

pub fn stop_elsewhere(ctx: &ReconcileContext) -> Flow {
    let elsewhere = ctx
        .record()
        .is_some_and(|record| !rules::same_location(ctx.snapshot, record));
    let Some(absence) = absence(ctx).filter(|_| elsewhere) else {
        return NEXT;
    };
    Break(ctx.stop(
        StopReason::ConfigIdentityChanged,
        format!(
            "nothing is found under {:?}, but the ProviderConfig now means another account or has other settings than when it was made; put it back",
            absence.name
        ),
    ))
}

/// Invisible just after creation is not gone (trace 15).
pub fn wait_until_visible(ctx: &ReconcileContext) -> Flow {
    let snapshot = ctx.snapshot;
    let (Some(absence), Some(record)) = (absence(ctx), ctx.record()) else {
        return NEXT;
    };
    let began = absence.last_observation.began;
    let window = snapshot.kind.capabilities.consistency_window;
    let visible = rules::visible_at(snapshot, record).filter(|_| !window.is_zero());
    match visible.filter(|visible| began <= *visible) {
        Some(visible) => Break(observe_later(
            ctx,
            absence.name,
            began,
            Some(visible),
            "waiting for its deletion to be confirmed",
        )),
        None => NEXT,
    }
}

/// Absence alone may lie: a Delete is answered first.
pub fn remove_absent(ctx: &ReconcileContext) -> Flow {
    let Some(absence) = absence(ctx) else {
        return NEXT;
    };
    Break(if rules::absence_ends_the_removal(ctx.memory, absence.name) {
        finish(ctx, None)
    } else {
        send(ctx, absence.name, "")
    })
}
