//! For conditions that no one announces.

use std::time::Duration;

/// Judges nobody's speed: on a busy machine an API server alone may need two minutes to write some large objects.
const LIMIT: Duration = Duration::from_mins(5);
const EVERY: Duration = Duration::from_millis(50);

/// Asks again and again until the answer is yes.
///
/// # Panics
/// After five minutes, saying what was waited for.
pub async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let asked = async {
        while !holds().await {
            tokio::time::sleep(EVERY).await;
        }
    };
    assert!(
        tokio::time::timeout(LIMIT, asked).await.is_ok(),
        "waited {LIMIT:?} until {what}"
    );
}
