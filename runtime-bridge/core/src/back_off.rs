//! Waits between retries. A policy is a value that prints, and [`policies`] is the table of all of them.

pub mod policies;

use std::{fmt, str::FromStr, time::Duration};

use crate::managed::parse_go;

/// How long to wait after a failure, and after each one that follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackoffPolicy {
    first: Duration,
    longest: Duration,
    factor: u32,
    /// Chance takes off up to so many percent.
    jitter_percent: u8,
}

/// Of a policy that says nothing else.
const FACTOR: u32 = 2;
const JITTER_PERCENT: u8 = 33;

/// What comes back sooner is not held back at all.
const SHORTEST: Duration = Duration::from_millis(1);

impl BackoffPolicy {
    /// Doubles with each failure in a row, from the first wait to the longest; chance takes off up to a third.
    pub const fn new(first: Duration, longest: Duration) -> Self {
        Self {
            first,
            longest,
            factor: FACTOR,
            jitter_percent: JITTER_PERCENT,
        }
    }

    /// For what is alone: there is nothing to keep apart from.
    #[must_use]
    pub const fn without_jitter(self) -> Self {
        Self {
            jitter_percent: 0,
            ..self
        }
    }

    /// With another longest wait.
    #[must_use]
    pub const fn up_to(self, longest: Duration) -> Self {
        Self { longest, ..self }
    }

    /// After the first failure.
    pub const fn first(&self) -> Duration {
        self.first
    }

    /// However many failures there were.
    pub const fn longest(&self) -> Duration {
        self.longest
    }

    /// After the `failures`-th failure in a row (from 1). `chance` from 0 to 1 is drawn anew for each wait.
    pub fn wait(&self, failures: u32, chance: f64) -> Duration {
        let steps = failures.saturating_sub(1).min(31);
        let wait = self.first.saturating_mul(self.factor.saturating_pow(steps));
        wait.min(self.longest).mul_f64(1.0 - self.share(chance))
    }

    /// Likewise, and never sooner than who failed has asked for; those that were asked for the same come back apart.
    pub fn wait_at_least(&self, least: Duration, failures: u32, chance: f64) -> Duration {
        let wait = self.wait(failures, chance);
        if wait >= least {
            wait
        } else {
            least + wait.mul_f64(self.share(chance))
        }
    }

    fn share(&self, chance: f64) -> f64 {
        f64::from(self.jitter_percent) / 100.0 * chance.clamp(0.0, 1.0)
    }
}

/// `1s..5m`, and where it does not double or spreads otherwise than by a third, `1s..5m x3 -50%`.
impl fmt::Display for BackoffPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", Go(self.first), Go(self.longest))?;
        if self.factor != FACTOR {
            write!(f, " x{}", self.factor)?;
        }
        if self.jitter_percent != JITTER_PERCENT {
            write!(f, " -{}%", self.jitter_percent)?;
        }
        Ok(())
    }
}

/// A text that is no policy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a back-off: write the first and the longest wait, as 1s..5m")]
pub struct NotABackoff;

impl FromStr for BackoffPolicy {
    type Err = NotABackoff;

    fn from_str(text: &str) -> Result<Self, NotABackoff> {
        let mut words = text.split_whitespace();
        let (first, longest) = words
            .next()
            .and_then(|word| word.split_once(".."))
            .ok_or(NotABackoff)?;
        let (first, longest) = (
            parse_go(first).ok_or(NotABackoff)?,
            parse_go(longest).ok_or(NotABackoff)?,
        );
        let mut policy = Self::new(first, longest);
        for word in words {
            if let Some(factor) = word.strip_prefix('x') {
                policy.factor = factor.parse().map_err(|_| NotABackoff)?;
            } else {
                let percent = word.strip_prefix('-').and_then(|word| word.strip_suffix('%'));
                policy.jitter_percent = percent
                    .and_then(|percent| percent.parse().ok())
                    .ok_or(NotABackoff)?;
            }
        }
        let sound =
            first >= SHORTEST && first <= longest && policy.factor >= 1 && policy.jitter_percent < 100;
        sound.then_some(policy).ok_or(NotABackoff)
    }
}

/// As Go writes it, as far as policies need it.
struct Go(Duration);

impl fmt::Display for Go {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0.as_secs(), self.0.subsec_millis()) {
            (seconds, 0) if seconds > 0 && seconds % 3600 == 0 => write!(f, "{}h", seconds / 3600),
            (seconds, 0) if seconds > 0 && seconds % 60 == 0 => write!(f, "{}m", seconds / 60),
            (seconds, 0) => write!(f, "{seconds}s"),
            _ => write!(f, "{}ms", self.0.as_millis()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: BackoffPolicy = BackoffPolicy::new(Duration::from_secs(1), Duration::from_secs(6));

    #[test]
    fn waits_double_up_to_the_longest() {
        let waits = [0, 1, 2, 3, 4, 5, u32::MAX].map(|failures| POLICY.wait(failures, 0.0).as_secs());
        assert_eq!(waits, [1, 1, 2, 4, 6, 6, 6]);
    }

    #[test]
    fn chance_takes_off_up_to_a_third() {
        let millis = |chance| POLICY.wait(2, chance).as_millis();
        assert_eq!([0.0, 0.5, 1.0, 7.0].map(millis), [2_000, 1_670, 1_340, 1_340]);
        assert_eq!(POLICY.without_jitter().wait(2, 1.0), Duration::from_secs(2));
    }

    #[test]
    fn a_requested_wait_is_kept_and_spread() {
        let least = Duration::from_secs(5);
        let spread = [0.0, 0.5, 1.0].map(|chance| POLICY.wait_at_least(least, 2, chance));
        assert!(spread[0] == least && spread[0] < spread[1] && spread[1] < spread[2]);
        assert!(spread[2] < Duration::from_secs(6));
        assert_eq!(
            POLICY.wait_at_least(Duration::from_secs(1), 4, 0.0),
            Duration::from_secs(6)
        );
    }

    #[test]
    fn a_policy_is_read_as_it_prints() {
        for text in ["1s..5m", "50ms..1h", "1500ms..90s -0%", "1s..2m x3 -50%"] {
            let policy: BackoffPolicy = text.parse().expect("a policy");
            assert_eq!(policy.to_string(), text);
        }
        for text in [
            "",
            "1s",
            "1s..",
            "0s..1m",
            "1ns..1ns",
            "1s..1m -100%",
            "2m..1m",
            "1s..1m x0",
            "1s..1m -101%",
            "1s..1m 3",
        ] {
            assert_eq!(text.parse::<BackoffPolicy>(), Err(NotABackoff), "{text}");
        }
    }
}
