//! Takes in what came of an action.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use super::{
    decision::Action,
    facts::{Facts, Fate},
    memory::{FailedWrite, UsageMemory},
    snapshot::{ControllerState, Snapshot, Subject},
    standing::Standing,
    usage::Side,
};
use crate::{
    back_off::policies,
    composite::{ObjectState, WriteFailure, WriteFailureKind, status_differs},
    driver::{ApiFailure, ApiFailureKind, Follow, Moment},
    managed::Event,
    reasons::UsageEvent,
};

/// What could not be read is read again after this.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// The store shows within this time what a read has found.
const SHOWN_SOON: Duration = Duration::from_millis(500);

/// What came of an [`Action`].
#[derive(Debug, Clone)]
pub enum Performed {
    /// Of [`Action::Observe`]: what was read.
    Observed(ObjectState),
    /// Of [`Action::VerifyResourceVersion`] and [`Action::Write`]: the `resourceVersion` that stands now.
    Version(String),
    /// Of [`Action::Mark`] and [`Action::Replay`].
    Written(Result<(), WriteFailure>),
    /// Of [`Action::WriteStatus`].
    StatusWritten {
        /// The `resourceVersion` that stands now.
        version: String,
        /// What the API server made of it.
        stored: Value,
    },
    /// Of [`Action::RemoveFinalizer`]; true: the usage is gone.
    FinalizerRemoved(bool),
}

impl UsageMemory {
    /// Takes in what a complete snapshot shows.
    pub(super) fn completed(&mut self, snapshot: &Snapshot) {
        let is_unlisted = snapshot.unknown_usages.is_some();
        self.unlisted_since = is_unlisted.then(|| self.unlisted_since.unwrap_or(snapshot.now));
        let standing = Standing::of(&Facts::new(snapshot, self));
        let is_unready = standing.ready.is_some_and(|ready| !ready.value);
        self.unready_since = is_unready.then(|| self.unready_since.unwrap_or(snapshot.now));
    }

    /// The API server refuses a write of the usage until a person changes something.
    pub(super) fn refused(&mut self, action: &Action, failure: &ApiFailure) {
        if failure.kind != ApiFailureKind::Rejected {
            return;
        }
        let reason = match action {
            Action::RemoveFinalizer => UsageEvent::RemoveFinalizer,
            _ => UsageEvent::AddFinalizer,
        };
        let message = format!("cannot {action}: {}", failure.message);
        self.report(&Event::warning(reason, &message));
    }

    fn failed(&mut self, failure: &WriteFailure, moment: &Moment) {
        let failures = self
            .failed
            .as_ref()
            .map_or(0, |former| former.failures)
            .saturating_add(1);
        let policy = match failure.kind {
            WriteFailureKind::Conflict => policies::API_CONFLICT,
            WriteFailureKind::Rejected => policies::API_REJECTED,
            WriteFailureKind::AlreadyExists | WriteFailureKind::NotDone | WriteFailureKind::Unknown => {
                policies::API
            }
        };
        self.failed = Some(FailedWrite {
            message: failure.message.clone(),
            is_conflict: failure.kind == WriteFailureKind::Conflict,
            failures,
            retry_at: moment.now + policy.wait(failures, moment.jitter),
        });
    }
}

/// Takes in what came of an action.
pub(super) fn record<A>(
    memory: &mut UsageMemory,
    snapshot: &Snapshot,
    action: &Action,
    performed: Performed,
    began: Timestamp,
    moment: &Moment,
) -> Follow<A> {
    match (action, performed) {
        (Action::Observe(subject), Performed::Observed(state)) => {
            memory.failed_read = None;
            if let ObjectState::Unknown(why) = state {
                memory.failed_read = Some((moment.now + ASK_AGAIN, why));
            } else {
                observed(memory, snapshot, *subject, &state, began, moment);
            }
        }
        (Action::VerifyResourceVersion, Performed::Version(version)) => {
            memory.verified = Some(version);
            memory.failed_writes = 0;
        }
        (Action::Write(write), Performed::Version(version)) => {
            memory.verified = Some(version);
            memory.failed_writes = 0;
            memory.last_write = Some((**write).clone());
        }
        (Action::Mark(write), Performed::Written(result)) => {
            memory.label_writes.record(snapshot.usage.uid(), write, &result);
            match result {
                Ok(()) => memory.failed = None,
                Err(failure) => memory.failed(&failure, moment),
            }
        }
        (Action::Replay(replay), Performed::Written(result)) => match result {
            Ok(()) => {
                memory.failed = None;
                let message = format!(
                    "deleted {}, as was tried while it was in use",
                    replay.reference.id(None)
                );
                memory.report(&Event::normal(UsageEvent::ReplayDeletion, &message));
            }
            Err(failure) => memory.failed(&failure, moment),
        },
        (Action::WriteStatus(write), Performed::StatusWritten { version, stored }) => {
            if memory.verified.as_deref() == Some(snapshot.usage.resource_version()) {
                memory.verified = Some(version);
            }
            memory.failed_writes = 0;
            let differs = status_differs(&write.status, &stored);
            memory.status_echo = differs.then(|| Box::new((write.status.clone(), stored)));
            memory.keep_reported(&write.events);
            for event in &write.events {
                memory.report(event);
            }
        }
        (Action::RemoveFinalizer, Performed::FinalizerRemoved(gone)) => return Follow::End(gone),
        (action, performed) => panic!("{action} does not end with {performed:?}"),
    }
    Follow::Decide
}

fn observed(
    memory: &mut UsageMemory,
    snapshot: &Snapshot,
    subject: Subject,
    state: &ObjectState,
    began: Timestamp,
    moment: &Moment,
) {
    let side = match subject {
        Subject::Controller => {
            let controller = snapshot.usage.controller();
            let uid = controller
                .and_then(|controller| controller["uid"].as_str())
                .unwrap_or_default();
            memory.controller = Some(ControllerState::of(state, uid));
            return;
        }
        Subject::Owner => {
            if matches!(state, ObjectState::Absent) {
                let used = Facts::new(snapshot, memory).used_version();
                memory.ownerless = used.map(ToOwned::to_owned);
            } else {
                let why = "the store does not show its owner yet".to_owned();
                memory.failed_read = Some((moment.now + SHOWN_SOON, why));
            }
            return;
        }
        Subject::Resource(side) => side,
    };
    let of = Facts::new(snapshot, memory);
    let was_unseen = of.fate(side) == Fate::Unseen;
    let is_shown = matches!(of.fate(side), Fate::Exists(..));
    let (uid, absent) = (of.uid(side), of.mark_of_absence(side));
    match state {
        ObjectState::Exists(object) if uid.as_deref().is_none_or(|uid| object.uid() == uid) => {
            if side == Side::Using && !object.is_deleting() {
                memory.using_lived = Some(began);
            }
            if was_unseen {
                let why = "the store does not show it yet".to_owned();
                memory.failed_read = Some((moment.now + SHOWN_SOON, why));
            }
        }
        ObjectState::Exists(_) | ObjectState::Absent => {
            // Of one that no uid names the watch is waited for.
            if is_shown && uid.is_none() {
                let why = "the store still shows it".to_owned();
                memory.failed_read = Some((moment.now + SHOWN_SOON, why));
            }
            memory.gone.extend(absent);
        }
        // It may be served again.
        ObjectState::KindGone | ObjectState::Unknown(_) => {}
    }
}
