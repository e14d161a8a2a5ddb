use std::time::Duration;

/// How long things take. The defaults are client-go's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Others wait for this long after the last renewal that they saw.
    pub lease_duration: Duration,
    /// The leader stops acting this long after it sent the last renewal that landed.
    pub renew_deadline: Duration,
    /// Between two tries.
    pub retry_period: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}

/// Durations that do not go together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TimingError {
    /// The lease carries whole seconds.
    #[error("the lease duration must be whole seconds, at least one")]
    Fraction,
    /// Two would lead at once.
    #[error(
        "the renew deadline must be shorter than the lease duration, or an old leader would still act when a new one begins"
    )]
    DeadlineAfterEnd,
    /// One late answer would end the leadership.
    #[error("the retry period must be shorter than half of the renew deadline, so that one renewal may fail")]
    NoSecondTry,
}

impl Timing {
    /// They go together.
    pub fn check(self) -> Result<Self, TimingError> {
        if self.lease_duration.subsec_nanos() != 0 || self.lease_duration.is_zero() {
            Err(TimingError::Fraction)
        } else if self.renew_deadline >= self.lease_duration {
            Err(TimingError::DeadlineAfterEnd)
        } else if self.retry_period * 2 >= self.renew_deadline {
            Err(TimingError::NoSecondTry)
        } else {
            Ok(self)
        }
    }
}
