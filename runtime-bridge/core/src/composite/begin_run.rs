//! Begins a run of the pipeline upon what is known now.

use std::sync::Arc;

use super::{
    context::Context,
    decision::{Action, RunStart},
    names,
    outcome::{Flow, NEXT, act},
    requires::{self, StepRequirements},
    snapshot::RunState,
    view,
};

/// A run in place of the one that goes on, if any.
pub(super) fn begin_run(of: &Context) -> Flow {
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
