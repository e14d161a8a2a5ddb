//! What holds a deletion up: named with what to do about it once nothing has moved for a while.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::{
    ObjectId,
    context::Context,
    in_use,
    live::{LiveObject, ObjectState},
    names, rules,
    status::{ConditionReport, DELETION_BLOCKED, DELETION_OVERDUE},
};
use crate::{
    managed::{Event, parse_go},
    reasons::{CompositeEvent, DeletionReason},
    rule::Rule,
};

/// Without movement for so long, a deletion is blocked.
const STALL: Duration = Duration::from_secs(10);

/// What the status of a deletion says beside `Ready`.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Hindrance {
    /// `DeletionBlocked`; `None`: as it was.
    pub blocked: Option<ConditionReport>,
    /// `DeletionOverdue`; `None`: as it was.
    pub overdue: Option<ConditionReport>,
    /// Each is recorded once.
    pub events: Vec<Event>,
    /// When it may have to say more.
    pub wake: Option<Timestamp>,
}

pub(super) fn hindrance(of: &Context, remaining: &[ObjectId]) -> Hindrance {
    let mut hindrance = Hindrance::default();
    say_blocked(of, remaining, &mut hindrance);
    say_overdue(of, remaining, &mut hindrance);
    hindrance
}

fn say_blocked(of: &Context, remaining: &[ObjectId], hindrance: &mut Hindrance) {
    if Rule::BlockerIsNamed.is_off() {
        return;
    }
    let now = of.snapshot.now;
    let was_blocked = of
        .snapshot
        .xr
        .condition(DELETION_BLOCKED)
        .is_some_and(|condition| condition["status"] == "True");
    let Some(movement) = &of.memory.movement else {
        return;
    };
    let stalls = movement.since + STALL;
    match blocker(of, remaining) {
        // After a restart, what was said stands until something moves.
        Some(blocker) if now >= stalls || (was_blocked && !movement.has_moved) => {
            let Blocker { reason, message, .. } = blocker;
            hindrance
                .events
                .push(Event::warning(CompositeEvent::DeletionBlocked, &message));
            hindrance.blocked = Some(ConditionReport {
                value: true,
                reason: reason.into(),
                message,
            });
        }
        blocker => {
            hindrance.wake = blocker.map(|_| stalls);
            hindrance.blocked = was_blocked.then(|| ConditionReport::no(DeletionReason::Moving, ""));
        }
    }
}

fn say_overdue(of: &Context, remaining: &[ObjectId], hindrance: &mut Hindrance) {
    let xr = &of.snapshot.xr;
    let Some(since) = xr.deletion_time().filter(|_| !remaining.is_empty()) else {
        return;
    };
    let own = xr.annotation(names::DELETION_DEADLINE).and_then(parse_go);
    let deadline = own.unwrap_or(of.snapshot.settings.deletion_deadline);
    let end = since + deadline;
    if of.snapshot.now < end {
        hindrance.wake = hindrance.wake.into_iter().chain([end]).min();
        let was_overdue = xr
            .condition(DELETION_OVERDUE)
            .is_some_and(|condition| condition["status"] == "True");
        hindrance.overdue = was_overdue.then(|| ConditionReport::no(DeletionReason::DeadlineExtended, ""));
        return;
    }
    let minutes = deadline.as_secs() / 60;
    let seconds = deadline.as_secs() % 60;
    let message = format!(
        "it is being deleted since {since}, longer than its deadline of {minutes}m{seconds}s. Nothing is given up: see what remains in Ready and \
         DeletionBlocked"
    );
    hindrance
        .events
        .push(Event::warning(CompositeEvent::DeletionOverdue, &message));
    hindrance.overdue = Some(ConditionReport {
        value: true,
        reason: DeletionReason::DeadlineExceeded.into(),
        message,
    });
}

/// One object that holds a deletion up. The most telling comes first.
#[derive(Debug, PartialEq)]
struct Blocker {
    rank: u8,
    reason: DeletionReason,
    message: String,
}

fn blocker(of: &Context, remaining: &[ObjectId]) -> Option<Blocker> {
    let blockers = remaining.iter().filter_map(|id| {
        let (rank, reason, what) = match of.seen(id)? {
            ObjectState::Exists(object) => hold_of(of, id, object)?,
            ObjectState::Unknown(why) => (4, DeletionReason::Unreachable, format!("cannot be read: {why}")),
            // A create of it may still land: that ends by itself.
            ObjectState::Absent | ObjectState::KindGone => return None,
        };
        let uid = match of.seen(id) {
            Some(ObjectState::Exists(object)) => object.uid(),
            _ => "",
        };
        Some((rank, id, reason, what, uid))
    });
    let mut blockers: Vec<_> = blockers.collect();
    blockers.sort_by_key(|(rank, id, ..)| (*rank, (*id).clone()));
    let (rank, id, reason, what, uid) = blockers.first()?;
    let mut message = format!("{id} {what}");
    if blockers.len() > 1 {
        message += &format!(" (and {} more)", blockers.len() - 1);
    }
    let xr = &of.snapshot.xr;
    let namespace = |namespace: Option<&str>| namespace.map(|n| format!(" -n {n}")).unwrap_or_default();
    message += &format!(
        ". See: kubectl get {} {}{} -o yaml",
        id.group_kind(),
        id.name,
        namespace(id.namespace.as_deref())
    );
    let released = if uid.is_empty() {
        format!("all/{}", xr.uid())
    } else {
        (*uid).to_owned()
    };
    message += &format!(
        ". To leave it behind: kubectl annotate --overwrite {}.{} {}{} {}={released}",
        xr.kind(),
        super::object_id::group_of(xr.api_version()),
        xr.name(),
        namespace(xr.namespace()),
        names::RELEASE
    );
    Some(Blocker {
        rank: *rank,
        reason: *reason,
        message,
    })
}

/// Why an object that exists does not go.
fn hold_of(of: &Context, id: &ObjectId, object: &LiveObject) -> Option<(u8, DeletionReason, String)> {
    if let Some(usage) = in_use::usage_of(of, id, object).filter(|_| !object.is_deleting()) {
        let cycle = in_use::cycle_of(of, usage);
        return Some(if cycle.is_empty() {
            (1, DeletionReason::InUse, format!("is in use by {}", usage.text()))
        } else {
            (
                1,
                DeletionReason::Cycle,
                format!("waits for itself, as these usages form a cycle: {cycle}"),
            )
        });
    }
    let failed = of.memory.failed_deletions.get(object.uid());
    if let Some(failed) = failed.filter(|failed| !failed.is_conflict) {
        let is_used = object.label(names::IN_USE) == Some("true");
        return Some(if is_used {
            (1, DeletionReason::InUse, format!("is in use: {}", failed.message))
        } else {
            (
                0,
                DeletionReason::Forbidden,
                format!("is not deleted: {}", failed.message),
            )
        });
    }
    let since = object.deletion_time()?;
    if let Some(said) = said_by(object) {
        let what = format!("is being deleted since {since}: {said}");
        return Some((2, DeletionReason::ExternalError, what));
    }
    let finalizers: Vec<&str> = object.finalizers().collect();
    if finalizers.is_empty() {
        return None;
    }
    let what = format!(
        "is being deleted since {since}, and waits for who set its finalizers: {}",
        finalizers.join(", ")
    );
    Some((3, DeletionReason::Finalizers, what))
}

/// What an object says of its own deletion: a composite resource of what blocks it, a managed resource of the last answer of its cloud.
fn said_by(object: &LiveObject) -> Option<String> {
    let conditions = object.object["status"]["conditions"].as_array()?;
    let said = |type_: &str, status: &str| {
        let is_it = |one: &&Value| one["type"] == type_ && one["status"] == status;
        let one = conditions.iter().find(is_it)?;
        let message = one["message"].as_str().filter(|message| !message.is_empty())?;
        Some(format!("{type_}={status} {}: {message}", one["reason"].as_str()?))
    };
    // What passes by itself is no error, and stands in the message alone.
    let answer = || {
        let synced = conditions.iter().find(|one| one["type"] == "Synced")?;
        let message = synced["message"].as_str().filter(|message| !message.is_empty())?;
        Some(message.to_owned())
    };
    said(DELETION_BLOCKED, "True")
        .or_else(|| said("Synced", "False"))
        .or_else(answer)
}

/// What is to be left behind: a person asks for it by annotation.
pub(super) fn released<'a>(
    of: &'a Context,
) -> impl Iterator<Item = (ObjectId, &'a super::ResourceRef, &'a LiveObject)> {
    of.ids().filter_map(|(id, reference)| {
        let object = of.object(&id)?;
        let is_it = rules::is_ours(of.snapshot, &id) && rules::is_released(&of.snapshot.xr, object.uid());
        is_it.then_some((id, reference, object))
    })
}
