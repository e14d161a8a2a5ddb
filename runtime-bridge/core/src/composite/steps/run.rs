//! When the pipeline runs, and what a run that failed changes.

use std::{sync::Arc, time::Duration};

use super::super::{
    context::Context,
    decision::{Action, RunStart},
    due::due,
    names,
    outcome::{Flow, NEXT, act, rest, write_status},
    pipeline::{RunFailure, RunOutcome},
    requires::{self, StepRequirements},
    snapshot::RunState,
    status::{ConditionReport, Report},
    view, write,
};
use crate::{
    managed::Event,
    reasons::{CompositeEvent, ConditionReason},
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
    match &of.snapshot.run {
        RunState::Ended { .. } if of.run_counts() => NEXT,
        _ => start(of),
    }
}

pub(in super::super) fn store_requirements_of_failed(of: &Context) -> Flow {
    let (Some((outcome, _)), Ok(chosen)) = (failed(of), &of.snapshot.choice) else {
        return NEXT;
    };
    let write = write::composite_write(of.snapshot, chosen, None, &outcome.requirements, Vec::new());
    match write {
        Some(write) => act(Action::Write(Box::new(write))),
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
        Some(at) if at <= of.snapshot.now => start(of),
        at => rest(at),
    }
}

/// Something that it has seen is not as it was, or it is time.
pub(in super::super) fn repeat(of: &Context) -> Flow {
    match due(of) {
        Some(at) if at <= of.snapshot.now => start(of),
        _ => NEXT,
    }
}

fn failed<'a>(of: &Context<'a>) -> Option<(&'a RunOutcome, &'a RunFailure)> {
    match &of.snapshot.run {
        RunState::Ended { outcome, .. } if of.run_counts() => {
            outcome.result.as_ref().err().map(|failure| (&**outcome, failure))
        }
        _ => None,
    }
}

fn start(of: &Context) -> Flow {
    let (Ok(chosen), Some(basis)) = (&of.snapshot.choice, &of.basis) else {
        return NEXT;
    };
    let Ok(pipeline) = &chosen.pipeline else {
        return NEXT;
    };
    act(Action::Run(Box::new(RunStart {
        basis: basis.clone(),
        observed: view::observed(of, chosen),
        pipeline: Arc::clone(pipeline),
        seeds: seeds(of),
    })))
}

/// What each step required last: as this process knows it, else as it is stored.
fn seeds(of: &Context) -> StepRequirements {
    match &of.snapshot.run {
        RunState::Ended { outcome, .. } => outcome.requirements.clone(),
        _ => requires::decode(of.snapshot.xr.annotation(names::REQUIRES)).steps,
    }
}
