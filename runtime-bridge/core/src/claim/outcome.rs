//! What a step may end with.

use std::ops::ControlFlow;

use jiff::Timestamp;

use super::{
    decision::{Action, StatusWrite},
    facts::Facts,
    standing::Standing,
};
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

/// Writes the status if it differs; else leaves it to the next step.
pub(super) fn write_status(of: &Facts, standing: Standing) -> Flow {
    match standing.report.to_write(of) {
        Some(whole) => act(Action::WriteStatus(Box::new(StatusWrite {
            status: whole.status,
            copied: whole.copied,
            events: standing.events,
        }))),
        None => NEXT,
    }
}

/// The earliest of some times.
pub(super) fn earliest(times: impl IntoIterator<Item = Option<Timestamp>>) -> Option<Timestamp> {
    times.into_iter().flatten().min()
}
