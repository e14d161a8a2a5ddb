//! When a pass tries again what the API server did not do.

use std::time::Duration;

use bridge_core::managed::back_off;

use crate::api_error::ApiError;

/// How long to wait after the `failures`-th failure in a row (from 1); `jitter` from 0 to 1 keeps objects that failed together apart.
pub(super) fn pause(error: &ApiError, failures: u32, jitter: f64) -> Duration {
    let (first, longest) = match error {
        // Somebody was faster: what he wrote has been read meanwhile.
        ApiError::Conflict(_) => (Duration::from_millis(10), Duration::from_secs(5)),
        // A person must do something.
        ApiError::Invalid(_) | ApiError::Denied(_) => (Duration::from_secs(30), Duration::from_mins(10)),
        _ => (Duration::from_secs(1), Duration::from_mins(1)),
    };
    let pause = back_off(first, longest, failures, jitter);
    match error {
        ApiError::Throttled { retry_after, .. } => *retry_after + pause.mul_f64(jitter.clamp(0.0, 1.0)),
        _ => pause,
    }
}

/// What the API server itself asks for.
pub(super) fn advised(error: &ApiError) -> Duration {
    match error {
        ApiError::Throttled { retry_after, .. } => *retry_after,
        _ => Duration::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_wait_longer_and_longer_and_not_alike() {
        let seconds = |error: &ApiError| -> Vec<f64> {
            [1, 2, 5, 30]
                .into_iter()
                .map(|failures| pause(error, failures, 0.0).as_secs_f64())
                .collect()
        };
        let unavailable = ApiError::Unavailable(String::new());
        assert_eq!(seconds(&unavailable), [1.0, 2.0, 16.0, 60.0]);
        assert_eq!(
            seconds(&ApiError::Conflict(String::new())),
            [0.01, 0.02, 0.16, 5.0]
        );
        assert_eq!(
            seconds(&ApiError::Denied(String::new())),
            [30.0, 60.0, 480.0, 600.0]
        );
        assert!(pause(&unavailable, 30, 1.0) < Duration::from_secs(41));
    }
}
