//! Waits that double.

use std::time::Duration;

/// After the `failures`-th failure in a row (from 1): `first`, then twice as long each time, up to `longest`.
pub fn doubled(first: Duration, longest: Duration, failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(31);
    first.saturating_mul(1 << doublings).min(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let waits = [0, 1, 2, 3, 4, 5, u32::MAX]
            .map(|failures| doubled(Duration::from_secs(1), Duration::from_secs(6), failures).as_secs());
        assert_eq!(waits, [1, 1, 2, 4, 6, 6, 6]);
    }
}
