//! What keeps everything else from being done.

use super::super::{
    context::Context,
    outcome::{Flow, NEXT, rest, write_status},
    status::{ConditionReport, Report},
};
use crate::{
    managed::Event,
    reasons::{CompositeEvent, ConditionReason},
    rule::Rule,
};

/// As Crossplane says it.
const PAUSED: &str = "Reconciliation (including deletion) is paused via the pause annotation";

pub(in super::super) fn rest_without_authority(of: &Context) -> Flow {
    if of.snapshot.may_act { NEXT } else { rest(None) }
}

pub(in super::super) fn report_paused(of: &Context) -> Flow {
    if !of.snapshot.xr.is_paused() || Rule::PausedIsLeftAlone.is_off() {
        return NEXT;
    }
    let report = Report {
        synced: Some(ConditionReport::no(ConditionReason::ReconcilePaused, PAUSED)),
        ..Report::default()
    };
    let event = Event::normal(
        CompositeEvent::ReconciliationPaused,
        "Reconciliation is paused via the pause annotation",
    );
    match write_status(of, &report, vec![event]) {
        NEXT => rest(None),
        written => written,
    }
}
