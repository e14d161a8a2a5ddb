//! How long until something is observed or polled again.

use std::time::Duration;

use jiff::Timestamp;

use crate::external::Observation;

use super::{
    duration::parse_go,
    names,
    snapshot::{Managed, Settings, Snapshot},
};

/// A poll where the plugin gave no advice.
pub(super) const POLL_AFTER: Duration = Duration::from_secs(10);

/// What is not ready yet is looked at again after this.
pub(super) const UNREADY: Duration = Duration::from_secs(10);

/// When to look again at what was found: sooner while others wait for it to become ready. The plugin's advice counts in both cases.
pub(super) fn next_observation(snapshot: &Snapshot, observation: &Observation) -> Timestamp {
    let interval = poll_interval(snapshot);
    let wait = match observation.observe_after {
        _ if observation.ready => interval.max(observation.observe_after.unwrap_or_default()),
        Some(advice) => advice.max(Duration::from_secs(1)),
        None => interval.min(UNREADY),
    };
    snapshot.now + wait
}

/// Between drift polls of this object: the annotation, else the operator's setting, jittered.
pub(super) fn poll_interval(snapshot: &Snapshot) -> Duration {
    poll_interval_of(&snapshot.managed, &snapshot.settings, snapshot.fresh.jitter)
}

pub(super) fn poll_interval_of(managed: &Managed, settings: &Settings, jitter: f64) -> Duration {
    let annotated = parse_go(managed.annotation(names::POLL_INTERVAL));
    let interval = annotated
        .filter(|interval| !interval.is_zero())
        .unwrap_or(settings.poll);
    let interval = interval.max(Duration::from_secs(1));
    let spread = settings.poll_jitter.min(interval / 2);
    interval.saturating_sub(spread) + spread.mul_f64(2.0 * jitter.clamp(0.0, 1.0))
}
