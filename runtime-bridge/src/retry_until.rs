//! Trying again, for a bounded time, what is not there yet.

use std::{fmt::Display, future::Future};

use bridge_core::back_off::policies;
use tokio::time::{Instant, sleep};

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
        let wait = policies::STARTUP.wait(failures, 0.0);
        if !is_temporary(&error) || Instant::now() + wait >= until {
            return Err(error);
        }
        if failures == 1 {
            tracing::info!(%error, "waiting for {what}");
        }
        sleep(wait).await;
    }
}
