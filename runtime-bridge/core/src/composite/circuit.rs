//! What changes without end is followed more slowly: a composite resource has so many runs upon changes, which come back one by one. Where they are
//! spent, its runs begin some time apart for a while. No change is dropped: the next run sees all of them.

use std::time::Duration;

use jiff::Timestamp;

/// While the circuit is open, runs upon changes begin so far apart.
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
    /// Spec of the composite resource, or its composition.
    Desired,
    /// Its labels, annotations, and what others wrote to its status; what it composed, what its functions required; Secrets that it is shown.
    Observed,
}

/// What has happened to a circuit since it was counted last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CircuitCounts {
    /// Runs upon changes that began while it was closed.
    pub allowed: u32,
    /// Runs upon changes that began while it was open.
    pub half_open_allowed: u32,
    /// Times that it was opened.
    pub opened: u32,
    /// Times that it closed.
    pub closed: u32,
}

/// How the budget stands.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Circuit {
    /// From here on the budget is whole.
    whole_at: Option<Timestamp>,
    /// Why it was opened, and until when it is open.
    open: Option<(Changing, Timestamp)>,
    counts: CircuitCounts,
}

impl Circuit {
    /// A run begins upon a change.
    pub fn spend(&mut self, settings: &CircuitSettings, changing: Changing, now: Timestamp) {
        let is_open = self.open(now).is_some();
        let counted = if is_open {
            &mut self.counts.half_open_allowed
        } else {
            &mut self.counts.allowed
        };
        *counted = counted.saturating_add(1);
        let missing = self.whole_at.map_or(Duration::ZERO, |at| {
            at.duration_since(now).try_into().unwrap_or_default()
        });
        let missing = missing.saturating_add(settings.refill);
        if missing <= settings.refill.saturating_mul(settings.burst) {
            self.whole_at = Some(later(now, missing));
        } else if !is_open {
            self.close(now);
            self.open = Some((changing, later(now, settings.cooldown)));
            self.counts.opened = self.counts.opened.saturating_add(1);
        }
    }

    /// Runs upon changes that have not come back yet.
    pub fn spent(&self, settings: &CircuitSettings, now: Timestamp) -> u32 {
        let missing = self
            .whole_at
            .and_then(|at| Duration::try_from(at.duration_since(now)).ok());
        let missing = missing
            .filter(|missing| !missing.is_zero())
            .map(|missing| missing.as_nanos());
        let spent = missing.map_or(0, |missing| missing.div_ceil(settings.refill.as_nanos().max(1)));
        u32::try_from(spent).unwrap_or(u32::MAX)
    }

    /// Notes that it has closed, once its time is over.
    pub fn close(&mut self, now: Timestamp) {
        if self.open.take_if(|(_, until)| *until <= now).is_some() {
            self.counts.closed = self.counts.closed.saturating_add(1);
        }
    }

    /// What kept changing and until when runs are apart; `None`: they are not.
    pub fn open(&self, now: Timestamp) -> Option<(Changing, Timestamp)> {
        self.open.filter(|(_, until)| now < *until)
    }

    /// When a run upon a change may follow one that began at that time; `None`: at once.
    pub fn not_before(&self, began: Timestamp, now: Timestamp) -> Option<Timestamp> {
        let (_, until) = self.open(now)?;
        Some(later(began, APART).min(until)).filter(|at| now < *at)
    }

    /// What has happened since this was taken last.
    pub fn take_counts(&mut self) -> CircuitCounts {
        std::mem::take(&mut self.counts)
    }
}

/// As late as can be told, if that is sooner.
fn later(at: Timestamp, by: Duration) -> Timestamp {
    at.saturating_add(by).unwrap_or(Timestamp::MAX)
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
        assert_eq!(open.not_before(at(5), at(5) + APART), None);
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
    fn what_was_spent_comes_back_one_by_one() {
        let circuit = spent(&[0, 0]);
        let left = [0, 1, 1_000, 1_999, 2_000, 9_000].map(|now| circuit.spent(&SETTINGS, at(now)));
        assert_eq!(left, [2, 2, 1, 1, 0, 0]);
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

    #[test]
    fn what_happens_to_it_is_counted_once() {
        let mut circuit = spent(&[0, 0, 0, 10, 20]);
        circuit.close(at(20));
        let opened = CircuitCounts {
            allowed: 4,
            half_open_allowed: 1,
            opened: 1,
            closed: 0,
        };
        assert_eq!(circuit.take_counts(), opened);
        let (_, until) = circuit.open(at(20)).unwrap();
        circuit.close(until);
        circuit.close(until);
        let closed = CircuitCounts {
            closed: 1,
            ..CircuitCounts::default()
        };
        assert_eq!(circuit.take_counts(), closed);
        assert_eq!(circuit.take_counts(), CircuitCounts::default());
    }

    #[test]
    fn limits_of_any_size_are_taken() {
        let boundless = CircuitSettings {
            burst: u32::MAX,
            refill: Duration::from_secs(100_000),
            cooldown: Duration::MAX,
        };
        let mut circuit = Circuit::default();
        for time in 0..1000 {
            circuit.spend(&boundless, Changing::Observed, at(time));
        }
        assert_eq!(circuit.open(at(1000)), None);
        let none = CircuitSettings {
            burst: 0,
            refill: Duration::MAX,
            ..boundless
        };
        circuit.spend(&none, Changing::Observed, at(1000));
        assert_eq!(circuit.open(at(1000)), Some((Changing::Observed, Timestamp::MAX)));
    }
}
