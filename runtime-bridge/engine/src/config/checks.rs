//! `CheckConfig`: asked once per revision while it goes well, and less and less often while it does not.

use std::time::Duration;

use bridge_core::external::{CallError, Config};
use jiff::Timestamp;

use super::ConfigError;
use crate::{clock::Clock, object::Key, ports::External};

/// How long one call may take.
const CHECK_WITHIN: Duration = Duration::from_secs(30);

/// First and longest wait after a refusal, unless the plugin advises a longer one.
const REFUSED: (Duration, Duration) = (Duration::from_secs(5), Duration::from_mins(5));

/// First and longest wait while the plugin cannot be asked.
const NOT_CHECKED: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));

/// The checks of one config.
#[derive(Default)]
pub(super) struct Checks(Option<Failed>);

/// The last check of a revision failed.
struct Failed {
    revision: String,
    times: u32,
    until: Timestamp,
    error: ConfigError,
}

impl Checks {
    /// When the next one may be asked; `None`: the last one went well.
    pub(super) fn again_at(&self) -> Option<Timestamp> {
        self.0.as_ref().map(|failed| failed.until)
    }

    /// Whom the upstream takes us for. A refusal is kept for a while, so that a thousand objects do not ask a thousand times.
    pub(super) async fn identity(
        &mut self,
        external: &dyn External,
        clock: &dyn Clock,
        key: &Key,
        config: &Config,
    ) -> Result<String, ConfigError> {
        let now = clock.now();
        let times = match self
            .0
            .as_ref()
            .filter(|failed| failed.revision == config.revision)
        {
            Some(failed) if now < failed.until => return Err(failed.error.clone()),
            Some(failed) => failed.times.saturating_add(1),
            None => 1,
        };
        self.0 = None;
        let error = match external.check_config(config, now + CHECK_WITHIN).await {
            Ok(Ok(identity)) => return Ok(identity),
            Ok(Err(failure)) => ConfigError::Refused {
                config: key.clone(),
                failure: Box::new(failure),
            },
            // A plugin that does not check configs knows no identities either.
            Err(CallError::Refused { code, .. }) if code == "UNIMPLEMENTED" => return Ok(String::new()),
            Err(source) => ConfigError::NotChecked {
                config: key.clone(),
                source,
            },
        };
        self.0 = Some(Failed {
            revision: config.revision.clone(),
            times,
            until: clock.now() + wait(times, &error),
            error: error.clone(),
        });
        Err(error)
    }
}

/// Doubles each time.
fn wait(times: u32, error: &ConfigError) -> Duration {
    let ((first, longest), advised) = match error {
        ConfigError::Refused { failure, .. } => (REFUSED, failure.retry_after.unwrap_or_default()),
        _ => (NOT_CHECKED, Duration::ZERO),
    };
    let doublings = times.saturating_sub(1).min(10);
    (first * 2_u32.pow(doublings)).min(longest).max(advised)
}
