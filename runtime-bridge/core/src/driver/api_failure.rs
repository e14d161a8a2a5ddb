//! A request to the API server that was not carried out, as far as the driver acts upon it.

use std::time::Duration;

use crate::back_off::policies;

/// What kind of failure it is: it sets the pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ApiFailureKind {
    /// Another writer was faster.
    Conflict,
    /// The object is gone.
    NotFound,
    /// The kind, and every object of it, is gone for good.
    KindGone,
    /// The object is refused until a person changes something.
    Rejected,
    /// The bridge has not the right to it.
    Forbidden,
    /// Anything that may succeed later by itself.
    Transient,
}

/// Why a request gave no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiFailure {
    /// What kind of failure it is.
    pub kind: ApiFailureKind,
    /// The least wait that the API server asks for.
    pub retry_after: Duration,
    /// For people.
    pub message: String,
}

impl ApiFailure {
    /// How long a reconcile waits after the `failures`-th failure in a row (from 1).
    pub fn pause(&self, failures: u32, chance: f64) -> Duration {
        let policy = match self.kind {
            ApiFailureKind::Conflict => policies::API_CONFLICT,
            ApiFailureKind::Rejected => policies::API_REJECTED,
            ApiFailureKind::NotFound
            | ApiFailureKind::KindGone
            | ApiFailureKind::Forbidden
            | ApiFailureKind::Transient => policies::API,
        };
        policy.wait_at_least(self.retry_after, failures, chance)
    }

    /// How long the loop that persists an answer waits: nothing may go on before it is stored, so it waits less.
    pub fn persist_pause(&self, failures: u32, chance: f64) -> Duration {
        policies::PERSIST.wait_at_least(self.retry_after, failures, chance)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(kind: ApiFailureKind) -> ApiFailure {
        ApiFailure {
            kind,
            retry_after: Duration::ZERO,
            message: String::new(),
        }
    }

    #[test]
    fn pauses_grow_to_a_limit_and_are_jittered() {
        let millis = |kind| [1, 2, 5, 30].map(|failures| failure(kind).pause(failures, 0.0).as_millis());
        assert_eq!(millis(ApiFailureKind::Transient), [1_000, 2_000, 16_000, 60_000]);
        assert_eq!(millis(ApiFailureKind::Conflict), [10, 20, 160, 5_000]);
        assert_eq!(
            millis(ApiFailureKind::Rejected),
            [30_000, 60_000, 480_000, 600_000]
        );
        assert!(failure(ApiFailureKind::Transient).pause(30, 1.0) < Duration::from_secs(41));
    }

    #[test]
    fn the_api_servers_own_advice_is_the_least_pause() {
        let throttled = ApiFailure {
            retry_after: Duration::from_secs(7),
            ..failure(ApiFailureKind::Transient)
        };
        assert_eq!(throttled.pause(1, 0.0), Duration::from_secs(7));
        assert!(throttled.persist_pause(1, 0.5) > Duration::from_secs(7));
    }
}
