//! What refuses deletes of objects in use, whoever asks: no usage is ready before it is proved.

mod keeper;
mod kept_object;
mod trial;
mod webhook;

use tokio::sync::watch;

pub use self::{
    keeper::{GuardOptions, UsageGuard},
    webhook::WebhookOptions,
};

/// Whether deletes of what is labelled as in use are refused now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardState {
    /// The API server has refused one.
    Proved,
    /// Not yet, or no longer.
    NotProved {
        /// Why, and what to do; holds nothing that changes by itself, as it is stored in conditions.
        message: String,
    },
}

/// Refuses deletes of objects in use.
pub trait Guard: Send + Sync {
    /// Its state from now on. Each change is a turn of all usages.
    fn changes(&self) -> watch::Receiver<GuardState>;

    /// It notes on an object that a deletion of it was refused.
    fn notes_attempts(&self) -> bool {
        false
    }

    /// Its state now.
    fn proved(&self) -> GuardState {
        self.changes().borrow().clone()
    }
}

/// A guard that is set by hand: for tests, and where nothing but the bridge deletes.
pub struct FixedGuard(watch::Sender<GuardState>);

impl FixedGuard {
    /// In this state.
    pub fn new(state: GuardState) -> Self {
        Self(watch::Sender::new(state))
    }

    /// Changes its state.
    pub fn set(&self, state: GuardState) {
        self.0.send_replace(state);
    }
}

impl Guard for FixedGuard {
    fn changes(&self) -> watch::Receiver<GuardState> {
        self.0.subscribe()
    }
}
