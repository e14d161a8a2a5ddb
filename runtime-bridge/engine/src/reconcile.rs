//! What the engine asks of whoever reconciles a kind.

use std::time::Duration;

use async_trait::async_trait;
use bridge_core::queue::{Priority, Wake};
use jiff::Timestamp;
use serde_json::Value;

use crate::{
    object::{Key, Object},
    store::Change,
};

/// Brings objects of one kind to what they should be. One object is never reconciled twice at once.
///
/// The future may be dropped at its deadline: whatever must not be lost is handed to a task of its own before.
#[async_trait]
pub trait Reconcile: Send + Sync + 'static {
    /// One pass over one object. It may be gone: then forget it and answer [`Next::idle`].
    async fn reconcile(&self, key: &Key, pass: ReconcileRequest) -> Next;

    /// The first turn of an object that was there when its watch began: what changed while nobody looked is urgent, and a poll
    /// goes on where it stood.
    fn initial_schedule(&self, _object: &Object, now: Timestamp) -> Wake {
        Wake {
            at: now,
            priority: Priority::InitialList,
        }
    }

    /// How urgent a change of an object is to itself, unless the first list shows it or its own reconcile made it; `None`: not its turn. Changes
    /// of the status alone are not, without another rule, unless nothing was done while it could not be read. Called where changes come in: it must be quick.
    fn wake_priority(&self, change: &Change) -> Option<Priority> {
        (change.beyond_status() || change.reveals_status()).then_some(Priority::UserChange)
    }

    /// How long an honest pass may take, where that is longer than what is granted to all.
    fn longest_pass(&self) -> Duration {
        Duration::ZERO
    }

    /// Whether a user has defined the type of its objects.
    fn is_of_a_users_type(&self) -> bool {
        false
    }

    /// An object is gone, and has no pass coming: what [`Reconcile::resume`] noted of it is to be forgotten.
    fn forget(&self, _object: &Object) {}

    /// The kind is served no more: passes that run begin nothing new. Does no I/O, and waits for nothing.
    fn stop(&self) {}

    /// What is known of an object beside what is stored, for people.
    fn report(&self, _object: &Object) -> Option<Value> {
        None
    }

    /// Which account an object belongs to, before any pass has said so.
    fn flow(&self, _object: &Object) -> String {
        String::new()
    }
}

/// Why and until when a pass runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReconcileRequest {
    /// The most urgent reason for it.
    pub priority: Priority,
    /// When it began.
    pub started: Timestamp,
    /// When its future is dropped.
    pub deadline: Timestamp,
    /// Passes of this object that panicked or ran out of time, one after the other, just before this one.
    pub consecutive_failures: u32,
}

/// What comes after a pass.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Next {
    /// When to come back even if nothing changes; `None`: only when something changes.
    pub wake: Option<Wake>,
    /// No earlier than this, whatever changes: a back-off that events do not defeat, of an hour at most. It ends with the object, as another one of
    /// its name has not failed. `None`: a change may come first.
    pub not_before: Option<Timestamp>,
    /// The account that it turned out to belong to; `None`: as before.
    pub flow: Option<String>,
    /// No pass took place, as a former one has not ended: it says nothing of how that one fares.
    pub busy: bool,
}

impl Next {
    /// Wait for a change.
    pub fn idle() -> Self {
        Self::default()
    }

    /// Come back at `at`.
    pub fn at(at: Timestamp, priority: Priority) -> Self {
        Self {
            wake: Some(Wake { at, priority }),
            ..Self::default()
        }
    }

    /// A former pass has not ended: come back at `at`.
    pub fn busy(at: Timestamp, priority: Priority) -> Self {
        Self {
            busy: true,
            ..Self::at(at, priority)
        }
    }

    /// Not before `until`, whatever changes.
    #[must_use]
    pub fn not_before(mut self, until: Timestamp) -> Self {
        self.not_before = Some(until);
        self
    }

    /// In this account from now on.
    #[must_use]
    pub fn in_flow(mut self, flow: impl Into<String>) -> Self {
        self.flow = Some(flow.into());
        self
    }
}
