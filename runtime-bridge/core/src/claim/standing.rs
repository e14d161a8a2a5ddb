//! How a claim stands: what its status says once all that can be done is done.

use super::{
    Bond,
    bind::disputed,
    blocked,
    facts::Facts,
    memory::FailedWrite,
    rules,
    status::{Report, Shown},
};
use crate::{
    composite::{ConditionReport, DELETION_BLOCKED, DISPUTED, ObjectState, READY, SYNCED, deleting_since},
    managed::Event,
    reasons::{ClaimEvent, ConditionReason},
};

/// As Crossplane says it.
const WAITING: &str = "Claim is waiting for composite resource to become Ready";
const PAUSED: &str = "Reconciliation (including deletion) is paused via the pause annotation";

/// What the status is to say, and the events that go with it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Standing {
    pub report: Report,
    pub events: Vec<Event>,
}

impl Standing {
    pub fn of(of: &Facts) -> Self {
        let claim = &of.snapshot.claim;
        if claim.is_paused() {
            return Self::paused();
        }
        if claim.is_deleting() {
            return Self::deleting(of);
        }
        match problem(of) {
            Some((event, message)) => Self::failed(of, event, &message),
            None => Self::bound(of),
        }
    }

    fn paused() -> Self {
        let message = "Reconciliation is paused via the pause annotation";
        Self {
            report: Report {
                synced: Some(ConditionReport::no(ConditionReason::ReconcilePaused, PAUSED)),
                ..Report::default()
            },
            events: vec![Event::normal(ClaimEvent::ReconciliationPaused, message)],
        }
    }

    fn deleting(of: &Facts) -> Self {
        let mut events = Vec::new();
        let failed = of
            .memory
            .failed_deletion
            .as_ref()
            .filter(|failed| !failed.is_conflict);
        let secret = of.memory.failed_secret_deletion.as_ref();
        let message = match (failed, of.unknown()) {
            _ if secret.is_some() => secret.map(|failed| failed.message.clone()),
            (Some(failed), _) => Some(format!(
                "cannot delete bound composite resource: {}",
                failed.message
            )),
            (None, Some(why)) if of.patience().is_none() => Some(format!("{CANNOT_GET}: {why}")),
            _ => None,
        };
        let synced = match message {
            Some(message) => {
                events.push(Event::warning(ClaimEvent::DeleteCompositeResource, &message));
                ConditionReport::no(ConditionReason::ReconcileError, message)
            }
            None => ConditionReport::yes(ConditionReason::ReconcileSuccess),
        };
        let blocked = blocked::report(of);
        if let Some(blocked) = blocked.as_ref().filter(|blocked| blocked.value && synced.value) {
            events.push(Event::warning(
                ClaimEvent::DeleteCompositeResource,
                &blocked.message,
            ));
        }
        let overdue = blocked::overdue(of);
        if let Some(overdue) = overdue.as_ref().filter(|overdue| overdue.value) {
            events.push(Event::warning(
                ClaimEvent::DeleteCompositeResource,
                &overdue.message,
            ));
        }
        Self {
            report: Report {
                synced: Some(synced),
                ready: Some(ConditionReport::no(ConditionReason::Deleting, waits_for(of))),
                blocked,
                overdue,
                shown: Shown::Deletion,
            },
            events,
        }
    }

    /// It is not, or not wholly, in step with its composite resource.
    fn failed(of: &Facts, event: ClaimEvent, message: &str) -> Self {
        Self {
            report: Report {
                synced: Some(ConditionReport::no(ConditionReason::ReconcileError, message)),
                ready: of.snapshot.claim.condition(READY).is_none().then(waiting),
                blocked: None,
                overdue: None,
                shown: Shown::Whole,
            },
            events: vec![Event::warning(event, message)],
        }
    }

    fn bound(of: &Facts) -> Self {
        let mut events = Vec::new();
        if of.ours().is_some() {
            let message = "Successfully bound composite resource";
            events.push(Event::normal(ClaimEvent::BindCompositeResource, message));
        }
        let ready = if of.is_ready() {
            ConditionReport::yes(ConditionReason::Available)
        } else {
            let message = "Composite resource is not yet ready";
            events.push(Event::normal(ClaimEvent::BindCompositeResource, message));
            let going = of.xr.filter(|xr| xr.is_deleting());
            match (going, of.error()) {
                (Some(_), _) => ConditionReport::no(ConditionReason::Waiting, being_deleted(of)),
                // Its error is the claim's message, bit for bit.
                (None, Some(error)) => ConditionReport::no(ConditionReason::Waiting, error),
                (None, None) => waiting(),
            }
        };
        Self {
            report: Report {
                synced: Some(ConditionReport::yes(ConditionReason::ReconcileSuccess)),
                ready: Some(ready),
                blocked: None,
                overdue: None,
                shown: Shown::Whole,
            },
            events,
        }
    }

    /// Neither an error nor another readiness: it may wait for more of its kind.
    pub fn is_progress(&self, of: &Facts) -> bool {
        let stored = |type_: &str, field: &str| Some(of.snapshot.claim.condition(type_)?[field].clone());
        let is_fine = self.report.synced.as_ref().is_some_and(|synced| synced.value)
            && stored(SYNCED, "status").is_none_or(|status| status == "True");
        let Some(ready) = &self.report.ready else {
            return false;
        };
        let message = stored(READY, "message");
        let waits = ready.reason == ConditionReason::Waiting.into();
        let repeats =
            || ready.message == WAITING || message.is_some_and(|message| message == ready.message.as_str());
        let says_more = ready.reason == ConditionReason::Deleting.into() || (waits && repeats());
        let is_first = waits && stored(READY, "reason").is_none();
        let goes_on = stored(READY, "reason").is_some_and(|reason| reason == ready.reason.as_str());
        let is_blocked_anew = self.report.blocked.as_ref().is_some_and(|blocked| {
            let reason = stored(DELETION_BLOCKED, "reason");
            blocked.value && reason.is_none_or(|reason| reason != blocked.reason.as_str())
        });
        is_fine && !is_blocked_anew && says_more && (is_first || goes_on)
    }
}

/// What is waited for once the composite resource is gone.
fn late_create(of: &Facts) -> Option<String> {
    let end = rules::creates_end(of).filter(|end| of.ours().is_none() && of.snapshot.now < *end)?;
    Some(format!(
        "composite resource {:?} is gone; until {} a create of it that was sent before may still take effect",
        of.snapshot.name,
        end.strftime("%Y-%m-%dT%H:%M:%SZ")
    ))
}

/// What a claim that is being deleted waits for, and since when it does. The composite resource says both of itself.
fn waits_for(of: &Facts) -> String {
    if let Some(removal) = of.removal() {
        return removal.to_owned();
    }
    let is_kept = of.ours().is_some_and(|xr| !xr.is_deleting());
    let waits_for = match &of.snapshot.in_use {
        Some(by) if is_kept => format!("composite resource {:?} is in use by {by}", of.snapshot.name),
        _ => of
            .error()
            .map_or_else(|| late_create(of).unwrap_or_default(), ToOwned::to_owned),
    };
    deleting_since(waits_for, of.snapshot.claim.deletion_time())
}

const CANNOT_GET: &str = "cannot get bound composite resource";
const CANNOT_BIND: &str = "cannot bind and sync claim with composite resource";
const CANNOT_PROPAGATE: &str = "cannot propagate connection details from composite resource";

fn waiting() -> ConditionReport {
    ConditionReport::no(ConditionReason::Waiting, WAITING)
}

fn being_deleted(of: &Facts) -> String {
    format!(
        "composite resource {:?} is being deleted, and is created anew when it is gone",
        of.snapshot.name
    )
}

/// What keeps the claim from its composite resource, and is not the composite resource's own matter.
fn problem(of: &Facts) -> Option<(ClaimEvent, String)> {
    if let Some(message) = refusal(of) {
        return Some((ClaimEvent::BindCompositeResource, message));
    }
    let terms = &of.snapshot.terms;
    match &of.snapshot.xr {
        ObjectState::Unknown(why) => {
            return Some((ClaimEvent::BindCompositeResource, format!("{CANNOT_GET}: {why}")));
        }
        ObjectState::KindGone => {
            let message = format!(
                "{CANNOT_GET}: the cluster does not serve {} in {}",
                terms.kind.kind(),
                terms.api_version()
            );
            return Some((ClaimEvent::BindCompositeResource, message));
        }
        ObjectState::Exists(_) | ObjectState::Absent => {}
    }
    if let Some((_, refused)) = &of.memory.refused_write {
        let message = format!("{CANNOT_BIND}: cannot update the claim: {}", refused.message);
        return Some((ClaimEvent::BindCompositeResource, message));
    }
    let message_of = |failed: Option<&FailedWrite>| {
        let failed = failed.filter(|failed| !failed.is_conflict)?;
        Some(failed.message.clone())
    };
    if let Some(message) = message_of(of.memory.failed.as_ref()) {
        return Some((
            ClaimEvent::BindCompositeResource,
            format!("{CANNOT_BIND}: {message}"),
        ));
    }
    if disputed(of).is_some() {
        let message = format!(
            "{CANNOT_BIND}: composite resource {:?} {DISPUTED}",
            of.snapshot.name
        );
        return Some((ClaimEvent::BindCompositeResource, message));
    }
    let secret = of.memory.failed_secret.as_ref().map(|(_, failed)| failed);
    let secret = message_of(secret).filter(|_| of.due_secret().is_some())?;
    Some((
        ClaimEvent::PropagateConnectionSecret,
        format!("{CANNOT_PROPAGATE}: {secret}"),
    ))
}

/// Why the composite resource is left alone.
pub(super) fn refusal(of: &Facts) -> Option<String> {
    let (claim, name) = (&of.snapshot.claim, &of.snapshot.name);
    let is_named = claim.composite() == Some(name);
    match (&of.bond, of.xr) {
        (Some(Bond::Others(other)), _) if is_named => Some(format!(
            "refusing to operate on composite resource {name:?} that is not bound to this claim: bound to claim {other:?}"
        )),
        (Some(Bond::Others(_)), _) => Some(format!("{CANNOT_BIND}: cannot generate a name for a resource")),
        (Some(Bond::None), Some(_)) if !is_named => {
            Some(format!("{CANNOT_BIND}: cannot generate a name for a resource"))
        }
        // What composes it would take off what the claim sets, without end.
        (Some(Bond::None), Some(xr)) if xr.controller().is_some() => Some(format!(
            "{CANNOT_BIND}: composite resource {name:?} is controlled by {}",
            xr.controller_name()
        )),
        _ => None,
    }
}
