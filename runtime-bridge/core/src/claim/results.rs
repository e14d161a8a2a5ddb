//! Takes in what came of an action.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::{
    Bond, ClaimMemory, Snapshot,
    bind::{body, is_in_step},
    blocked,
    decision::{Action, ClaimWrite},
    facts::Facts,
    memory::{FailedWrite, PropagatedSecret},
    secret_refs::SecretVersions,
    standing::Standing,
    write::claim_write,
};
use crate::{
    back_off::policies,
    composite::{
        BodyDigest, LiveObject, ObjectState, Reapplication, WriteFailure, WriteFailureKind, differences,
        status_differs,
    },
    driver::{ApiFailure, ApiFailureKind, Follow, Moment},
    managed::Event,
    reasons::ClaimEvent,
};

/// What could not be read is read again after this.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// What came of an [`Action`].
#[derive(Debug, Clone)]
pub enum Performed {
    /// Of [`Action::Observe`]: what was read.
    Observed(ObjectState),
    /// Of [`Action::VerifyResourceVersion`] and [`Action::Write`]: the `resourceVersion` that stands now.
    Version(String),
    /// Of [`Action::Write`]: the API server refuses it.
    Refused(WriteFailure),
    /// Of [`Action::Create`] and [`Action::Apply`].
    Written(Result<LiveObject, WriteFailure>),
    /// Of [`Action::Propagate`].
    Propagated(Result<Propagated, PropagationFailure>),
    /// Of [`Action::Delete`]; true: it is gone.
    Deleted(Result<bool, WriteFailure>),
    /// Of [`Action::DeleteSecret`]: it is gone, or somebody else's; `Err`: the API server refuses, and why.
    SecretDeleted(Result<(), String>),
    /// Of [`Action::WriteStatus`].
    StatusWritten {
        /// The `resourceVersion` that stands now.
        version: String,
        /// What the API server made of it.
        stored: Value,
    },
    /// Of [`Action::RemoveFinalizer`]; true: the claim is gone.
    FinalizerRemoved(bool),
}

/// A connection Secret that is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Propagated {
    /// Versions of both.
    pub versions: SecretVersions,
    /// It was written.
    pub changed: bool,
}

/// Why a connection Secret was not copied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PropagationFailure {
    /// Another writer was faster.
    pub is_conflict: bool,
    /// For people.
    pub message: String,
}

impl ClaimMemory {
    /// Takes in what a complete snapshot shows.
    pub(super) fn completed(&mut self, snapshot: &Snapshot) {
        let reports = snapshot.claim.is_deleting() && !snapshot.claim.is_paused();
        self.refused_report.begin_pass(reports, snapshot.now);
        let is_unknown = matches!(snapshot.xr, ObjectState::Unknown(_) | ObjectState::KindGone);
        self.unknown_since = is_unknown.then(|| self.unknown_since.unwrap_or(snapshot.now));
        if let ObjectState::Exists(xr) = &snapshot.xr {
            self.name_taken = false;
            if Bond::of(&snapshot.claim, xr) == Bond::Ours {
                self.created = xr.created().or(self.created);
                self.named = None;
                self.looked = None;
            }
            if xr.is_deleting() {
                self.failed = None;
                self.failed_deletion = None;
            }
        } else {
            self.failed_deletion = None;
        }
        let write = claim_write(&Facts::new(snapshot, self));
        if self
            .refused_write
            .as_ref()
            .is_some_and(|(refused, _)| write.as_ref() != Some(refused))
        {
            self.refused_write = None;
        }
        let of = Facts::new(snapshot, self);
        if is_in_step(&of, &body(&of)) {
            self.failed = None;
        }
        let hold = blocked::hold(&Facts::new(snapshot, self)).map(|hold| hold.reason);
        self.hold = hold.map(|reason| match self.hold {
            Some((same, since)) if same == reason => (same, since),
            _ => (reason, snapshot.now),
        });
        let of = Facts::new(snapshot, self);
        let has_news = Standing::of(&of).report.to_write(&of).is_some();
        self.news_since = has_news.then(|| self.news_since.unwrap_or(snapshot.now));
    }

    /// An action is about to be carried out.
    pub(super) fn before(&mut self, action: &Action) {
        if let Action::Create(..) = action {
            // If its answer is lost, the next one is not the first.
            (self.looked, self.named) = (None, None);
        }
    }

    /// The API server refuses a write of the claim until a person changes something.
    pub(super) fn refused(&mut self, action: &Action, failure: &ApiFailure) {
        if failure.kind != ApiFailureKind::Rejected {
            return;
        }
        if matches!(action, Action::WriteStatus(_)) {
            self.refused_report.refuse();
            if self.refused_report.is_given_up() {
                self.failed_writes = 0;
            }
        }
        let reason = match action {
            Action::RemoveFinalizer => ClaimEvent::DeleteCompositeResource,
            _ => ClaimEvent::BindCompositeResource,
        };
        let message = format!("cannot {action}: {}", failure.message);
        self.report(&Event::warning(reason, &message));
    }
}

fn failed(
    former: Option<&FailedWrite>,
    desired: Option<BodyDigest>,
    failure: &WriteFailure,
    moment: &Moment,
) -> FailedWrite {
    let failures = former.map_or(0, |former| former.failures).saturating_add(1);
    let policy = match failure.kind {
        WriteFailureKind::Conflict => policies::API_CONFLICT,
        WriteFailureKind::Rejected => policies::API_REJECTED,
        WriteFailureKind::AlreadyExists | WriteFailureKind::NotDone | WriteFailureKind::Unknown => {
            policies::API
        }
    };
    FailedWrite {
        desired,
        message: failure.message.clone(),
        is_conflict: failure.kind == WriteFailureKind::Conflict,
        failures,
        retry_at: moment.now + policy.wait(failures, moment.jitter),
    }
}

fn not_propagated(
    memory: &mut ClaimMemory,
    snapshot: &Snapshot,
    failure: PropagationFailure,
    moment: &Moment,
) {
    let failure = WriteFailure {
        kind: if failure.is_conflict {
            WriteFailureKind::Conflict
        } else {
            WriteFailureKind::NotDone
        },
        message: failure.message,
    };
    let former = memory.failed_secret.as_ref().map(|(_, former)| former);
    let failed = failed(former, None, &failure, moment);
    memory.failed_secret = Some((snapshot.secrets, failed));
}

/// One that is refused is tried again: no garbage collector is needed.
fn secret_deleted(memory: &mut ClaimMemory, result: Result<(), String>, moment: &Moment) {
    let Err(message) = result else {
        memory.secret_deleted = true;
        memory.failed_secret_deletion = None;
        return;
    };
    let failure = WriteFailure {
        kind: WriteFailureKind::NotDone,
        message,
    };
    let former = memory.failed_secret_deletion.as_ref();
    memory.failed_secret_deletion = Some(failed(former, None, &failure, moment));
}

/// Takes in what came of an action.
pub(super) fn record<A>(
    memory: &mut ClaimMemory,
    snapshot: &Snapshot,
    action: &Action,
    performed: Performed,
    began: Timestamp,
    moment: &Moment,
) -> Follow<A> {
    match (action, performed) {
        (Action::Observe(name), Performed::Observed(state)) => {
            observed(memory, snapshot, (name, &state), began, moment);
        }
        (Action::VerifyResourceVersion, Performed::Version(version)) => {
            memory.verified = Some(version);
            memory.failed_writes = 0;
        }
        (Action::Write(write), Performed::Version(version)) => {
            claim_written(memory, snapshot, write, version);
        }
        (Action::Write(write), Performed::Refused(failure)) => {
            let former = memory.refused_write.as_ref().map(|(_, former)| former);
            let refused = failed(former, None, &failure, moment);
            memory.refused_write = Some(((**write).clone(), refused));
        }
        (Action::Create(_, body), Performed::Written(result)) => match result {
            Ok(xr) => written(memory, body.content(), &xr),
            Err(failure) if failure.kind == WriteFailureKind::AlreadyExists => memory.name_taken = true,
            Err(failure) => {
                if failure.kind == WriteFailureKind::Unknown {
                    // The end of the write, which is not earlier than it was sent.
                    memory.lost_create = Some(moment.now);
                }
                memory.failed = Some(failed(
                    memory.failed.as_ref(),
                    Some(body.digest()),
                    &failure,
                    moment,
                ));
            }
        },
        (Action::Apply(change), Performed::Written(result)) => match result {
            Ok(xr) => {
                written(memory, change.body.content(), &xr);
                let former = memory.reapplied.take().filter(|(uid, _)| uid == xr.uid());
                let former = former.map(|(_, one)| one);
                let one = Reapplication::after(former.as_ref(), change.body.digest(), moment);
                memory.reapplied = Some((xr.uid().to_owned(), one));
            }
            Err(failure) => {
                let desired = Some(change.body.digest());
                memory.failed = Some(failed(memory.failed.as_ref(), desired, &failure, moment));
            }
        },
        (Action::Propagate(refs, _), Performed::Propagated(result)) => match result {
            Ok(done) => {
                memory.failed_secret = None;
                memory.propagated = Some(PropagatedSecret {
                    refs: refs.clone(),
                    versions: done.versions,
                    at: moment.now,
                });
                if done.changed {
                    memory.published = Some(moment.now);
                    let message = "Successfully propagated connection details from composite resource";
                    let event = Event::normal(ClaimEvent::PropagateConnectionSecret, message);
                    memory.events.push(event);
                }
            }
            Err(failure) => not_propagated(memory, snapshot, failure, moment),
        },
        (Action::Delete(deletion), Performed::Deleted(result)) => match result {
            Ok(_) => {
                memory.failed_deletion = None;
                memory.deleted = Some(deletion.uid.clone());
                let message = "Successfully deleted composite resource";
                let event = Event::normal(ClaimEvent::DeleteCompositeResource, message);
                memory.events.push(event);
            }
            Err(failure) => {
                let former = memory.failed_deletion.as_ref();
                memory.failed_deletion = Some(failed(former, None, &failure, moment));
            }
        },
        (Action::WriteStatus(write), Performed::StatusWritten { version, stored }) => {
            if memory.verified.as_deref() == Some(snapshot.claim.resource_version()) {
                memory.verified = Some(version);
            }
            memory.failed_writes = 0;
            memory.refused_report.end();
            memory.news_since = None;
            memory.published = None;
            memory.copied.clone_from(&write.copied);
            let differs = status_differs(&write.status, &stored);
            memory.status_echo = differs.then(|| Box::new((write.status.clone(), stored)));
            memory.keep_reported(&write.events);
            for event in &write.events {
                memory.report(event);
            }
        }
        (Action::DeleteSecret(_), Performed::SecretDeleted(result)) => {
            secret_deleted(memory, result, moment);
        }
        (Action::RemoveFinalizer, Performed::FinalizerRemoved(gone)) => return Follow::End(gone),
        (action, performed) => panic!("{action} does not end with {performed:?}"),
    }
    Follow::Decide
}

fn claim_written(memory: &mut ClaimMemory, snapshot: &Snapshot, write: &ClaimWrite, version: String) {
    memory.verified = Some(version);
    memory.failed_writes = 0;
    let is_new = snapshot.claim.composite() != Some(snapshot.name.as_str());
    if is_new && snapshot.xr == ObjectState::Absent {
        memory.named = Some(snapshot.name.clone());
    }
    memory.refused_write = None;
    memory.events.extend(set_back(snapshot, write));
    memory.last_write = Some(write.clone());
}

/// The claim names another composite resource than the one that it has, or none any more.
fn set_back(snapshot: &Snapshot, write: &ClaimWrite) -> Option<Event> {
    let claim = &snapshot.claim;
    let name = write.spec["resourceRef"]["name"].as_str()?;
    let is_bound = matches!(&snapshot.xr, ObjectState::Exists(xr) if Bond::of(claim, xr) == Bond::Ours);
    if !is_bound || !claim.has_finalizer() || claim.composite() == Some(name) {
        return None;
    }
    let message = match claim.composite() {
        Some(other) => format!(
            "spec.resourceRef named composite resource {other:?}, but this claim is bound to {name:?}: it is set back; to bind {other:?}, create \
             another claim"
        ),
        None => format!(
            "spec.resourceRef was taken off, but this claim is bound to composite resource {name:?}: it is set back"
        ),
    };
    Some(Event::warning(ClaimEvent::BindCompositeResource, &message))
}

fn observed(
    memory: &mut ClaimMemory,
    snapshot: &Snapshot,
    (name, state): (&str, &ObjectState),
    began: Timestamp,
    moment: &Moment,
) {
    memory.failed_read = None;
    memory.name_taken = false;
    match state {
        ObjectState::Unknown(_) => memory.failed_read = Some(moment.now + ASK_AGAIN),
        ObjectState::Exists(xr) if Bond::of(&snapshot.claim, xr) == Bond::Ours => memory.looked = None,
        ObjectState::Exists(_) | ObjectState::Absent | ObjectState::KindGone => {
            memory.looked = Some((name.to_owned(), began));
        }
    }
}

fn written(memory: &mut ClaimMemory, wanted: &Value, xr: &LiveObject) {
    memory.failed = None;
    let differences = differences(wanted, xr.object());
    memory.altered = (!differences.is_empty()).then(|| (xr.uid().to_owned(), differences));
}
