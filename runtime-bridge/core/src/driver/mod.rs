//! The synchronous shell of a machine: one reconcile of one object, inputs in, effects out.
//!
//! The driver holds all that lies between two decisions: the bound on steps, the permit of a call, the lease at the last moment, failures of
//! the API server, and the loop that persists an answer. It does no I/O: [`Driver::effect`] says what to carry out next, and
//! [`Driver::resume`] takes in what came of it. The engine carries effects out with real requests, the reference model with its own, so that no
//! rule is proved on a copy.
//!
//! ```text
//! CollectCached ─▶ (Collect) ─▶ decide ─▶ (AcquirePermit) ─▶ Begin ─▶ Perform ─┬─▶ CollectCached …
//!                                  │                                           ├─▶ Newest ─▶ Persist ─▶ Stored ─▶ CollectCached …
//!                                  └─▶ End                                     └─▶ ReadLive ─▶ End
//! ```

mod api_failure;
mod effect;
mod machine;
mod moment;
mod persist;
mod state;

pub use api_failure::{ApiFailure, ApiFailureKind};
pub use effect::{Effect, End, Input, Permit, Retry};
pub use machine::{Authority, Follow, Machine, Persisting, Requirements};
pub use moment::{Leadership, Moment};

use std::time::Duration;

use jiff::Timestamp;

use crate::managed::{Decision, Rest};

use effect::Undertaking;
use state::State;

/// A reconcile takes far fewer steps: one that reaches this repeats itself, which is a bug.
const MAX_STEPS: u32 = 64;
/// Without the lease, or while draining, an object that has something to do is reconciled again after this.
const STANDBY: Duration = Duration::from_secs(1);
/// A reconcile that got no permit is repeated when one is free; if nobody said so, after this.
const NO_PERMIT: Duration = Duration::from_mins(1);
/// After a reconcile that did not come to an end.
const UNFINISHED: Duration = Duration::from_secs(30);

/// One reconcile of one object. `O` is a stored version of the object, as whoever runs the driver keeps it.
#[derive(Debug, Clone)]
pub struct Driver<M: Machine, O> {
    state: State<M, O>,
    steps: u32,
    permit: bool,
}

impl<M: Machine, O: Clone> Driver<M, O> {
    /// Begins a reconcile.
    pub fn begin(memory: &mut M::Memory, moment: &Moment) -> Self {
        M::begin_reconcile(memory, moment.leadership.term);
        Self {
            state: State::CollectCached,
            steps: 0,
            permit: false,
        }
    }

    /// What to carry out next. Its result goes to [`Driver::resume`].
    pub fn effect(&self) -> Effect<'_, M, O> {
        self.state.effect()
    }

    /// What the action under way was decided from; `None`: no action is under way.
    pub fn snapshot(&self) -> Option<&M::Snapshot> {
        self.state.action().map(|action| &*action.snapshot)
    }

    /// The action under way.
    pub fn action(&self) -> Option<&M::Action> {
        self.state.action().map(|action| &action.action)
    }

    /// When the action under way was decided or, once it is carried out, begun.
    pub fn began(&self) -> Option<Timestamp> {
        self.state.action().map(|action| action.began)
    }

    /// The answer that is being persisted.
    pub fn answer(&self) -> Option<&M::Answer> {
        match &self.state {
            State::Persist(persist) => Some(&persist.answer),
            _ => None,
        }
    }

    /// It needs the permit that it acquired until the answer of its call is in.
    pub fn holds_permit(&self) -> bool {
        self.permit
    }

    /// Takes in what came of the effect.
    ///
    /// # Panics
    /// When the input does not belong to the effect: that is a bug of whoever runs the driver.
    pub fn resume(&mut self, memory: &mut M::Memory, moment: &Moment, input: Input<M, O>) {
        let state = std::mem::replace(&mut self.state, State::CollectCached);
        self.state = match (state, input) {
            (State::CollectCached, Input::Cached(None)) => State::Ended(End::Gone),
            (State::CollectCached, Input::Cached(Some((object, snapshot)))) => {
                self.decide_cached(memory, moment, object, snapshot)
            }
            (State::Collect { object, snapshot }, Input::Collected(additions)) => {
                self.decide(memory, moment, object, snapshot, *additions)
            }
            (State::AwaitPermit(action), Input::Permit(permit)) => self.take_permit(moment, action, permit),
            (State::Begin(action), Input::Proceed) => Self::perform(memory, moment, action),
            (State::Perform(action), Input::Performed(result)) => {
                self.performed(memory, moment, *action, result)
            }
            (State::Perform(action), Input::Failed(failure)) => {
                M::report_failure(memory, &action.action, &failure);
                State::AfterFailure(failure)
            }
            (State::Perform(action), Input::Discarded) if M::changes_nothing(&action.action) => {
                self.permit = false;
                State::retry(moment.now + NO_PERMIT, Retry::NoPermit)
            }
            (State::AfterFailure(failure), Input::Live(live)) => {
                self.permit = false;
                let failure = match live {
                    Ok(_) => failure,
                    Err(unread) if unread.kind == ApiFailureKind::NotFound => {
                        self.state = State::Ended(End::Gone);
                        return;
                    }
                    Err(unread) => unread,
                };
                let failures = M::count_failed_write(memory);
                State::retry(
                    moment.now + failure.pause(failures, moment.jitter),
                    Retry::ApiServer,
                )
            }
            (State::Persist(persisting), input) => persist::resume(memory, moment, persisting, input)
                .map_or(State::CollectCached, State::Persist),
            (state, input) => panic!("{} does not answer {}", input.name(), state.effect().name()),
        };
        if matches!(self.state, State::Ended(_)) {
            self.permit = false;
        }
    }

    fn decide_cached(
        &mut self,
        memory: &mut M::Memory,
        moment: &Moment,
        object: O,
        mut snapshot: Box<M::Snapshot>,
    ) -> State<M, O> {
        if self.steps == MAX_STEPS {
            return State::retry(moment.now + UNFINISHED, Retry::Unfinished);
        }
        self.steps += 1;
        M::authorize(&mut snapshot, memory, moment);
        M::refresh(memory, &snapshot);
        match M::decide_cached(&snapshot, memory) {
            Some(decision) => self.follow(memory, moment, object, snapshot, decision),
            None => State::Collect { object, snapshot },
        }
    }

    fn decide(
        &mut self,
        memory: &mut M::Memory,
        moment: &Moment,
        object: O,
        mut snapshot: Box<M::Snapshot>,
        additions: M::Additions,
    ) -> State<M, O> {
        M::complete(&mut snapshot, additions);
        M::completed(memory, &snapshot);
        M::authorize(&mut snapshot, memory, moment);
        let decision = M::decide(&snapshot, memory);
        self.follow(memory, moment, object, snapshot, decision)
    }

    fn follow(
        &mut self,
        memory: &M::Memory,
        moment: &Moment,
        object: O,
        snapshot: Box<M::Snapshot>,
        decision: Decision<M::Action>,
    ) -> State<M, O> {
        let action = match decision {
            // Its turn is not over: another reconcile looks, here or where the lease is.
            Decision::Rest(_) if !M::is_authorized(&snapshot) => {
                return State::retry(moment.now + STANDBY, Retry::Standby);
            }
            Decision::Rest(rest) => return State::Ended(End::Rest(rest)),
            Decision::Act(action) => action,
        };
        let requirements = M::requirements(memory, &action);
        self.permit &= requirements.permit;
        let action = Undertaking {
            object,
            snapshot,
            action,
            began: moment.now,
        };
        if requirements.permit && !self.permit {
            State::AwaitPermit(Box::new(action))
        } else {
            State::Begin(Box::new(action))
        }
    }

    fn take_permit(
        &mut self,
        moment: &Moment,
        action: Box<Undertaking<M, O>>,
        permit: Permit,
    ) -> State<M, O> {
        match permit {
            Permit::AtOnce => {
                self.permit = true;
                State::Begin(action)
            }
            Permit::Never => State::retry(moment.now + NO_PERMIT, Retry::NoPermit),
        }
    }

    /// The lease is asked for at the last moment, as much may have happened since the snapshot was collected.
    fn perform(memory: &mut M::Memory, moment: &Moment, mut action: Box<Undertaking<M, O>>) -> State<M, O> {
        let required = M::requirements(memory, &action.action).authority;
        if !M::is_granted(memory, moment, required) {
            return State::retry(moment.now + STANDBY, Retry::Standby);
        }
        action.began = moment.now;
        M::before(memory, &action.snapshot, &action.action);
        State::Perform(action)
    }

    fn performed(
        &mut self,
        memory: &mut M::Memory,
        moment: &Moment,
        mut action: Undertaking<M, O>,
        result: M::Performed,
    ) -> State<M, O> {
        if M::ends_permit(&action.action) {
            self.permit = false;
        }
        let began = action.began;
        match M::performed(
            memory,
            &mut action.snapshot,
            &action.action,
            result,
            began,
            moment,
        ) {
            Follow::Decide => State::CollectCached,
            Follow::Persist(answer) => State::Persist(Box::new(persist::begin(action, answer))),
            Follow::End(gone) => State::Ended(if gone { End::Gone } else { End::Rest(Rest::NEVER) }),
        }
    }
}

#[cfg(test)]
mod tests;
