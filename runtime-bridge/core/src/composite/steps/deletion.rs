//! The end of a composite resource: it stays until all that it composed is gone.

use std::time::Duration;

use super::super::{
    ObjectId, blocked,
    context::Context,
    decision::{Action, Deletion},
    in_use,
    live::{ObjectState, Ownership},
    names,
    outcome::{Flow, NEXT, act, rest, write_status},
    publication::SecretName,
    rules,
    secrets::own_secret,
    sentence::{names_of, some_of},
    status::{ConditionReport, Report, deleting_since, reports_deletion},
};
use crate::{reasons::ConditionReason, rule::Rule};

/// What is not known, or not watched, is looked at again after this.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// Usages and Secrets are listed within a moment.
const LISTED_SOON: Duration = Duration::from_millis(250);

fn is_deleting(of: &Context) -> bool {
    of.snapshot.xr.is_deleting()
}

pub(in super::super) fn rest_without_finalizer(of: &Context) -> Flow {
    if is_deleting(of) && !of.snapshot.xr.has_finalizer(names::FINALIZER) {
        return rest(None);
    }
    NEXT
}

/// Nothing is deleted before everybody can see why.
pub(in super::super) fn report(of: &Context) -> Flow {
    if !is_deleting(of) {
        return NEXT;
    }
    let is_refused = of.memory.refused_report.held_until(of.snapshot.now).is_some();
    if reports_deletion(&of.snapshot.xr.object) || is_refused || Rule::DeletionIsSeenFirst.is_off() {
        return NEXT;
    }
    write_status(of, &deleting(of), Vec::new())
}

pub(in super::super) fn release(of: &Context) -> Flow {
    if !is_deleting(of) {
        return NEXT;
    }
    let releases: Vec<Deletion> = blocked::released(of)
        .filter(|(_, _, object)| !of.memory.holds_deletion(object.uid(), of.snapshot.now))
        .map(|(id, reference, object)| Deletion::of(id, reference, object))
        .take(of.snapshot.settings.batch)
        .collect();
    if releases.is_empty() {
        return NEXT;
    }
    act(Action::Release(releases))
}

/// What is in use is known only once all usages are: until then nothing is deleted.
pub(in super::super) fn delete(of: &Context) -> Flow {
    if !is_deleting(of) || in_use::unlisted(of).is_some() || rules::orphans(&of.snapshot.xr) {
        return NEXT;
    }
    let deletions: Vec<Deletion> = of
        .ids()
        .filter(|(id, _)| rules::is_ours(of.snapshot, id))
        .filter_map(|(id, reference)| {
            let object = of
                .object(&id)
                .filter(|object| rules::may_delete(of.snapshot, of.memory, object))
                // Its release has failed just now.
                .filter(|object| !rules::is_released(&of.snapshot.xr, object.uid()))
                .filter(|object| in_use::usage_of(of, &id, object).is_none())
                .filter(|object| !in_use::goes_last(of, &id, object))?;
            Some(Deletion::of(id, reference, object))
        })
        .take(of.snapshot.settings.batch)
        .collect();
    if deletions.is_empty() {
        return NEXT;
    }
    act(Action::Delete(deletions))
}

pub(in super::super) fn confirm_absence(of: &Context) -> Flow {
    if !is_deleting(of) {
        return NEXT;
    }
    let unconfirmed: Vec<_> = of
        .ids()
        .filter(|(id, _)| matches!(of.seen(id), Some(ObjectState::Absent)))
        .filter(|(id, _)| !rules::is_gone_with_owner(of.snapshot, of.memory, id))
        .filter(|(id, _)| !of.memory.holds_read(id, of.snapshot.now))
        .filter(|(id, _)| {
            // Before the end of a create without an answer a look would prove nothing, and be followed by the next.
            rules::is_creation_complete(of.snapshot, of.memory, id)
                || rules::creates_end(of.snapshot, of.memory, id).is_none_or(|end| end <= of.snapshot.now)
        })
        .map(|(_, reference)| reference.clone())
        .take(of.snapshot.settings.batch)
        .collect();
    if unconfirmed.is_empty() {
        return NEXT;
    }
    act(Action::Observe(unconfirmed))
}

/// Just before the composite resource: no garbage collector is needed.
pub(in super::super) fn delete_secret(of: &Context) -> Flow {
    let failed = of.memory.failed_secret_deletion.as_ref();
    match due_secret(of) {
        Some(secret) if failed.is_none_or(|failed| failed.retry_at <= of.snapshot.now) => {
            act(Action::DeleteSecret(secret))
        }
        _ => NEXT,
    }
}

/// The connection Secret that is still to be deleted, once nothing else is left.
fn due_secret(of: &Context) -> Option<SecretName> {
    let failed = of.memory.failed_secret_deletion.as_ref();
    // All that cannot be deleted is let go.
    let is_released = failed.is_some() && rules::is_released(&of.snapshot.xr, "");
    let is_due = is_over(of) && !of.memory.secret_deleted && !is_released;
    own_secret(&of.snapshot.xr).filter(|_| is_due)
}

pub(in super::super) fn remove_finalizer(of: &Context) -> Flow {
    if !is_over(of) || due_secret(of).is_some() || blocked::unlisted_secrets(of).is_some() {
        return NEXT;
    }
    act(Action::RemoveFinalizer)
}

/// Nothing of it is left to wait for.
fn is_over(of: &Context) -> bool {
    is_deleting(of)
        && !rules::orphans(&of.snapshot.xr)
        && (remaining(of).is_empty() || vanishes(of) || Rule::CompositeOutlivesComposed.is_off())
}

/// All that remains has been marked, or is in use: that is left to the garbage collector.
fn vanishes(of: &Context) -> bool {
    let is_left = |id: &ObjectId| {
        of.object(id).is_some_and(|object| {
            object.is_deleting()
                || in_use::usage_of(of, id, object).is_some()
                || in_use::goes_last(of, id, object)
        })
    };
    of.snapshot.settings.vanishing_parents
        && in_use::unlisted(of).is_none()
        && remaining(of).iter().all(is_left)
}

pub(in super::super) fn wait(of: &Context) -> Flow {
    if !is_deleting(of) {
        return NEXT;
    }
    let ends = of
        .ids()
        .filter(|(id, _)| matches!(of.seen(id), Some(ObjectState::Absent)))
        .map(|(id, _)| rules::creates_end(of.snapshot, of.memory, &id));
    let retries = of
        .memory
        .failed_deletions
        .values()
        .chain(&of.memory.failed_secret_deletion)
        .map(|failed| Some(failed.retry_at));
    let reads = of.memory.failed_reads.values().map(|until| Some(*until));
    let is_unknown = of
        .ids()
        .any(|(id, _)| matches!(of.seen(&id), Some(ObjectState::Unknown(_)) | None));
    // A usage that has not marked its object yet goes without a trace there.
    let is_in_use = of.ids().any(|(id, _)| {
        let object = of.object(&id);
        object.is_some_and(|object| in_use::usage_of(of, &id, object).is_some())
    });
    let is_unseen = is_unknown || of.snapshot.is_unwatched || is_in_use;
    let unknown = is_unseen.then(|| of.snapshot.now + LOOK_AGAIN);
    let hindrance = blocked::hindrance(of, &remaining(of));
    let listed = blocked::waits_for_a_list(of, &remaining(of)).then(|| {
        // What takes longer is reported, and no matter of a moment.
        let is_reported = hindrance.blocked.as_ref().is_some_and(|blocked| blocked.value);
        of.snapshot.now + if is_reported { LOOK_AGAIN } else { LISTED_SOON }
    });
    let refused = of.memory.refused_report.held_until(of.snapshot.now);
    let all = ends
        .chain(retries)
        .chain(reads)
        .chain([unknown, listed, hindrance.wake, refused]);
    let wake = all.flatten().filter(|at| *at > of.snapshot.now).min();
    if refused.is_some() {
        return rest(wake);
    }
    let report = Report {
        blocked: hindrance.blocked,
        overdue: hindrance.overdue,
        ..deleting(of)
    };
    match write_status(of, &report, hindrance.events) {
        NEXT => rest(wake),
        written => written,
    }
}

/// What holds the composite resource.
fn remaining(of: &Context) -> Vec<ObjectId> {
    of.ids()
        .filter(|(id, _)| match of.seen(id) {
            Some(ObjectState::Exists(object)) => object.ownership(of.snapshot.xr.uid()) == Ownership::Ours,
            Some(ObjectState::KindGone) => false,
            Some(ObjectState::Absent) => !rules::is_gone_with_owner(of.snapshot, of.memory, id),
            Some(ObjectState::Unknown(_)) | None => {
                !rules::is_given_up(of.snapshot, of.memory.unread.get(id).copied())
                    && !rules::is_gone_with_owner(of.snapshot, of.memory, id)
            }
        })
        .map(|(id, _)| id)
        .collect()
}

/// What is waited for where an object is absent.
fn late_create(of: &Context) -> Option<String> {
    let end = of
        .ids()
        .filter(|(id, _)| matches!(of.seen(id), Some(ObjectState::Absent)))
        .filter(|(id, _)| !rules::is_gone_with_owner(of.snapshot, of.memory, id))
        .filter(|(id, _)| !rules::is_creation_complete(of.snapshot, of.memory, id))
        .filter_map(|(id, _)| rules::creates_end(of.snapshot, of.memory, &id))
        .filter(|end| of.snapshot.now < *end)
        .max()?;
    Some(format!(
        "; until {} a create that was sent before may still take effect",
        end.strftime("%Y-%m-%dT%H:%M:%SZ")
    ))
}

fn deleting(of: &Context) -> Report {
    let remaining = remaining(of);
    let remaining: Vec<String> = remaining.iter().map(ToString::to_string).collect();
    let names: Vec<&str> = remaining.iter().map(String::as_str).collect();
    let message = if names.is_empty() {
        String::new()
    } else {
        let all = of.refs.len();
        let late = late_create(of).unwrap_or_default();
        format!(
            "{} of {all} composed resources remain: {}{late}",
            names.len(),
            names_of(&names)
        )
    };
    let message = deleting_since(message, of.snapshot.xr.deletion_time());
    let failed = of
        .memory
        .failed_deletions
        .values()
        .chain(&of.memory.failed_secret_deletion)
        .filter(|failed| !failed.is_conflict)
        .map(|failed| failed.message.clone());
    let synced = match some_of(failed) {
        None => ConditionReport::yes(ConditionReason::ReconcileSuccess),
        Some(failed) => ConditionReport::no(ConditionReason::ReconcileError, failed),
    };
    Report {
        ready: Some(ConditionReport::no(ConditionReason::Deleting, message)),
        synced: Some(synced),
        ..Report::default()
    }
}
