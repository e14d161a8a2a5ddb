//! Numbers of several runs, and of many events of one.

use std::time::Duration;

/// Of several runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The least.
    pub min: f64,
    /// That in the middle; of an even number, the lower one of the two.
    pub median: f64,
    /// The greatest.
    pub max: f64,
}

impl Spread {
    /// `None`: of no run.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Some(Self {
            min: *sorted.first()?,
            median: *sorted.get((sorted.len() - 1) / 2)?,
            max: *sorted.last()?,
        })
    }
}

/// Of events in one run: the time within which this part of them, in percent, was over.
pub fn quantile(times: &[Duration], percent: usize) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// A share of a whole; 0 of none.
pub fn per(amount: f64, count: usize) -> f64 {
    match u32::try_from(count) {
        Ok(count) if count > 0 => amount / f64::from(count),
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quantile_is_the_first_time_that_covers_its_part() {
        let times: Vec<Duration> = (1..=200).rev().map(Duration::from_millis).collect();
        assert_eq!(quantile(&times, 50), Duration::from_millis(100));
        assert_eq!(quantile(&times, 99), Duration::from_millis(198));
        assert_eq!(quantile(&times[..1], 99), Duration::from_millis(200));
        assert_eq!(quantile(&[], 99), Duration::ZERO);
    }

    #[test]
    fn a_spread_is_of_all_runs() {
        let spread = Spread::of(&[3.0, 1.0, 2.0]).expect("of three runs");
        assert_eq!((spread.min, spread.median, spread.max), (1.0, 2.0, 3.0));
        assert_eq!(Spread::of(&[]), None);
    }
}
