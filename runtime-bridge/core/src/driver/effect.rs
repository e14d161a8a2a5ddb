//! What a reconcile asks for, and what may be answered.

use std::time::Duration;

use jiff::Timestamp;

use crate::managed::Rest;

use super::{ApiFailure, Machine};

/// An action under way.
#[derive(Debug, Clone)]
pub(super) struct Undertaking<M: Machine, O> {
    /// The version that it was decided upon, and that its writes replace.
    pub object: O,
    pub snapshot: Box<M::Snapshot>,
    pub action: M::Action,
    pub began: Timestamp,
}

/// What is to be carried out.
#[derive(Debug)]
pub enum Effect<'a, M: Machine, O> {
    /// Take the newest stored version, with all that is known of it without asking anybody: [`Input::Cached`].
    CollectCached,
    /// Ask for the rest, which may take long: [`Input::Collected`].
    Collect {
        /// The version.
        object: &'a O,
        /// What is known of it.
        snapshot: &'a M::Snapshot,
    },
    /// Acquire one of the plugin's permits: [`Input::Permit`].
    AcquirePermit,
    /// The last moment before an action, at which a test may halt: [`Input::Proceed`].
    Begin {
        /// The version.
        object: &'a O,
        /// What comes next.
        action: &'a M::Action,
    },
    /// Carry it out: [`Input::Performed`], or [`Input::Failed`] if the API server did not.
    Perform {
        /// The version that it was decided upon.
        object: &'a O,
        /// What to do.
        action: &'a M::Action,
    },
    /// Take the newest version that is stored: [`Input::Newest`].
    Newest,
    /// An answer is stored, or has nowhere to go: take the newest version that is stored: [`Input::Newest`].
    Stored,
    /// Write this upon that version, guarded: [`Input::Persisted`].
    Persist {
        /// The version.
        object: &'a O,
        /// What to write.
        change: &'a M::Change,
        /// What it is about.
        action: &'a M::Action,
    },
    /// Wait: [`Input::Waited`].
    Wait(Duration),
    /// Read the object from the API server: [`Input::Live`].
    ReadLive,
    /// The reconcile is over.
    End(&'a End),
}

impl<M: Machine, O> Effect<'_, M, O> {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::CollectCached => "CollectCached",
            Self::Collect { .. } => "Collect",
            Self::AcquirePermit => "AcquirePermit",
            Self::Begin { .. } => "Begin",
            Self::Perform { .. } => "Perform",
            Self::Newest => "Newest",
            Self::Stored => "Stored",
            Self::Persist { .. } => "Persist",
            Self::Wait(_) => "Wait",
            Self::ReadLive => "ReadLive",
            Self::End(_) => "End",
        }
    }
}

/// What came of an effect.
#[derive(Debug)]
pub enum Input<M: Machine, O> {
    /// The newest stored version; `None`: the object is gone, or another one has its name.
    Cached(Option<(O, Box<M::Snapshot>)>),
    /// What a snapshot needs beyond the caches.
    Collected(Box<M::Additions>),
    /// How a permit was come by.
    Permit(Permit),
    /// Go on.
    Proceed,
    /// The action was carried out.
    Performed(M::Performed),
    /// The API server did not carry it out.
    Failed(ApiFailure),
    /// It changed nothing, and its answer was discarded, as there was no room for it: whoever runs the driver begins another reconcile when there is.
    Discarded,
    /// The newest stored version; `None`: the object is gone, or another one has its name.
    Newest(Option<(O, M::View)>),
    /// Whether the write landed, as far as anybody knows.
    Persisted(Result<(), ApiFailure>),
    /// The time is over.
    Waited,
    /// What the API server holds.
    Live(Result<(O, M::View), ApiFailure>),
}

impl<M: Machine, O> Input<M, O> {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Cached(_) => "Cached",
            Self::Collected(_) => "Collected",
            Self::Permit(_) => "Permit",
            Self::Proceed => "Proceed",
            Self::Performed(_) => "Performed",
            Self::Failed(_) => "Failed",
            Self::Discarded => "Discarded",
            Self::Newest(_) => "Newest",
            Self::Persisted(_) => "Persisted",
            Self::Waited => "Waited",
            Self::Live(_) => "Live",
        }
    }
}

/// How a permit was come by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permit {
    /// One was free.
    AtOnce,
    /// None was: the reconcile ends, and whoever runs the driver begins another one when one is.
    Never,
}

/// How a reconcile ended.
#[derive(Debug, Clone, PartialEq)]
pub enum End {
    /// The object is gone: forget it.
    Gone,
    /// Nothing to do before then.
    Rest(Rest),
    /// Come back at this time.
    Retry {
        /// When.
        at: Timestamp,
        /// What was in the way.
        why: Retry,
    },
}

/// What was in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// The lease is another's, or the process is draining.
    Standby,
    /// The plugin has as many calls as it takes, or as many large answers are held as there is room for.
    NoPermit,
    /// The API server did not carry something out.
    ApiServer,
    /// It took too many steps: a bug.
    Unfinished,
}
