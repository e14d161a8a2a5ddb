//! When the pipeline of a composite resource is to run again.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    circuit::Changing,
    context::Context,
    outcome::earliest,
    secrets,
    snapshot::{Basis, RunState},
};
use crate::back_off::policies;

/// When the pipeline is to run again; `None`: when something changes.
pub(super) fn due(of: &Context) -> Option<Timestamp> {
    let RunState::Ended {
        basis,
        outcome,
        took,
        at,
    } = &of.snapshot.run
    else {
        return None;
    };
    let settings = &of.snapshot.settings;
    let now = of.basis.as_ref()?;
    let differs = changing(basis, now).is_some();
    let settle = (*took * 4).clamp(settle(of), settings.longest_settle);
    let failed = outcome.result.is_err();
    let back_off = match of.memory.failed_runs {
        // A person asked for another one.
        0 => *at + settle,
        failed => *at + policies::RUN.wait(failed, of.snapshot.jitter),
    };
    // What changes does not make a run that failed succeed at once.
    let changed = differs.then(|| if failed { back_off } else { *at + settle });
    // A Secret or a required resource does, that it may have waited for, and so does its function. One that failed again has its back-off.
    let waited_for = secrets::has_news(&basis.secrets, &now.secrets)
        || has_required_news(basis, now)
        || of.snapshot.function_news;
    let waited_for = waited_for.then(|| *at + settle);
    let held = held_until(of);
    let changed = earliest([changed, waited_for]).map(|at| held.map_or(at, |held| at.max(held)));
    let repeated = match &outcome.result {
        Ok(_) => {
            let interval = outcome.ttl.or_else(|| of.snapshot.xr.poll_interval());
            let interval = interval.map(|interval| interval.clamp(SHORTEST, LONGEST));
            // Never sooner: a run would meet the responses that are still kept, and be due again once the rest of their time is over.
            let again = interval.map(|interval| *at + interval.mul_f64(1.0 + SPREAD * spread(of)));
            // Each may desire something else.
            again.map(|at| held.map_or(at, |held| at.max(held)))
        }
        Err(_) => Some(back_off),
    };
    earliest([changed, repeated])
}

/// How long at least one run waits after the other. The first that follow a time of quiet do so sooner while the composite resource is not ready, as
/// to become so takes two or three. Each that follows at once lengthens it, up to the whole.
fn settle(of: &Context) -> Duration {
    let settings = &of.snapshot.settings;
    let ready = of.snapshot.xr.condition("Ready");
    if ready.is_some_and(|ready| ready["status"] == "True") {
        return settings.settle;
    }
    let spent = of.memory.circuit.spent(&settings.circuit, of.snapshot.now);
    settings.settle * spent.saturating_add(1).min(SETTLE_STEPS) / SETTLE_STEPS
}

/// Runs upon changes in a row until the last of them waits for the whole of [`Settings::settle`](super::Settings::settle).
const SETTLE_STEPS: u32 = 4;

/// Until when no run begins upon a change, as too many have.
pub(super) fn held_until(of: &Context) -> Option<Timestamp> {
    let began = match &of.snapshot.run {
        RunState::None => return None,
        RunState::Going { since, .. } => *since,
        RunState::Ended { took, at, .. } => *at - *took,
    };
    of.memory.circuit.not_before(began, of.snapshot.now)
}

/// What is not as a run saw it.
pub(super) fn changing(seen: &Basis, now: &Basis) -> Option<Changing> {
    if seen.desired != now.desired {
        return Some(Changing::Desired);
    }
    let differs = seen.observed != now.observed
        || secrets::has_news(&seen.secrets, &now.secrets)
        || has_required_news(seen, now);
    differs.then_some(Changing::Observed)
}

/// What a run was shown of what its functions require is no longer what is found.
fn has_required_news(seen: &Basis, now: &Basis) -> bool {
    let mut required = seen.required.iter();
    required.any(|(lookup, found)| now.required.get(lookup).is_some_and(|is| is != found))
}

/// Of what functions and people ask for.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_hours(24 * 365);

/// By this share of an interval what began together is kept apart.
const SPREAD: f64 = 0.1;

/// From 0 to 1, the same for one composite resource each time: what began together does not stay together.
fn spread(of: &Context) -> f64 {
    let uid = of.snapshot.xr.uid();
    let sum = uid
        .bytes()
        .fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(byte.into()));
    f64::from(sum % 1000) / 1000.0
}

#[cfg(test)]
#[path = "due_tests.rs"]
mod tests;
