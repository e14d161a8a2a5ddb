//! Where a reconcile is.

use jiff::Timestamp;

use super::{
    ApiFailure, Machine,
    effect::{Effect, End, Retry, Undertaking},
    persist::Persist,
};

/// Where a reconcile is.
#[derive(Debug, Clone)]
pub(super) enum State<M: Machine, O> {
    CollectCached,
    Collect { object: O, snapshot: Box<M::Snapshot> },
    AwaitPermit(Box<Undertaking<M, O>>),
    Begin(Box<Undertaking<M, O>>),
    Perform(Box<Undertaking<M, O>>),
    AfterFailure(ApiFailure),
    Persist(Box<Persist<M, O>>),
    Ended(End),
}

impl<M: Machine, O> State<M, O> {
    pub fn retry(at: Timestamp, why: Retry) -> Self {
        Self::Ended(End::Retry { at, why })
    }

    pub fn effect(&self) -> Effect<'_, M, O> {
        match self {
            Self::CollectCached => Effect::CollectCached,
            Self::Collect { object, snapshot } => Effect::Collect { object, snapshot },
            Self::AwaitPermit(_) => Effect::AcquirePermit,
            Self::Begin(action) => Effect::Begin {
                object: &action.object,
                action: &action.action,
            },
            Self::Perform(action) => Effect::Perform {
                object: &action.object,
                action: &action.action,
            },
            Self::AfterFailure(_) => Effect::ReadLive,
            Self::Persist(persist) => persist.effect(),
            Self::Ended(end) => Effect::End(end),
        }
    }

    pub fn action(&self) -> Option<&Undertaking<M, O>> {
        match self {
            Self::Begin(action) | Self::Perform(action) => Some(action),
            Self::Persist(persist) => Some(&persist.action),
            Self::CollectCached
            | Self::Collect { .. }
            | Self::AwaitPermit(_)
            | Self::AfterFailure(_)
            | Self::Ended(_) => None,
        }
    }
}
