use std::time::Duration;

use bridge_core::back_off::policies;

use crate::{api_error::ApiError, random};

/// Until the next try of a watch, by a policy that depends on what went wrong.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    failures: u32,
}

impl Backoff {
    /// It works again.
    pub(super) fn reset(&mut self) {
        self.failures = 0;
    }

    /// After one more failure.
    pub(super) fn after(&mut self, error: &ApiError) -> Duration {
        let policy = match error {
            // A definition was just established: the server needs a moment to serve it.
            ApiError::NotServed(_) => policies::WATCH_STARTING,
            error if is_initializing(error) => policies::WATCH_STARTING,
            // Somebody may grant it.
            ApiError::Forbidden(_) => policies::WATCH_FORBIDDEN,
            _ => policies::WATCH,
        };
        self.failures = self.failures.saturating_add(1);
        let least = match error {
            ApiError::Throttled { retry_after, .. } if !is_initializing(error) => *retry_after,
            _ => Duration::ZERO,
        };
        policy.wait_at_least(least, self.failures, random::fraction())
    }
}

/// Also said of a new definition: the cache behind it is filled within milliseconds, far sooner than the second it asks for.
fn is_initializing(error: &ApiError) -> bool {
    matches!(error, ApiError::Throttled { message, .. } if message.contains("initializing"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = policies::WATCH.first();

    #[test]
    fn it_doubles_up_to_the_cap_of_the_error_and_begins_anew_after_a_success() {
        let unavailable = ApiError::Unavailable(String::new());
        let mut backoff = Backoff::default();
        let delays: Vec<Duration> = (0..20).map(|_| backoff.after(&unavailable)).collect();
        assert!(delays[0] <= FIRST);
        assert!(delays[3] > FIRST, "{delays:?}");
        assert!(
            delays.iter().all(|delay| *delay <= Duration::from_secs(5)),
            "{delays:?}"
        );
        assert!(delays[19] >= Duration::from_millis(2_500), "{delays:?}");
        assert!(backoff.after(&ApiError::NotServed(String::new())) <= Duration::from_secs(1));
        backoff.reset();
        assert!(backoff.after(&unavailable) <= FIRST);
    }

    #[test]
    fn it_never_comes_back_sooner_than_the_server_asks() {
        let retry_after = Duration::from_secs(7);
        let throttled = ApiError::Throttled {
            retry_after,
            message: String::new(),
        };
        let mut backoff = Backoff::default();
        assert!((0..10).all(|_| backoff.after(&throttled) >= retry_after));
    }

    #[test]
    fn the_cache_of_a_new_definition_is_not_waited_for_a_second() {
        let message = "storage is (re)initializing".to_owned();
        let throttled = ApiError::Throttled {
            retry_after: Duration::from_secs(1),
            message,
        };
        assert!(Backoff::default().after(&throttled) <= FIRST);
    }
}
