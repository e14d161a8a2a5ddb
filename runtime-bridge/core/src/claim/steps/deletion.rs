//! The end of a claim: it stays until its composite resource is gone.

use std::time::Duration;

use super::super::{
    blocked,
    decision::{Action, CompositeDeletion},
    facts::Facts,
    outcome::{Flow, NEXT, act, earliest, rest, write_status},
    rules,
    standing::Standing,
};
use crate::{
    composite::{ObjectState, SecretName, reports_deletion},
    rule::Rule,
};

/// What is not known, or not watched, is looked at again after this.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Usages are read within a moment.
const USAGES_AGAIN: Duration = Duration::from_millis(250);

fn is_deleting(of: &Facts) -> bool {
    of.snapshot.claim.is_deleting()
}

pub(in super::super) fn rest_without_finalizer(of: &Facts) -> Flow {
    if is_deleting(of) && !of.snapshot.claim.has_finalizer() {
        return rest(None);
    }
    NEXT
}

/// Nothing is deleted before everybody can see why.
pub(in super::super) fn report(of: &Facts) -> Flow {
    if !is_deleting(of) {
        return NEXT;
    }
    let is_refused = of.memory.refused_report.held_until(of.snapshot.now).is_some();
    if reports_deletion(&of.snapshot.claim.object) || is_refused || Rule::ClaimDeletionIsSeenFirst.is_off() {
        return NEXT;
    }
    write_status(of, Standing::of(of))
}

/// The cache may show a claim that is gone, whose successor has its composite resource.
pub(in super::super) fn delete(of: &Facts) -> Flow {
    let held = |at| of.snapshot.now < at;
    let failed = of.memory.failed_deletion.as_ref();
    if !is_deleting(of) || !rules::may_delete(of) || failed.is_some_and(|failed| held(failed.retry_at)) {
        return NEXT;
    }
    let Some(xr) = of.xr else { return NEXT };
    if !rules::is_verified(of) {
        return act(Action::VerifyResourceVersion);
    }
    act(Action::Delete(CompositeDeletion {
        name: of.snapshot.name.clone(),
        uid: xr.uid().to_owned(),
        resource_version: xr.resource_version().to_owned(),
    }))
}

pub(in super::super) fn confirm_absence(of: &Facts) -> Flow {
    let is_held = of.memory.failed_read.is_some_and(|until| of.snapshot.now < until);
    let may_look = match &of.snapshot.xr {
        ObjectState::Absent => true,
        ObjectState::Exists(_) => of.ours().is_none(),
        ObjectState::KindGone | ObjectState::Unknown(_) => false,
    };
    let is_late = rules::creates_end(of).is_some_and(|end| of.snapshot.now < end);
    if !is_deleting(of) || !may_look || is_held || is_late || rules::is_gone_for_good(of) {
        return NEXT;
    }
    act(Action::Observe(of.snapshot.name.clone()))
}

/// Just before the claim: no garbage collector is needed.
pub(in super::super) fn delete_secret(of: &Facts) -> Flow {
    let failed = of.memory.failed_secret_deletion.as_ref();
    match due_secret(of) {
        Some(secret) if failed.is_none_or(|failed| failed.retry_at <= of.snapshot.now) => {
            act(Action::DeleteSecret(secret))
        }
        _ => NEXT,
    }
}

/// The connection Secret that is still to be deleted, once nothing else is left.
fn due_secret(of: &Facts) -> Option<SecretName> {
    let claim = &of.snapshot.claim;
    let name = claim.spec()["writeConnectionSecretToRef"]["name"].as_str();
    let name = name.filter(|name| !name.is_empty())?;
    let is_due = is_over(of) && !of.memory.secret_deleted;
    is_due.then(|| SecretName {
        namespace: claim.namespace().to_owned(),
        name: name.to_owned(),
    })
}

/// Nothing of it is left to wait for.
fn is_over(of: &Facts) -> bool {
    is_deleting(of) && (rules::is_gone_for_good(of) || vanishes(of) || Rule::ClaimOutlivesComposite.is_off())
}

/// The deletion of its composite resource was accepted, and what remains is not waited for. What a cache shows of that may be a former one of the name,
/// and nobody collects what a claim leaves: after a restart it is waited for.
fn vanishes(of: &Facts) -> bool {
    of.snapshot.settings.vanishing_parents
        && !of.snapshot.claim.deletes_in_foreground()
        && of
            .ours()
            .is_some_and(|xr| of.memory.deleted.as_deref() == Some(xr.uid()))
}

pub(in super::super) fn remove_finalizer(of: &Facts) -> Flow {
    if !is_over(of) || due_secret(of).is_some() {
        return NEXT;
    }
    act(Action::RemoveFinalizer)
}

pub(in super::super) fn wait(of: &Facts) -> Flow {
    if !is_deleting(of) {
        return NEXT;
    }
    let now = of.snapshot.now;
    let standing = Standing::of(of);
    let report_at = standing.is_progress(of).then(|| {
        let since = of.memory.news_since?;
        Some(since + of.snapshot.settings.progress)
    });
    let report_at = report_at.flatten().filter(|at| *at > now);
    let refused = of.memory.refused_report.held_until(now);
    if report_at.is_none() && refused.is_none() {
        match write_status(of, standing) {
            NEXT => {}
            written => return written,
        }
    }
    // Of what the claim does not name nobody tells it; a usage that has not marked the composite resource yet goes without a trace there.
    let is_unseen = of.unknown().is_some()
        || of.snapshot.is_unwatched
        || !rules::is_named(of)
        || of.snapshot.in_use.is_some();
    let unseen = is_unseen.then(|| now + LOOK_AGAIN);
    let stalls = blocked::stalls(of);
    // Of what is being deleted already no usage matters any more.
    let is_kept = of.ours().is_some_and(|xr| !xr.is_deleting());
    let usages = of.snapshot.unknown_usages.as_ref().filter(|_| is_kept);
    let usages = usages.map(|_| {
        // What takes longer is reported, and no matter of a moment.
        let is_reported = stalls.is_some_and(|at| at <= now);
        now + if is_reported { LOOK_AGAIN } else { USAGES_AGAIN }
    });
    let ends = of.ours().is_none().then(|| rules::creates_end(of)).flatten();
    let failed = of.memory.failed_deletion.as_ref().map(|failed| failed.retry_at);
    let secret = of.memory.failed_secret_deletion.as_ref();
    let secret = secret.map(|failed| failed.retry_at);
    let deadline = blocked::deadline(of).map(|deadline| deadline.end());
    let times = [
        refused,
        deadline,
        ends,
        failed,
        secret,
        of.memory.failed_read,
        report_at,
        unseen,
        of.patience(),
        stalls,
        usages,
    ];
    rest(earliest(times.map(|at| at.filter(|at| *at > now))))
}
