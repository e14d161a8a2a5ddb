//! Brings what is composed to what the last run desires.

use super::super::{
    context::Context,
    decision::{Action, Change, Deletion},
    desired::ComposedResource,
    differences::{change, is_held_back, missing},
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
        NEXT => rest(due(of)),
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
        .collect();
    let write = write::composite_write(
        of.snapshot,
        chosen,
        Some(&plan.refs),
        &outcome.requirements,
        events,
    );
    match write {
        // Without the rule the references come after what they refer to.
        Some(_) if Rule::CreateFollowsItsReference.is_off() && missing(of).next().is_some() => NEXT,
        Some(write) => act(Action::Write(Box::new(write))),
        None => NEXT,
    }
}

pub(in super::super) fn delete(of: &Context) -> Flow {
    let Some(plan) = &of.plan else { return NEXT };
    let deletions: Vec<Deletion> = plan
        .obsolete
        .iter()
        .filter_map(|(id, reference)| {
            let object = of
                .object(id)
                .filter(|object| rules::may_delete(of.snapshot, of.memory, object))?;
            Some(Deletion {
                reference: reference.clone(),
                id: id.clone(),
                uid: object.uid().to_owned(),
                resource_version: object.resource_version().to_owned(),
            })
        })
        .take(of.snapshot.settings.batch)
        .collect();
    if deletions.is_empty() {
        return NEXT;
    }
    act(Action::Delete(deletions))
}

/// Before a create: the snapshot may be of a cache that is older than this term.
pub(in super::super) fn verify(of: &Context) -> Flow {
    let is_verified = Rule::CreateNeedsVerification.is_off() || rules::is_verified(of.snapshot, of.memory);
    if missing(of).next().is_some() && !is_verified {
        return act(Action::VerifyResourceVersion);
    }
    NEXT
}

/// An object has the name that was to be created, and the store does not know it.
pub(in super::super) fn observe_taken(of: &Context) -> Flow {
    let home = of.snapshot.xr.namespace().is_some();
    let taken: Vec<_> = missing(of)
        .filter(|(_, resource)| of.memory.name_taken.contains(&resource.id))
        .map(|(_, resource)| resource.reference(home))
        .collect();
    if taken.is_empty() {
        return NEXT;
    }
    act(Action::Observe(taken))
}

pub(in super::super) fn create(of: &Context) -> Flow {
    let creates: Vec<ComposedResource> = missing(of)
        .filter(|(name, resource)| !is_held_back(of, name, resource))
        .filter(|(_, resource)| rules::may_create(of.snapshot, of.memory, &resource.id))
        .map(|(_, resource)| resource.clone())
        .take(of.snapshot.settings.batch)
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
        .take(of.snapshot.settings.batch)
        .collect();
    if changes.is_empty() {
        return NEXT;
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
        .map(|(_, reference)| reference.clone())
        .take(of.snapshot.settings.batch)
        .collect();
    if due.is_empty() {
        return NEXT;
    }
    act(Action::Observe(due))
}
