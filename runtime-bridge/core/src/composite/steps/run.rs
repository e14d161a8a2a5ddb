//! When the pipeline runs, and what a run that failed changes.

use std::time::Duration;

use super::{
    super::{
        begin_run::begin_run,
        context::Context,
        due::{due, held_until},
        outcome::{Flow, NEXT, rest, write_status},
        pipeline::{RunFailure, RunOutcome},
        snapshot::RunState,
        status::{ConditionReport, Report},
        write,
    },
    compose::report_refused,
};
use crate::{
    managed::Event,
    reasons::{CompositeEvent, ConditionReason},
    rule::Rule,
};

/// An object of which nothing is known is asked for again after this.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// Its result is an input of a later reconcile.
pub(in super::super) fn wait(of: &Context) -> Flow {
    match &of.snapshot.run {
        RunState::Going { .. } if of.run_counts() => rest(None),
        _ => NEXT,
    }
}

/// A function that is shown less than there is would take the rest for absent.
pub(in super::super) fn wait_for_unknown(of: &Context) -> Flow {
    let Some((id, why)) = of.unknown() else {
        return NEXT;
    };
    if let Some(until) = of.patience() {
        return rest(Some(until));
    }
    let message = format!("cannot compose resources: cannot get composed resource {id}: {why}");
    let report = Report {
        synced: Some(ConditionReport::no(
            ConditionReason::ReconcileError,
            message.clone(),
        )),
        ..Report::default()
    };
    let event = Event::warning(CompositeEvent::ComposeResources, &message);
    match write_status(of, &report, vec![event]) {
        NEXT => rest(Some(of.snapshot.now + ASK_AGAIN)),
        written => written,
    }
}

/// Nothing is known of a run for what is desired now.
pub(in super::super) fn begin(of: &Context) -> Flow {
    if of.run_counts() {
        return NEXT;
    }
    // What is desired changes again and again: a run that goes on is not ended for it either.
    let Some(until) = held_until(of) else {
        return begin_run(of);
    };
    match write_status(of, &Report::default(), Vec::new()) {
        NEXT => rest(Some(until)),
        written => written,
    }
}

pub(in super::super) fn store_requirements_of_failed(of: &Context) -> Flow {
    let (Some((outcome, _)), Ok(chosen)) = (failed(of), &of.snapshot.choice) else {
        return NEXT;
    };
    let events = chosen.selected.changes.iter();
    let events = events
        .map(|change| Event::normal(change.event(), &change.message()))
        .collect();
    let write = write::composite_write(
        of.snapshot,
        of.memory,
        chosen,
        None,
        &outcome.requirements,
        events,
    );
    match write {
        Some(write) => report_refused(of, write),
        None => NEXT,
    }
}

pub(in super::super) fn report_failed(of: &Context) -> Flow {
    let Some((outcome, failure)) = failed(of) else {
        return NEXT;
    };
    let message = format!("cannot compose resources: {failure}");
    let report = Report {
        synced: Some(ConditionReport::no(
            ConditionReason::ReconcileError,
            message.clone(),
        )),
        conditions: Some(outcome.conditions.clone()),
        fatal: true,
        ..Report::default()
    };
    let event = Event::warning(CompositeEvent::ComposeResources, &message);
    match write_status(of, &report, vec![event]) {
        NEXT => {}
        written => return written,
    }
    match due(of) {
        Some(at) if at <= of.snapshot.now => begin_run(of),
        at => rest(at),
    }
}

/// Something that it has seen is not as it was, or it is time.
pub(in super::super) fn repeat(of: &Context) -> Flow {
    match due(of) {
        Some(at) if at <= of.snapshot.now => begin_run(of),
        _ => NEXT,
    }
}

fn failed<'a>(of: &Context<'a>) -> Option<(&'a RunOutcome, &'a RunFailure)> {
    match &of.snapshot.run {
        RunState::Ended { outcome, .. } if of.run_counts() && !Rule::FailedRunChangesNothing.is_off() => {
            outcome.result.as_ref().err().map(|failure| (&**outcome, failure))
        }
        _ => None,
    }
}
