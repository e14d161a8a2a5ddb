//! What does not stay as it was applied is applied with a back-off.

use std::time::Duration;

use jiff::Timestamp;

use super::digest::BodyDigest;
use crate::{back_off::policies, driver::Moment, rule::Rule};

/// So often in a row the same is applied without a pause.
const AT_ONCE: u32 = 4;
/// What has stayed for so long is disputed no more: who changes it now and then, as by a resync, is answered at once.
const STAYED: Duration = Duration::from_secs(15);

/// For people, behind its name.
pub(crate) const DISPUTED: &str = "is changed by somebody else each time it is applied, or loses the annotation crossbridge.dev/applied on the way: it is applied with a back-off";

/// How often the same was applied to an object. It does not stay where somebody else changes it again, or where the annotation by which the bridge knows it
/// is left out on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reapplication {
    desired: BodyDigest,
    times: u32,
    retry_at: Timestamp,
}

impl Reapplication {
    /// It was applied once more. Without a pause it would be changed back and forth as fast as the API server answers.
    pub(crate) fn after(former: Option<&Self>, desired: BodyDigest, moment: &Moment) -> Self {
        let same = former.filter(|former| former.desired == desired && !former.is_over(moment.now));
        let times = same.map_or(0, |former| former.times.min(u32::from(u16::MAX))) + 1;
        let wait = match (times + 1).saturating_sub(AT_ONCE) {
            0 => Duration::ZERO,
            beyond => policies::API.wait(beyond, moment.jitter),
        };
        Self {
            desired,
            times,
            retry_at: moment.now + wait,
        }
    }

    /// What was applied has stayed for a while.
    pub(crate) fn is_over(&self, now: Timestamp) -> bool {
        now >= self.retry_at + STAYED
    }

    /// This was applied more often than people and controllers change things.
    pub(crate) fn is_disputed(&self, desired: &BodyDigest, now: Timestamp) -> bool {
        let is_same = self.desired == *desired && !self.is_over(now);
        is_same && self.times >= AT_ONCE && !Rule::ReapplicationBacksOff.is_off()
    }

    /// Until when this is not applied again; `None`: it may be.
    pub(crate) fn waits(&self, desired: &BodyDigest, now: Timestamp) -> Option<Timestamp> {
        (self.is_disputed(desired, now) && now < self.retry_at).then_some(self.retry_at)
    }

    /// When to look again: it may be applied then, or has stayed.
    pub(crate) fn next(&self, now: Timestamp) -> Timestamp {
        if now < self.retry_at {
            self.retry_at
        } else {
            self.retry_at + STAYED
        }
    }
}
