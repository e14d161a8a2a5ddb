//! What changes without end is followed more slowly: a composite resource has so many runs upon changes, which come back one by one. Where they are
//! spent, its runs are some time apart for a while. No change is dropped: the next run sees all of them.

use std::time::Duration;

use jiff::Timestamp;

/// While the circuit is open, runs upon changes are so far apart.
const APART: Duration = Duration::from_secs(30);

/// The budget of one composite resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CircuitSettings {
    /// Runs upon changes in one go.
    pub burst: u32,
    /// After so long one of them comes back.
    pub refill: Duration,
    /// How long the circuit stays open.
    pub cooldown: Duration,
}

impl Default for CircuitSettings {
    /// Those of Crossplane, which counts events instead.
    fn default() -> Self {
        Self {
            burst: 100,
            refill: Duration::from_secs(1),
            cooldown: Duration::from_mins(5),
        }
    }
}

/// What kept changing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Changing {
    /// Spec, labels or annotations of the composite resource, or its composition.
    Desired,
    /// What it composed, or what its functions required.
    Observed,
}

/// How the budget stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Circuit {
    /// From here on the budget is whole.
    whole_at: Option<Timestamp>,
    /// Why it was opened last, and until when.
    open: Option<(Changing, Timestamp)>,
}

impl Circuit {
    /// A run begins upon a change.
    pub fn spend(&mut self, settings: &CircuitSettings, changing: Changing, now: Timestamp) {
        let whole_at = self.whole_at.map_or(now, |at| at.max(now)) + settings.refill;
        if whole_at <= now + settings.refill * settings.burst {
            self.whole_at = Some(whole_at);
        } else if self.open(now).is_none() {
            self.open = Some((changing, now + settings.cooldown));
        }
    }

    /// What kept changing and until when runs are apart; `None`: they are not.
    pub fn open(&self, now: Timestamp) -> Option<(Changing, Timestamp)> {
        self.open.filter(|(_, until)| now < *until)
    }

    /// When a run upon a change may follow one that ended at that time; `None`: at once.
    pub fn not_before(&self, ended: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let (_, until) = self.open(now)?;
        Some((ended + APART).min(until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(millis).unwrap()
    }

    const SETTINGS: CircuitSettings = CircuitSettings {
        burst: 3,
        refill: Duration::from_secs(1),
        cooldown: Duration::from_mins(5),
    };

    fn spent(times: &[i64]) -> Circuit {
        let mut circuit = Circuit::default();
        for time in times {
            circuit.spend(&SETTINGS, Changing::Observed, at(*time));
        }
        circuit
    }

    #[test]
    fn it_opens_once_the_budget_is_spent_and_closes_by_itself() {
        assert_eq!(spent(&[0, 0, 0]).open(at(0)), None);
        let open = spent(&[0, 0, 0, 10]);
        let until = at(10) + SETTINGS.cooldown;
        assert_eq!(open.open(at(10)), Some((Changing::Observed, until)));
        assert_eq!(open.not_before(at(5), at(10)), Some(at(5) + APART));
        assert_eq!(open.not_before(at(300_000), at(300_001)), Some(until));
        assert_eq!(open.open(until), None);
        assert_eq!(open.not_before(until, until), None);
    }

    #[test]
    fn what_comes_no_faster_than_the_budget_comes_back_never_opens_it() {
        let steady: Vec<i64> = (0..1000).map(|n| n * 1000).collect();
        assert_eq!(spent(&steady).open(at(1_000_000)), None);
        let faster: Vec<i64> = (0..1000).map(|n| n * 900).collect();
        assert!(spent(&faster).open(at(900_000)).is_some());
    }

    #[test]
    fn while_it_is_open_it_is_not_opened_again() {
        let mut circuit = spent(&[0, 0, 0, 0]);
        circuit.spend(&SETTINGS, Changing::Desired, at(1));
        assert_eq!(
            circuit.open(at(1)),
            Some((Changing::Observed, at(0) + SETTINGS.cooldown))
        );
    }
}
