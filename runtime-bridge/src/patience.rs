//! Trying again, for a bounded time, what is not there yet.

use std::{fmt::Display, future::Future, time::Duration};

use tokio::time::{Instant, sleep};

const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Repeats an attempt while its error is temporary and `until` has not come. The last error is the answer.
pub async fn patiently<T, E, F>(
    what: &str,
    until: Instant,
    is_temporary: impl Fn(&E) -> bool,
    mut attempt: impl FnMut() -> F,
) -> Result<T, E>
where
    E: Display,
    F: Future<Output = Result<T, E>>,
{
    let mut wait = FIRST_WAIT;
    let mut told = false;
    loop {
        let error = match attempt().await {
            Ok(done) => return Ok(done),
            Err(error) if !is_temporary(&error) || Instant::now() + wait >= until => return Err(error),
            Err(error) => error,
        };
        if !told {
            tracing::info!(%error, "waiting for {what}");
            told = true;
        }
        sleep(wait).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}
