//! The external system behind one plugin, as the bridge calls it: the plugin's client implements it, a simulation may bring another.

use std::{any::Any, fmt};

use async_trait::async_trait;
use jiff::Timestamp;

use crate::external::{Answer, Call, CallError, Config, DesiredState, Failure, ObserveResult, Target};

/// Leave to do one thing of which so many are done at once; given back when this is dropped.
pub struct Permit(#[allow(dead_code)] Option<Box<dyn Any + Send + Sync>>); // Held for its drop.

impl Permit {
    /// Of an external system that takes as many calls as come.
    pub fn unlimited() -> Self {
        Self(None)
    }

    /// As long as this is held, the call counts.
    pub fn holding(counted: impl Any + Send + Sync) -> Self {
        Self(Some(Box::new(counted)))
    }
}

impl fmt::Debug for Permit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Permit")
    }
}

/// The external system behind one plugin. Every call carries an absolute deadline, and nothing is sent at it or later:
/// an implementation that finds it passed answers [`CallError::Rejected`] with code `NOT_SENT`. One that cannot reach the
/// plugin answers [`CallError::Unreachable`].
///
/// The calls that a plugin takes at once are counted here and nowhere else. Whoever calls [`observe`](Self::observe) or
/// [`execute`](Self::execute) holds a [`Permit`] until the answer is there, taken before the deadline is computed, so that no call spends its
/// time with waiting.
#[async_trait]
pub trait External: Send + Sync {
    /// A permit, if one is free.
    fn try_acquire(&self) -> Option<Permit> {
        Some(Permit::unlimited())
    }

    /// A permit, as soon as one is free. Cancel safe; whoever waits is served in order.
    async fn acquire(&self) -> Permit {
        Permit::unlimited()
    }

    /// Room for one large answer, which a reconcile holds until a call or its end, if there is some. Whoever waits for both takes this before a permit.
    fn try_acquire_room(&self) -> Option<Permit> {
        Some(Permit::unlimited())
    }

    /// Likewise, as soon as there is some. Cancel safe; whoever waits is served in order.
    async fn acquire_room(&self) -> Permit {
        Permit::unlimited()
    }

    /// Room to keep an observation of so many bytes in memory until the next reconcile of its object, for as long as the permit is held; `None`: all
    /// objects of the plugin together keep as much as they may.
    fn try_keep(&self, _bytes: usize) -> Option<Permit> {
        Some(Permit::unlimited())
    }

    /// Computes with a large answer, which takes long: one at a time for all objects of a plugin, so that it takes no more than one core, and beside the
    /// other tasks.
    async fn compute(&self, work: &mut (dyn FnMut() + Send)) {
        work();
    }

    /// Reads the external resource. Changes nothing.
    async fn observe(
        &self,
        target: &Target,
        desired: &DesiredState,
        deadline: Timestamp,
    ) -> Result<ObserveResult, CallError>;

    /// Makes a call that may change something, or follows an operation.
    async fn execute(&self, call: &Call) -> Answer;

    /// Whether these settings are usable, and the identity that the upstream sees. Needs no permit: the caller may hold one, or wait for one.
    async fn check_config(
        &self,
        config: &Config,
        deadline: Timestamp,
    ) -> Result<Result<String, Failure>, CallError>;
}
