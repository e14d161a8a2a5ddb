//! What the composite resource says of itself once all that can be done is done.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;

use super::super::{
    ObjectId, connection,
    context::Context,
    decision::Action,
    desired::ComposedResource,
    differences::{change, is_missing, missing},
    due::due,
    in_use,
    live::{ObjectState, Ownership},
    outcome::{self, Flow, NEXT, act, earliest, until},
    plan::Plan,
    reapplication::DISPUTED,
    record_events, rules,
    sentence::{names_of, some_of},
    snapshot::RunState,
    status::{self, ConditionReport, READY, Report, SYNCED},
};
use crate::{
    function::{DesiredState, Readiness},
    managed::{Event, Rest},
    protection::{self, UsageView},
    reasons::{CompositeEvent, ConditionReason},
    rule::Rule,
};

/// Before it is ready: whoever waits for that reads them.
pub(in super::super) fn publish(of: &Context) -> Flow {
    match connection::due(of) {
        Some(Ok(publication)) => act(Action::Publish(publication)),
        Some(Err(_)) | None => NEXT,
    }
}

pub(in super::super) fn write_status(of: &Context) -> Flow {
    let RunState::Ended { outcome, .. } = &of.snapshot.run else {
        return NEXT;
    };
    let (Some(plan), Ok(desired)) = (&of.plan, &outcome.result) else {
        return NEXT;
    };
    let problems = problems(of, plan);
    let unready = unready(desired);
    let fields = status::desired_status(desired);
    let rejected = of.memory.rejected_status.as_ref().filter(|rejected| {
        rejected.desired == fields && rejected.retry_at.is_none_or(|at| of.snapshot.now < at)
    });
    let report = Report {
        synced: Some(match rejected {
            Some(rejected) => ConditionReport::no(
                ConditionReason::ReconcileError,
                format!("cannot apply composite resource status: {}", rejected.message),
            ),
            None => synced(of, plan, &problems),
        }),
        // Whoever waits for it goes on with what is published.
        ready: connection::failure(of)
            .is_none()
            .then(|| ready(desired, &unready)),
        conditions: Some(outcome.conditions.clone()),
        fatal: false,
        // The API server refused it: the rest is told without.
        desired: rejected.is_none().then_some(fields),
        ..Report::default()
    };
    if status::to_write(of, &report).is_none() {
        return NEXT;
    }
    if is_progress(of, &report) && (waits_for_more(of) || silent_until(of).is_some()) {
        return NEXT;
    }
    let mut events = plan.warnings.clone();
    for (name, why) in &problems {
        events.push(Event::warning(CompositeEvent::ComposeResources, why));
        let message = format!("Composed resource {name:?} is not yet valid");
        events.push(Event::normal(CompositeEvent::ComposeResources, &message));
    }
    if let Some(failed) = connection::failure(of) {
        let event = Event::warning(CompositeEvent::PublishConnectionSecret, &failed.message);
        events.push(event);
    }
    for (id, name) in &plan.replaced {
        let message = format!(
            "composed resource {name:?} is of another kind now: the former {id} stays until it is deleted by hand or the composite resource is"
        );
        events.push(Event::warning(CompositeEvent::KindChanged, &message));
    }
    for name in &unready {
        let message = format!("Composed resource {name:?} is not yet ready");
        events.push(Event::normal(CompositeEvent::ComposeResources, &message));
    }
    outcome::write_status(of, &report, events)
}

/// When to come back, once there is nothing to do.
pub(in super::super) fn rest(of: &Context) -> Rest {
    let composable = of.plan.iter().flat_map(Plan::composable);
    let failed =
        composable.filter_map(|(name, resource)| Some((of.memory.failures.get(name)?, name, resource)));
    let retries = failed
        .filter(|(_, name, resource)| is_to_write(of, name, resource))
        .map(|(failed, ..)| Some(failed.retry_at));
    let obsolete = of.plan.iter().flat_map(|plan| &plan.obsolete);
    let deletions = obsolete.map(|(id, _)| {
        let object = of.object(id).filter(|object| !object.is_deleting())?;
        Some(of.memory.failed_deletions.get(object.uid())?.retry_at)
    });
    let retry = earliest(retries.chain(deletions));
    let reads = of.memory.failed_reads.values().map(|until| Some(*until));
    let reads = earliest(reads);
    // Nothing tells what becomes of objects that are not watched. That a kind is served is told; it is looked at again all the same.
    let is_unwatched = of.snapshot.is_unwatched
        || in_use_yet(of).next().is_some()
        || of
            .snapshot
            .seen
            .values()
            .any(|seen| matches!(seen, ObjectState::KindGone | ObjectState::Unknown(_)));
    let unwatched = is_unwatched.then(|| of.snapshot.now + LOOK_AGAIN);
    let unlisted = undesired_unlisted(of).map(|kept| {
        let again = if kept.is_momentary {
            LISTED_SOON
        } else {
            LOOK_AGAIN
        };
        of.snapshot.now + again
    });
    let unconfirmed = of.plan.iter().flat_map(|plan| &plan.unconfirmed);
    let unread = unconfirmed.filter(|(id, _)| !of.memory.holds_read(id, of.snapshot.now));
    let confirm = earliest(unread.map(|(id, _)| rules::creates_end(of.snapshot, of.memory, id)));
    let rejected = of.memory.rejected_status.as_ref();
    let rejected = rejected.and_then(|rejected| rejected.retry_at);
    let publication = connection::due(of).and_then(Result::err);
    let is_reserved = missing(of).any(|(_, resource)| rules::reserved_by(of.snapshot, resource).is_some());
    // Nothing refers to who has the name.
    let reserved = is_reserved.then(|| of.snapshot.now + LOOK_AGAIN);
    // The steps before have left alone what was due by now: something else holds it back, and to come back at once would be to do so for ever.
    let held_back = |at: Timestamp| {
        if at > of.snapshot.now {
            at
        } else {
            of.snapshot.now + HELD_BACK
        }
    };
    let recreations = missing(of).map(|(_, one)| rules::recreation_waits(of.snapshot, of.memory, &one.id));
    let recreation = earliest(recreations);
    let composable = of.plan.iter().flat_map(Plan::composable);
    let reapplications = composable.map(|(_, resource)| {
        let one = rules::disputed(of.snapshot, of.memory, resource)?;
        Some(one.next(of.snapshot.now))
    });
    let reapplication = earliest(reapplications);
    let silent = silent_until(of);
    let all = [
        recreation,
        reapplication,
        retry,
        confirm,
        reads,
        unwatched,
        unlisted,
        rejected,
        publication,
        reserved,
        silent,
    ];
    let later = all.map(|at| at.map(held_back));
    until(earliest(later.into_iter().chain([due(of)])))
}

/// The object of its name, or another one of its external name, is still being deleted: which, and since when.
fn awaited(of: &Context, resource: &ComposedResource) -> Option<String> {
    let since = |since: Option<Timestamp>| since.map(|at| format!(" since {at:.0}")).unwrap_or_default();
    if let Some(object) = of.object(&resource.id).filter(|object| object.is_deleting()) {
        return Some(format!(
            "{} (uid {}) is being deleted{}, and is created anew when it is gone",
            resource.id,
            object.uid(),
            since(object.deletion_time())
        ));
    }
    let holder = rules::reserved_by(of.snapshot, resource).filter(|_| is_missing(of, resource))?;
    Some(format!(
        "{} is created when {} (uid {}) is gone, which has the same external name and is being deleted{}",
        resource.id,
        holder.id,
        holder.uid,
        since(holder.since)
    ))
}

/// What is due, and held back by something else, is tried again after this.
const HELD_BACK: Duration = Duration::from_secs(10);

/// Usages are listed within a moment; each look may read what is not watched.
const LISTED_SOON: Duration = Duration::from_secs(1);

/// What is not watched is looked at again after this.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// Composition resource name -> what keeps it from being as desired, as a whole sentence.
fn problems<'p>(of: &Context, plan: &'p Plan) -> BTreeMap<&'p str, String> {
    let mut problems = BTreeMap::new();
    for (name, resource) in &plan.desired {
        let problem = match resource {
            Err(why) => Some(why.clone()),
            Ok(resource) => problem(of, name, resource).map(|why| record_events::not_applied(name, &why)),
        };
        if let Some(problem) = problem {
            problems.insert(name.as_str(), problem);
        }
    }
    problems
}

/// It is not as it is desired, and that can be mended.
fn is_to_write(of: &Context, name: &str, resource: &ComposedResource) -> bool {
    is_missing(of, resource) || change(of, name, resource).is_some()
}

fn problem(of: &Context, name: &str, resource: &ComposedResource) -> Option<String> {
    if let Some(failed) = of.memory.failures.get(name)
        && !failed.is_conflict
        && is_to_write(of, name, resource)
    {
        return Some(failed.message.clone());
    }
    if let Some(awaited) = awaited(of, resource) {
        return Some(awaited);
    }
    match of.seen(&resource.id)? {
        ObjectState::KindGone => Some(format!(
            "the cluster does not serve {} in {}",
            resource.id.kind, resource.api_version
        )),
        ObjectState::Unknown(why) => Some(why.clone()),
        ObjectState::Absent => rules::recreation_waits(of.snapshot, of.memory, &resource.id).map(|until| {
            format!(
                "{} was deleted by somebody else after it was created, and is created again at {until:.0}",
                resource.id
            )
        }),
        ObjectState::Exists(object) => match object.ownership(of.snapshot.xr.uid()) {
            Ownership::Foreign => Some(format!(
                "{} is controlled by {}",
                resource.id,
                object.controller_name()
            )),
            Ownership::Uncontrolled if !rules::may_adopt(object, name) => Some(format!(
                "{} exists and is not controlled by this composite resource: delete it, or hand it over with the annotation {}: {name}",
                resource.id,
                super::super::names::RESOURCE_NAME
            )),
            Ownership::Ours | Ownership::Uncontrolled => rules::disputed(of.snapshot, of.memory, resource)
                .map(|_| format!("{} {DISPUTED}", resource.id)),
        },
    }
}

fn synced(of: &Context, plan: &Plan, problems: &BTreeMap<&str, String>) -> ConditionReport {
    let mut parts = Vec::new();
    if !problems.is_empty() {
        let names: Vec<&str> = problems.keys().copied().collect();
        parts.push(format!("Unsynced resources: {}", names_of(&names)));
    }
    let awaited = plan
        .composable()
        .filter_map(|(_, resource)| awaited(of, resource));
    parts.extend(some_of(awaited));
    let left = some_of(plan.replaced.iter().map(|(id, _)| id.to_string()));
    parts.extend(
        left.map(|left| format!("of another kind than is desired now, and left as they are: {left}")),
    );
    let used = in_use_yet(of).map(|(id, usage)| {
        let by = usage.text();
        format!("{id} is not desired any more, and stays as long as it is in use by {by}")
    });
    parts.extend(some_of(used));
    let kept = undesired_unlisted(of);
    let is_momentary = kept.as_ref().is_some_and(|kept| kept.is_momentary);
    parts.extend(kept.filter(|kept| !kept.is_momentary).map(|kept| {
        format!(
            "not desired any more, and kept: {}, as {}",
            kept.names,
            protection::unlisted_kept()
        )
    }));
    let deletions = plan.obsolete.iter().filter_map(|(id, _)| {
        let failed = of.memory.failed_deletions.get(of.object(id)?.uid())?;
        (!failed.is_conflict).then(|| failed.message.clone())
    });
    let failed = parts.len();
    parts.extend(connection::failure(of).map(|failed| failed.message.clone()));
    parts.extend(some_of(deletions));
    let synced = if problems.is_empty() && failed == parts.len() {
        ConditionReport {
            message: parts.join("; "),
            ..ConditionReport::yes(ConditionReason::ReconcileSuccess)
        }
    } else {
        ConditionReport::no(ConditionReason::ReconcileError, parts.join("; "))
    };
    if is_momentary {
        return with_stored_message(of, synced);
    }
    synced
}

/// What is not desired any more, and cannot go yet.
fn in_use_yet<'c>(of: &'c Context) -> impl Iterator<Item = (&'c ObjectId, &'c UsageView)> {
    let obsolete = of.plan.iter().flat_map(|plan| &plan.obsolete);
    obsolete.filter_map(|(id, _)| {
        let object = of.object(id).filter(|object| !object.is_deleting())?;
        Some((id, in_use::usage_of(of, id, object)?))
    })
}

/// What is not desired any more, and may be in use for all that is known.
struct UndesiredUnlisted {
    /// For people.
    names: String,
    /// It is so for a moment only as yet, as after a start: that is not reported.
    is_momentary: bool,
}

/// `None`: there is nothing of that kind.
fn undesired_unlisted(of: &Context) -> Option<UndesiredUnlisted> {
    in_use::unlisted(of)?;
    let obsolete = of.plan.iter().flat_map(|plan| &plan.obsolete);
    let kept = obsolete.filter(|(id, _)| {
        let object = of.object(id).filter(|object| !object.is_deleting());
        object.is_some_and(|object| in_use::usage_of(of, id, object).is_none())
    });
    let kept: Vec<String> = kept.map(|(id, _)| id.to_string()).collect();
    let names: Vec<&str> = kept.iter().map(String::as_str).collect();
    let since = of.memory.unlisted.map_or(of.snapshot.now, |(since, _)| since);
    (!names.is_empty()).then(|| UndesiredUnlisted {
        names: names_of(&names),
        is_momentary: of.snapshot.now < since + of.snapshot.settings.patience,
    })
}

/// Until it is known what is in use, the message of the same status stands, as it may name what is.
fn with_stored_message(of: &Context, synced: ConditionReport) -> ConditionReport {
    let status = if synced.value { "True" } else { "False" };
    let stored = of
        .snapshot
        .xr
        .condition(SYNCED)
        .filter(|stored| stored["status"] == status);
    match stored.and_then(|stored| stored["message"].as_str()) {
        Some(message) => ConditionReport {
            message: message.to_owned(),
            ..synced
        },
        None => synced,
    }
}

/// From the last response alone (I18).
fn ready(desired: &DesiredState, unready: &[&str]) -> ConditionReport {
    let composite = desired
        .composite
        .as_ref()
        .map(|one| one.ready)
        .unwrap_or_default();
    match composite {
        Readiness::Ready => ConditionReport::yes(ConditionReason::Available),
        Readiness::NotReady => ConditionReport::no(ConditionReason::Creating, ""),
        Readiness::Unspecified if unready.is_empty() => ConditionReport::yes(ConditionReason::Available),
        Readiness::Unspecified => {
            let message = format!("Unready resources: {}", names_of(unready));
            ConditionReport::no(ConditionReason::Creating, message)
        }
    }
}

fn unready(desired: &DesiredState) -> Vec<&str> {
    let unready = desired.resources.iter();
    unready
        .filter(|(_, one)| one.ready != Readiness::Ready && !Rule::ReadinessIsTheFunctions.is_off())
        .map(|(name, _)| name.as_str())
        .collect()
}

/// Neither an error nor another readiness: it may wait for more of its kind.
fn is_progress(of: &Context, report: &Report) -> bool {
    let is = |type_: &str, new: &Option<ConditionReport>| {
        let stored = of.snapshot.xr.condition(type_);
        let Some(new) = new else { return true };
        let value = if new.value { "True" } else { "False" };
        match stored {
            None => new.value == (type_ == SYNCED),
            Some(stored) => {
                stored["status"] == value
                    && (type_ == READY || stored["message"].as_str().unwrap_or_default() == new.message)
            }
        }
    };
    is(SYNCED, &report.synced) && is(READY, &report.ready)
}

/// Another run is due, and the first news since the last write is not old.
fn waits_for_more(of: &Context) -> bool {
    let settings = &of.snapshot.settings;
    due(of).is_some_and(|at| at <= of.snapshot.now + settings.longest_settle)
        && of
            .memory
            .progress_since
            .is_some_and(|since| of.snapshot.now < since + settings.progress)
}

/// Nothing has been said of it yet: until then it may become ready, which most do, and say that alone.
fn silent_until(of: &Context) -> Option<Timestamp> {
    let until = of.memory.progress_since? + of.snapshot.settings.progress;
    let says_nothing = of.snapshot.xr.condition(READY).is_none();
    (says_nothing && of.snapshot.now < until).then_some(until)
}

#[cfg(test)]
#[path = "report_tests.rs"]
mod tests;
