//! What a step may end with.

use std::ops::ControlFlow;

use jiff::Timestamp;

use super::{decision::Action, facts::Facts, standing::Standing};
use crate::managed::{Decision, Purpose, Rest};

pub(super) type Flow = ControlFlow<Decision<Action>>;

/// Leaves it to the next step.
pub(super) const NEXT: Flow = ControlFlow::Continue(());

/// Does one thing.
pub(super) fn act(action: Action) -> Flow {
    ControlFlow::Break(Decision::Act(action))
}

/// Comes back at a time, or when something changes.
pub(super) fn rest(wake: Option<Timestamp>) -> Flow {
    ControlFlow::Break(Decision::Rest(until(wake)))
}

/// Likewise, as a value.
pub(super) fn until(wake: Option<Timestamp>) -> Rest {
    Rest {
        wake,
        purpose: Purpose::Retry,
    }
}

/// Writes the status if it differs; else comes back at a time, or when something changes.
pub(super) fn report_and_rest(of: &Facts, wake: Option<Timestamp>) -> Flow {
    match Standing::of(of).to_write(of) {
        Some(write) => act(Action::WriteStatus(Box::new(write))),
        None => rest(wake),
    }
}
