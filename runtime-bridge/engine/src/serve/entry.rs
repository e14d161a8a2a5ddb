//! One kind in the registry: when its definition is to be inspected.

use std::{sync::Arc, time::Duration};

use bridge_core::back_off::policies;
use tokio::time::Instant;

use super::{DesiredKind, Served};
use crate::{
    api_error::ApiError,
    crd::{CrdError, write_pace::WritePace},
};

/// Between two inspections of a definition that was deleted, or that the watch does not show yet.
const INSPECT_AGAIN: Duration = Duration::from_secs(15);

/// Until notes that could not be written are tried again.
const NOTE_AGAIN: Duration = Duration::from_mins(5);

/// So long a definition may take to be established without anything being wrong: an API server with replicas waits five seconds on purpose.
const PATIENCE: Duration = Duration::from_secs(15);

/// What its definition was found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// Not good, or it was not inspected yet: it is inspected as soon as it changes.
    Bad,
    /// It is to be written, but not yet.
    Paused,
    /// There was none, though the watch showed one: it was deleted.
    Missing,
    /// Good at this version.
    Good(u64),
}

/// A kind that was accepted.
pub(super) struct Entry {
    pub(super) kind: Arc<DesiredKind>,
    /// Once started it stays, whatever becomes of its definition: its watch follows that by itself.
    pub(super) served: Option<Served>,
    /// Its definition was good once, and was not deleted since.
    pub(super) is_standing: bool,
    /// The plugin that its definition in the cluster belongs to, if that is another one.
    pub(super) other_owner: Option<String>,
    /// Its definition is inspected now.
    inspecting: bool,
    /// When to inspect it next; `None`: when something changes.
    next: Option<Instant>,
    /// It is to be inspected for who leads: nothing that is found or shown meanwhile makes that needless.
    recheck: bool,
    found: Found,
    /// Version that the watch of definitions has shown last.
    shown: Option<u64>,
    /// Inspections in a row that failed.
    failures: u32,
    /// Since when it was found on its way; `None`: it was found otherwise last.
    pending_since: Option<Instant>,
    writes: WritePace,
}

impl Entry {
    pub(super) fn new(kind: Arc<DesiredKind>, now: Instant) -> Self {
        Self {
            kind,
            served: None,
            is_standing: false,
            other_owner: None,
            inspecting: false,
            next: Some(now),
            recheck: false,
            found: Found::Bad,
            shown: None,
            failures: 0,
            pending_since: None,
            writes: WritePace::default(),
        }
    }

    /// When to inspect it next; `None`: when something changes, or it is inspected now.
    pub(super) fn due(&self) -> Option<Instant> {
        self.next.filter(|_| !self.inspecting)
    }

    /// This process has begun to lead: it is to be inspected, whatever was found.
    pub(super) fn recheck(&mut self, now: Instant) {
        self.recheck = true;
        self.next = Some(now);
    }

    /// When it may be written next: there is a pause after each write.
    pub(super) fn may_write_at(&self, now: Instant) -> Instant {
        self.writes.may_write_at(now)
    }

    /// Whether it may be created where an inspection finds none. The API server notes on a definition what becomes of its objects until the moment
    /// that it is gone, and each such note is inspected: who deletes one, to create it otherwise, would often find ours instead.
    pub(super) fn may_create(&self) -> bool {
        self.shown.is_none() || self.found == Found::Missing
    }

    /// Not later than this.
    fn inspect_by(&mut self, at: Instant) {
        self.next = Some(self.next.map_or(at, |next| next.min(at)));
    }

    /// The watch of definitions shows it at this version, or not at all. `true`: it was deleted.
    pub(super) fn shows(&mut self, version: Option<u64>, now: Instant) -> bool {
        if version == self.shown {
            return false;
        }
        self.shown = version;
        match (version, self.found) {
            // What was found is what the watch shows: there is nothing to wait for.
            (Some(version), Found::Good(good)) if version <= good => {
                self.next = self.next.filter(|_| self.recheck);
            }
            (Some(_), Found::Bad | Found::Missing) => {
                self.found = Found::Bad;
                self.inspect_by(now);
            }
            (Some(_), Found::Good(_) | Found::Paused) => self.inspect_by(self.may_write_at(now)),
            (None, _) => {
                (self.found, self.is_standing, self.pending_since) = (Found::Bad, false, None);
                if !self.recheck {
                    self.next = Some(now + INSPECT_AGAIN);
                }
            }
        }
        version.is_none()
    }

    /// An inspection begins.
    pub(super) fn begin(&mut self) {
        self.inspecting = true;
        (self.next, self.recheck) = (None, false);
    }

    /// An inspection ended, which has `written` the definition, or may have.
    fn end(&mut self, written: bool, now: Instant) {
        self.inspecting = false;
        if written {
            self.writes.written(now);
        }
    }

    /// It was found good at this version. `lacks_notes`: but for what is noted on it.
    pub(super) fn found_good(&mut self, version: u64, written: bool, lacks_notes: bool, now: Instant) {
        self.end(written, now);
        (self.found, self.is_standing, self.failures) = (Found::Good(version), true, 0);
        self.other_owner = None;
        self.pending_since = None;
        if !self.recheck {
            self.next = match self.shown {
                Some(shown) if shown > version => Some(self.may_write_at(now)),
                Some(shown) if shown == version => None,
                // It may be deleted before the watch shows it, which nothing would tell.
                _ => Some(now + INSPECT_AGAIN),
            };
        }
        if lacks_notes {
            self.inspect_by(now + NOTE_AGAIN);
        }
    }

    /// It is not as it should be, or that is not known. `is_followed`: the watch of definitions shows each change. `random`: from 0 to 1.
    pub(super) fn found_bad(
        &mut self,
        error: &CrdError,
        written: bool,
        is_followed: bool,
        random: f64,
        now: Instant,
    ) {
        self.end(written, now);
        self.found = Found::Bad;
        self.pending_since = is_passing(error).then(|| self.pending_since.unwrap_or(now));
        self.other_owner = match error {
            CrdError::OtherPlugin { owner, .. } => Some(owner.clone()),
            _ => None,
        };
        match error {
            CrdError::Paused { .. } => {
                self.found = Found::Paused;
                self.inspect_by(self.may_write_at(now));
            }
            CrdError::Deleted { .. } => {
                (self.found, self.is_standing) = (Found::Missing, false);
                self.inspect_by(now + INSPECT_AGAIN);
            }
            // It is the leader's to change, which the watch shows.
            CrdError::NotLeader { .. } if is_followed => {}
            _ => {
                self.failures = self.failures.saturating_add(1);
                self.inspect_by(now + policies::INSPECTION.wait(self.failures, random));
                // To say in time that it lasts.
                if let Some(since) = self.pending_since.filter(|_| self.is_pending(now)) {
                    self.inspect_by(since + PATIENCE);
                }
            }
        }
    }

    /// What was found last is what every start goes through, and has not lasted.
    pub(super) fn is_pending(&self, now: Instant) -> bool {
        self.pending_since.is_some_and(|since| now < since + PATIENCE)
    }
}

/// It resolves itself within a moment, if nothing else is wrong.
fn is_passing(error: &CrdError) -> bool {
    matches!(
        error,
        CrdError::NotEstablished { .. }
            | CrdError::Api {
                source: ApiError::Conflict(_) | ApiError::AlreadyExists(_),
                ..
            }
    )
}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
