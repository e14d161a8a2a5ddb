//! Trying again, for a bounded time, what is not there yet.

use std::{fmt::Display, future::Future, time::Duration};

use bridge_core::back_off::doubled;
use tokio::time::{Instant, sleep};

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Repeats an attempt while its error is temporary and `until` has not come. The last error is the answer.
pub async fn retry_until<T, E, F>(
    what: &str,
    until: Instant,
    is_temporary: impl Fn(&E) -> bool,
    mut attempt: impl FnMut() -> F,
) -> Result<T, E>
where
    E: Display,
    F: Future<Output = Result<T, E>>,
{
    let mut failures = 0;
    loop {
        let error = match attempt().await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        failures += 1;
        let wait = doubled(FIRST_WAIT, LONGEST_WAIT, failures);
        if !is_temporary(&error) || Instant::now() + wait >= until {
            return Err(error);
        }
        if failures == 1 {
            tracing::info!(%error, "waiting for {what}");
        }
        sleep(wait).await;
    }
}
