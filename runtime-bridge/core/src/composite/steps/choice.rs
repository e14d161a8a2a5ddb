//! Without a composition there is nothing to compose.

use jiff::SignedDuration;

use super::super::{
    context::Context,
    outcome::{Flow, NEXT, rest, write_status},
    status::{ConditionReport, Report},
};
use crate::{managed::Event, reasons::ConditionReason};

/// Until it is looked for again.
const AGAIN: SignedDuration = SignedDuration::from_mins(1);

pub(in super::super) fn report_missing(of: &Context) -> Flow {
    let problem = match &of.snapshot.choice {
        Ok(chosen) => match &chosen.pipeline {
            Ok(_) => return NEXT,
            Err(why) => (crate::reasons::CompositeEvent::ComposeResources, why.clone()),
        },
        Err(problem) => {
            if let Some(until) = of.patience().filter(|_| problem.may_pass) {
                return rest(Some(until));
            }
            (problem.event, problem.message.clone())
        }
    };
    let (event, message) = problem;
    let report = Report {
        synced: Some(ConditionReport::no(
            ConditionReason::ReconcileError,
            message.clone(),
        )),
        ..Report::default()
    };
    match write_status(of, &report, vec![Event::warning(event, &message)]) {
        // What it waits for wakes it, save where nobody says so, as with a revision whose status may not be written.
        NEXT => rest(Some(of.snapshot.now + AGAIN)),
        written => written,
    }
}
