//! Short times, kept exactly.

use std::time::Duration;

use tokio::time::{Instant, sleep};

/// Resolves after this time. A timer counts milliseconds, and many a creation takes less than a few.
pub(crate) async fn sleep_exactly(time: Duration) {
    let until = Instant::now() + time;
    sleep(time.saturating_sub(Duration::from_millis(2))).await;
    while Instant::now() < until {
        tokio::task::yield_now().await;
    }
}
