//! What holds a deletion up: named with what to do about it once nothing has moved for a while.

use jiff::Timestamp;

use super::{
    Composite, ObjectId,
    context::Context,
    hold::{self, Hold},
    in_use,
    live::{LiveObject, ObjectState},
    names,
    overdue::Deadline,
    rules::{self, STALL},
    status::{ConditionReport, DELETION_BLOCKED, DELETION_OVERDUE},
};
use crate::{
    managed::Event,
    protection::{self, is_usage},
    reasons::{CompositeEvent, DeletionReason},
    rule::Rule,
};

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
    let unlisted = unlisted_usages(of, remaining).or_else(|| unlisted_secret(of, remaining));
    if unlisted.is_some() && now < stalls {
        // Mostly a matter of a moment, in which nothing else is known to hold it.
        hindrance.wake = Some(stalls);
        return;
    }
    let blocker = || blocker(of, remaining).or_else(|| secret(of));
    match unlisted.or_else(blocker) {
        // After a restart, what was said stands until something moves.
        Some(blocker) if now >= stalls || (was_blocked && !movement.has_moved) => {
            let Blocker { reason, message } = blocker;
            hindrance.events.push(blocked_event(reason, &message));
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

/// What is under way takes its time, and is no fault of anybody.
fn blocked_event(reason: DeletionReason, message: &str) -> Event {
    match reason {
        DeletionReason::ExternalDeletion => Event::normal(CompositeEvent::DeletionBlocked, message),
        _ => Event::warning(CompositeEvent::DeletionBlocked, message),
    }
}

fn say_overdue(of: &Context, remaining: &[ObjectId], hindrance: &mut Hindrance) {
    if Rule::OverdueIsSaid.is_off() {
        return;
    }
    let xr = &of.snapshot.xr;
    let is_waited_for =
        !remaining.is_empty() || of.memory.failed_secret_deletion.is_some() || unlisted_secrets(of).is_some();
    let Some(since) = xr.deletion_time().filter(|_| is_waited_for) else {
        return;
    };
    let own = xr.annotation(names::DELETION_DEADLINE);
    let deadline = Deadline::new(since, own, of.snapshot.settings.deletion_deadline);
    let Some(overdue) = deadline.exceeded(of.snapshot.now) else {
        hindrance.wake = hindrance.wake.into_iter().chain([deadline.end()]).min();
        let was_overdue = xr
            .condition(DELETION_OVERDUE)
            .is_some_and(|condition| condition["status"] == "True");
        hindrance.overdue = was_overdue.then(|| ConditionReport::no(DeletionReason::DeadlineExtended, ""));
        return;
    };
    hindrance
        .events
        .push(Event::warning(CompositeEvent::DeletionOverdue, &overdue.message));
    hindrance.overdue = Some(overdue);
}

/// One object that holds a deletion up. The most telling comes first.
#[derive(Debug, PartialEq)]
struct Blocker {
    reason: DeletionReason,
    message: String,
}

/// Usages cannot be listed: what is not being deleted yet may be in use.
fn unlisted_usages(of: &Context, remaining: &[ObjectId]) -> Option<Blocker> {
    let why = in_use::unlisted(of)?;
    let is_kept =
        |id: &&ObjectId| matches!(of.seen(id), Some(ObjectState::Exists(object)) if !object.is_deleting());
    let kept = remaining.iter().find(is_kept)?;
    Some(Blocker {
        reason: DeletionReason::Unreachable,
        message: format!(
            "{kept} is not deleted{}, as {}",
            hold::waiting_since(of),
            protection::unlisted(why)
        ),
    })
}

/// Why it is not known which Secrets it composed, unless all is let go.
pub(super) fn unlisted_secrets<'a>(of: &Context<'a>) -> Option<&'a str> {
    let why = of.snapshot.unlisted_secrets.as_deref()?;
    (!rules::is_given_up(of.snapshot, of.memory.secrets_unlisted)).then_some(why)
}

/// Usages, or Secrets, must be listed before it goes on.
pub(super) fn waits_for_a_list(of: &Context, remaining: &[ObjectId]) -> bool {
    unlisted_usages(of, remaining).is_some() || unlisted_secret(of, remaining).is_some()
}

/// Nothing else is left, and one that no reference names may be.
fn unlisted_secret(of: &Context, remaining: &[ObjectId]) -> Option<Blocker> {
    let why = unlisted_secrets(of).filter(|_| remaining.is_empty())?;
    let xr = &of.snapshot.xr;
    let release = to_release(xr, &format!("all/{}", xr.uid()));
    Some(Blocker {
        reason: DeletionReason::Unreachable,
        message: format!(
            "Secrets cannot be listed: {why}{}. One that it composed may be left{release}",
            hold::waiting_since(of)
        ),
    })
}

fn blocker(of: &Context, remaining: &[ObjectId]) -> Option<Blocker> {
    let blockers = remaining.iter().filter_map(|id| {
        let (rank, hold, uid) = match of.seen(id)? {
            ObjectState::Exists(object) => {
                let hold = hold::of(of, id, object)?;
                (rank(of, remaining, id, object, &hold), hold, object.uid())
            }
            ObjectState::Unknown(why) => {
                let hold = Hold::unreachable(of, why);
                ((false, hold.rank()), hold, "")
            }
            // A create of it may still land: that ends by itself.
            ObjectState::Absent | ObjectState::KindGone => return None,
        };
        Some((rank, id, uid, hold))
    });
    let mut blockers: Vec<_> = blockers.collect();
    blockers.sort_by_key(|(rank, id, ..)| (*rank, *id));
    let (_, id, uid, Hold { reason, what }) = blockers.first()?;
    let xr = &of.snapshot.xr;
    let mut message = format!("{id} {what}");
    if blockers.len() > 1 {
        message += &format!(" (and {} more)", blockers.len() - 1);
    }
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
    message += &to_release(xr, &released);
    let unmatched = rules::unmatched_releases(of.snapshot);
    if !unmatched.is_empty() {
        message += &format!(
            ". Its annotation {} releases nothing by {}, which is the uid of nothing that it composed",
            names::RELEASE,
            unmatched.join(", ")
        );
    }
    Some(Blocker {
        reason: *reason,
        message,
    })
}

/// What only waits for another one that is named here comes after all that does not: a person can act on the latter alone.
fn rank(of: &Context, remaining: &[ObjectId], id: &ObjectId, object: &LiveObject, hold: &Hold) -> (bool, u8) {
    let may_wait = is_usage(&id.group, &id.kind) || hold.reason == DeletionReason::InUse;
    let waits = may_wait && in_use::waits_for_another(of, remaining, id, object);
    (waits, hold.rank())
}

/// The connection Secret goes last.
fn secret(of: &Context) -> Option<Blocker> {
    let failed = of.memory.failed_secret_deletion.as_ref()?;
    let xr = &of.snapshot.xr;
    let release = to_release(xr, &format!("all/{}", xr.uid()));
    Some(Blocker {
        reason: DeletionReason::Forbidden,
        message: format!("{}{}{release}", failed.message, hold::waiting_since(of)),
    })
}

fn namespace(namespace: Option<&str>) -> String {
    namespace
        .map(|namespace| format!(" -n {namespace}"))
        .unwrap_or_default()
}

/// How to leave something behind, ready to be pasted.
fn to_release(xr: &Composite, released: &str) -> String {
    format!(
        ". To leave it behind: kubectl annotate --overwrite {}.{} {}{} {}={released}",
        xr.kind(),
        super::object_id::group_of(xr.api_version()),
        xr.name(),
        namespace(xr.namespace()),
        names::RELEASE
    )
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
