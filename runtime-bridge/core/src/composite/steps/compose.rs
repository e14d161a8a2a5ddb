//! Brings what is composed to what the last run desires.

use super::super::{
    begin_run::begin_run,
    context::Context,
    decision::{Action, Change, CompositeWrite, Deletion},
    desired::ComposedResource,
    differences::{change, is_held_back, missing, obsolete},
    due::due,
    outcome::{Flow, NEXT, act, rest, write_status},
    rules,
    snapshot::RunState,
    status::{ConditionReport, Report},
    write,
};
use crate::{
    managed::Event,
    reasons::{CompositeEvent, ConditionReason},
    rule::Rule,
};

pub(in super::super) fn report_problem(of: &Context) -> Flow {
    let Some(problem) = of.plan.as_ref().and_then(|plan| plan.problem.as_ref()) else {
        return NEXT;
    };
    let message = format!("cannot compose resources: {problem}");
    let report = Report {
        synced: Some(ConditionReport::no(
            ConditionReason::ReconcileError,
            message.clone(),
        )),
        ..Report::default()
    };
    let event = Event::warning(CompositeEvent::ComposeResources, &message);
    match write_status(of, &report, vec![event]) {
        NEXT => match due(of) {
            Some(at) if at <= of.snapshot.now => begin_run(of),
            at => rest(at),
        },
        written => written,
    }
}

/// References first: whatever is created later can be found again.
pub(in super::super) fn write_composite(of: &Context) -> Flow {
    let (Some(plan), Ok(chosen)) = (&of.plan, &of.snapshot.choice) else {
        return NEXT;
    };
    let RunState::Ended { outcome, .. } = &of.snapshot.run else {
        return NEXT;
    };
    let changes = chosen.selected.changes.iter();
    let events = changes
        .map(|change| Event::normal(change.event(), &change.message()))
        // Once it is created it stays where it is, and nothing warns of that any more.
        .chain(plan.warnings.iter().cloned())
        .collect();
    let write = write::composite_write(
        of.snapshot,
        of.memory,
        chosen,
        Some(&plan.refs),
        &outcome.requirements,
        events,
    );
    match write {
        // Without the rule the references come after what they refer to.
        Some(_) if Rule::CreateFollowsItsReference.is_off() && missing(of).next().is_some() => NEXT,
        Some(write) => report_refused(of, write),
        None => NEXT,
    }
}

/// What the API server has refused before is tried again once the status says so.
pub(super) fn report_refused(of: &Context, write: CompositeWrite) -> Flow {
    let refused = of.memory.refused_write.as_ref();
    if let Some(refused) = refused.filter(|refused| refused.write == write::digest(&write)) {
        let message = format!("cannot update composite resource: {}", refused.message);
        let synced = ConditionReport::no(ConditionReason::ReconcileError, message);
        let report = Report {
            synced: Some(synced),
            ..Report::default()
        };
        match write_status(of, &report, Vec::new()) {
            NEXT => {}
            written => return written,
        }
    }
    act(Action::Write(Box::new(write)))
}

/// Before anything is written: the snapshot may be of a cache that is older than this term.
pub(in super::super) fn verify(of: &Context) -> Flow {
    let Some(plan) = &of.plan else { return NEXT };
    let is_verified = Rule::CreateNeedsVerification.is_off() || rules::is_verified(of.snapshot, of.memory);
    let is_to_write = || {
        obsolete(of).next().is_some()
            || missing(of).next().is_some()
            || plan
                .composable()
                .any(|(name, resource)| change(of, name, resource).is_some())
    };
    if !is_verified && is_to_write() {
        return act(Action::VerifyResourceVersion);
    }
    NEXT
}

pub(in super::super) fn delete(of: &Context) -> Flow {
    let deletions: Vec<Deletion> = obsolete(of).take(of.snapshot.settings.batch).collect();
    if deletions.is_empty() {
        return NEXT;
    }
    act(Action::Delete(deletions))
}

/// An object has the name that was to be created, and the store does not know it.
pub(in super::super) fn observe_taken(of: &Context) -> Flow {
    let home = of.snapshot.xr.namespace().is_some();
    let taken: Vec<_> = missing(of)
        .filter(|(_, resource)| of.memory.name_taken.contains(&resource.id))
        .filter(|(_, resource)| !of.memory.holds_read(&resource.id, of.snapshot.now))
        .map(|(_, resource)| resource.reference(home))
        .collect();
    if taken.is_empty() {
        return NEXT;
    }
    act(Action::Observe(taken))
}

pub(in super::super) fn create(of: &Context) -> Flow {
    let creates: Vec<ComposedResource> = missing(of)
        .filter(|(_, resource)| rules::recreation_waits(of.snapshot, of.memory, &resource.id).is_none())
        .filter(|(name, resource)| !is_held_back(of, name, resource))
        .filter(|(_, resource)| !of.memory.name_taken.contains(&resource.id))
        .filter(|(_, resource)| rules::may_create(of.snapshot, of.memory, &resource.id))
        .filter(|(_, resource)| rules::reserved_by(of.snapshot, resource).is_none())
        .map(|(_, resource)| resource.clone())
        .take(of.snapshot.settings.writes)
        .collect();
    if creates.is_empty() {
        return NEXT;
    }
    act(Action::Create(creates))
}

pub(in super::super) fn apply(of: &Context) -> Flow {
    let Some(plan) = &of.plan else { return NEXT };
    let changes: Vec<Change> = plan
        .composable()
        .filter(|(name, resource)| !is_held_back(of, name, resource))
        .filter_map(|(name, resource)| change(of, name, resource))
        .take(of.snapshot.settings.writes)
        .collect();
    if changes.is_empty() {
        return NEXT;
    }
    let may_apply =
        |change: &Change| !change.adopts || rules::may_adopt_now(of.snapshot, of.memory, &change.uid);
    if !changes.iter().all(may_apply) {
        return act(Action::VerifyResourceVersion);
    }
    act(Action::Apply(changes))
}

/// What was not found, and is not desired: it is read past the store before its reference goes.
pub(in super::super) fn confirm_absence(of: &Context) -> Flow {
    let Some(plan) = &of.plan else { return NEXT };
    let due: Vec<_> = plan
        .unconfirmed
        .iter()
        .filter(|(id, _)| {
            rules::creates_end(of.snapshot, of.memory, id).is_none_or(|end| end <= of.snapshot.now)
        })
        .filter(|(id, _)| !of.memory.holds_read(id, of.snapshot.now))
        .map(|(_, reference)| reference.clone())
        .take(of.snapshot.settings.batch)
        .collect();
    if due.is_empty() {
        return NEXT;
    }
    act(Action::Observe(due))
}
