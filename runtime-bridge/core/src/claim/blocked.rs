//! What keeps a claim from deleting its composite resource: named once it has stood for a while. What holds up the deletion of that is its own to
//! say.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    facts::{Facts, condition},
    names, rules,
};
use crate::{
    composite::{
        ConditionReport, DELETION_BLOCKED, DELETION_OVERDUE, Deadline, LiveObject, ObjectState,
        names::DELETION_DEADLINE,
    },
    protection,
    reasons::DeletionReason,
    rule::Rule,
};

/// So long without movement, a deletion is blocked.
const STALL: Duration = Duration::from_secs(10);

/// Why the composite resource is not deleted.
#[derive(Debug, PartialEq)]
pub(super) struct Hold {
    pub reason: DeletionReason,
    pub message: String,
}

/// What keeps the claim from deleting its composite resource now; `None`: nothing, or it is being deleted.
pub(super) fn hold(of: &Facts) -> Option<Hold> {
    // Stored, so that a restart does not say another time.
    let since = of.snapshot.claim.deletion_time()?;
    let since = format!("claim is being deleted since {since}");
    if let Some(failed) = &of.memory.failed_secret_deletion {
        return Some(Hold {
            reason: DeletionReason::Forbidden,
            message: format!("{} (the {since})", failed.message),
        });
    }
    let (kind, name) = (&of.snapshot.terms.kind, &of.snapshot.name);
    let see = format!("See: kubectl get {kind} {name} -o yaml");
    if let ObjectState::Unknown(why) = &of.snapshot.xr {
        return Some(Hold {
            reason: DeletionReason::Unreachable,
            message: format!("composite resource {name:?}, whose {since}, cannot be read: {why}. {see}"),
        });
    }
    let xr = of.ours().filter(|xr| !xr.is_deleting())?;
    let subject = format!("composite resource {name:?} (uid {}), whose {since},", xr.uid());
    if let Some(why) = rules::unlisted(of) {
        return Some(Hold {
            reason: DeletionReason::Unreachable,
            message: format!("{subject} is not deleted, as {}", protection::unlisted(why)),
        });
    }
    if let Some(by) = &of.snapshot.in_use {
        return Some(Hold {
            reason: DeletionReason::InUse,
            message: format!("{subject} is in use by {by}. Delete what uses it, or its usage. {see}"),
        });
    }
    let failed = of.memory.failed_deletion.as_ref();
    let failed = failed.filter(|failed| !failed.is_conflict)?;
    // Its guard heeds the label, and says how to take it off.
    let reason = if xr.label(names::IN_USE) == Some("true") {
        DeletionReason::InUse
    } else {
        DeletionReason::Forbidden
    };
    Some(Hold {
        reason,
        message: format!("{subject} is not deleted: {}. {see}", failed.message),
    })
}

/// When what holds it has stood for long enough to be named; `None`: nothing holds it.
pub(super) fn stalls(of: &Facts) -> Option<Timestamp> {
    let (_, since) = of.memory.hold.as_ref()?;
    Some(*since + STALL)
}

/// When the deletion is expected to end; `None`: it has not begun, or what holds it up is the composite resource's to say.
pub(super) fn deadline(of: &Facts) -> Option<Deadline> {
    let claim = &of.snapshot.claim;
    let since = claim.deletion_time().filter(|_| hold(of).is_some())?;
    let own = claim.annotation(DELETION_DEADLINE);
    Some(Deadline::new(since, own, of.snapshot.settings.deletion_deadline))
}

/// `DeletionOverdue`, as far as it is the claim's own to say; `None`: as it was, or as the composite resource has it.
pub(super) fn overdue(of: &Facts) -> Option<ConditionReport> {
    let stored = of.snapshot.claim.condition(DELETION_OVERDUE);
    let was_overdue = stored.is_some_and(|stored| stored["status"] == "True");
    let has_own = of
        .ours()
        .is_some_and(|xr| condition(xr, DELETION_OVERDUE).is_some());
    let is_going = of.ours().is_some_and(LiveObject::is_deleting);
    let is_unreachable = || hold(of).is_some_and(|hold| hold.reason == DeletionReason::Unreachable);
    let exceeded = deadline(of).map(|deadline| deadline.exceeded(of.snapshot.now));
    let is_no_more = match &exceeded {
        Some(Some(_)) => false,
        // What its composite resource said of it may still be so.
        Some(None) => !is_unreachable(),
        // Its composite resource goes, and has a deadline of its own.
        None => is_going && !has_own,
    };
    let no_more = || ConditionReport::no(DeletionReason::DeadlineExtended, "");
    exceeded
        .flatten()
        .or_else(|| (was_overdue && is_no_more).then(no_more))
}

/// `DeletionBlocked`, as far as it is the claim's own to say; `None`: as it was, or as the composite resource has it.
pub(super) fn report(of: &Facts) -> Option<ConditionReport> {
    if Rule::BlockerIsNamed.is_off() {
        return None;
    }
    let stored = of.snapshot.claim.condition(DELETION_BLOCKED);
    let stored = stored.filter(|stored| stored["status"] == "True");
    let has_own = of
        .ours()
        .is_some_and(|xr| condition(xr, DELETION_BLOCKED).is_some());
    let hold = hold(of);
    let has_stalled = stalls(of).is_some_and(|at| of.snapshot.now >= at);
    match (hold, stored) {
        // After a restart, what was said stands.
        (Some(hold), stored)
            if has_stalled || stored.is_some_and(|stored| stored["reason"] == hold.reason.as_str()) =>
        {
            Some(ConditionReport {
                value: true,
                reason: hold.reason.into(),
                message: hold.message,
            })
        }
        // For a moment nothing is known.
        (Some(hold), _) if hold.reason == DeletionReason::Unreachable => None,
        (_, Some(_)) if !has_own => Some(ConditionReport::no(DeletionReason::Moving, "")),
        _ => None,
    }
}
