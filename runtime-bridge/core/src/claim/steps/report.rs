//! What the claim says of itself once all that can be done is done.

use std::time::Duration;

use jiff::Timestamp;

use super::super::{
    bind::disputed,
    facts::Facts,
    outcome::{self, Flow, NEXT, earliest, until},
    standing::Standing,
};
use crate::{composite::ObjectState, managed::Rest};

/// What is not watched is looked at again after this.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

pub(in super::super) fn write_status(of: &Facts) -> Flow {
    if waits_for_more(of).is_some() {
        return NEXT;
    }
    outcome::write_status(of, Standing::of(of))
}

/// When to come back, once there is nothing to do.
pub(in super::super) fn rest(of: &Facts) -> Rest {
    let now = of.snapshot.now;
    let failed =
        |failed: &Option<super::super::memory::FailedWrite>| failed.as_ref().map(|failed| failed.retry_at);
    let secret = of
        .memory
        .failed_secret
        .as_ref()
        .map(|(_, failed)| failed.retry_at);
    let secret = secret.filter(|_| of.due_secret().is_some());
    let unwatched = of.snapshot.is_unwatched.then(|| now + LOOK_AGAIN);
    let absent = matches!(of.snapshot.xr, ObjectState::Absent);
    let read = of.memory.failed_read.filter(|_| absent);
    let refused = of.memory.refused_write.as_ref();
    let times = [
        refused.map(|(_, failed)| failed.retry_at),
        failed(&of.memory.failed),
        disputed(of).map(|one| one.next(now)),
        secret,
        unwatched,
        read,
        waits_for_more(of),
        of.secret_shown(),
    ];
    // What was due has been done, or waits for something else.
    until(earliest(times.map(|at| at.filter(|at| *at > now))))
}

/// Until when news that is only progress is not told; `None`: it is told now.
fn waits_for_more(of: &Facts) -> Option<Timestamp> {
    if !Standing::of(of).is_progress(of) {
        return None;
    }
    let until = of.memory.news_since? + of.snapshot.settings.progress;
    (of.snapshot.now < until).then_some(until)
}
