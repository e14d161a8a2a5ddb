//! Numbers of several runs, and of many events of one.

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
        let sorted = sorted(values);
        Some(Self {
            min: *sorted.first()?,
            median: *sorted.get((sorted.len() - 1) / 2)?,
            max: *sorted.last()?,
        })
    }
}

/// From the least to the greatest.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Of events in one run: what this part of them, in percent, did not exceed. 0 of none.
pub fn quantile(values: &[f64], percent: usize) -> f64 {
    let sorted = sorted(values);
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
    fn the_quantile_is_the_first_value_that_covers_its_part() {
        let values: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        let of = |values: &[f64], percent| format!("{}", quantile(values, percent));
        assert_eq!(of(&values, 50), "100");
        assert_eq!(of(&values, 99), "198");
        assert_eq!(of(&values[..1], 99), "200");
        assert_eq!(of(&[], 99), "0");
    }

    #[test]
    fn a_spread_is_of_all_runs() {
        let spread = Spread::of(&[3.0, 1.0, 2.0]).expect("of three runs");
        assert_eq!(
            spread,
            Spread {
                min: 1.0,
                median: 2.0,
                max: 3.0
            }
        );
        assert_eq!(Spread::of(&[]), None);
    }
}
