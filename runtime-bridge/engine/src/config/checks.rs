//! Whether a config is good: `CheckConfig` is asked once per revision while it goes well, and less and less often while it does not. A call
//! that is refused for its config is a reason to ask: one object, whose region is not enabled, holds up no other. Where the plugin checks no
//! configs, such a call counts like a check that went wrong.

use std::time::Duration;

use bridge_core::{
    back_off::{BackoffPolicy, policies},
    external::{CallError, Config, Failure},
    managed::{Reaction, reaction},
};
use jiff::Timestamp;
use parking_lot::Mutex;

use super::ConfigError;
use crate::{clock::Clock, object::Key, ports::External};

/// How long one call may take.
pub(super) const CHECK_WITHIN: Duration = Duration::from_secs(30);

/// Where a check went well in between, a refused call counts as one in a row if it comes within this time after the last wait.
const IN_A_ROW: Duration = Duration::from_mins(5);

/// So long after a check that answered a doubt none is raised: one object that is rejected all the time would else have the config read and checked as often.
const NO_DOUBT: Duration = Duration::from_secs(5);

/// The code's own class decides: what passes by itself is no fault of the config.
fn judged(config: &Key, failure: Failure) -> ConfigError {
    let (config, failure) = (config.clone(), Box::new(failure));
    match reaction(failure.code) {
        Reaction::BackOff | Reaction::WaitForDependency | Reaction::SuspendGroup => {
            ConfigError::NotDecided { config, failure }
        }
        Reaction::WaitForUser
        | Reaction::Reobserve
        | Reaction::RetrySlowly
        | Reaction::SuspendConfig
        | Reaction::RereadCredentials => ConfigError::Rejected { config, failure },
    }
}

/// The checks of one config.
pub(super) struct Checks {
    /// While it is rejected.
    backoff: BackoffPolicy,
    failed: Mutex<Option<Failed>>,
    doubt: Mutex<Option<Doubt>>,
    passed: Mutex<Option<Passed>>,
    read_afresh: Mutex<Option<ReadAfresh>>,
}

/// A call was refused for its config, and the plugin was not asked yet whether the config is at fault.
struct Doubt {
    revision: String,
    failure: Failure,
    since: Timestamp,
}

/// The last check that went well.
struct Passed {
    revision: String,
    at: Timestamp,
    /// A call had been rejected before it.
    was_doubted: bool,
}

/// The last time that credentials had expired, and were read afresh for it.
struct ReadAfresh {
    revision: String,
    at: Timestamp,
}

/// The last failure of a revision.
struct Failed {
    revision: String,
    times: u32,
    since: Timestamp,
    until: Timestamp,
    error: ConfigError,
    /// A check went well since: only calls can tell.
    passed: bool,
    /// How a call was rejected, where no check can tell whether the next one will be; none was accepted since.
    unrefuted: Option<ConfigError>,
}

impl Checks {
    /// Nothing was checked yet.
    pub(super) fn new(backoff: BackoffPolicy) -> Self {
        Self {
            backoff,
            failed: Mutex::default(),
            doubt: Mutex::default(),
            passed: Mutex::default(),
            read_afresh: Mutex::default(),
        }
    }

    /// When the next one may be asked, unless the last one went well.
    pub(super) fn again_at(&self) -> Option<Timestamp> {
        self.failed.lock().as_ref().map(|failed| failed.until)
    }

    /// Whom the upstream takes us for. A refusal is kept for a while, so that a thousand objects do not ask a thousand times.
    pub(super) async fn identity(
        &self,
        external: &dyn External,
        clock: &dyn Clock,
        key: &Key,
        config: &Config,
    ) -> Result<String, ConfigError> {
        let now = clock.now();
        if let Some(failed) = self.failed.lock().as_ref()
            && failed.revision == config.revision
            && now < failed.until
        {
            return Err(failed.error.clone());
        }
        let error = match external.check_config(config, now + CHECK_WITHIN).await {
            Ok(Ok(identity)) => {
                let was_doubted = self.take_doubt(config).is_some();
                // What was sent before it was asked tells nothing that it did not know.
                self.pass(config, now, was_doubted);
                return Ok(identity);
            }
            Ok(Err(failure)) => {
                self.take_doubt(config);
                judged(key, failure)
            }
            // A plugin that does not check configs knows no identities either, and calls alone can tell.
            Err(CallError::Rejected { code, .. }) if code == "UNIMPLEMENTED" => {
                let Some(doubt) = self.take_doubt(config) else {
                    self.go_on();
                    return Ok(String::new());
                };
                let error = ConfigError::Rejected {
                    config: key.clone(),
                    failure: Box::new(doubt.failure),
                };
                self.fail(config, error.clone(), doubt.since);
                self.of_revision(config, |failed| failed.unrefuted = Some(error.clone()));
                return Err(error);
            }
            Err(source) => ConfigError::NotChecked {
                config: key.clone(),
                source,
            },
        };
        self.fail(config, error.clone(), clock.now());
        Err(error)
    }

    /// A call that began then was refused for its config. Whether that is news: then the config is read and checked afresh.
    pub(super) fn rejected(
        &self,
        config: &Config,
        failure: &Failure,
        began: Timestamp,
        now: Timestamp,
    ) -> bool {
        if reaction(failure.code) == Reaction::RereadCredentials && self.may_read_afresh(config, began, now) {
            return true;
        }
        // Answers of calls that were on their way together are one failure, not many.
        let has_failed = self
            .failed
            .lock()
            .as_ref()
            .is_some_and(|failed| failed.revision == config.revision && began < failed.since);
        let has_passed = self.passed.lock().as_ref().is_some_and(|passed| {
            passed.revision == config.revision
                && (began < passed.at || passed.was_doubted && now < passed.at + NO_DOUBT)
        });
        if has_failed || has_passed {
            return false;
        }
        *self.doubt.lock() = Some(Doubt {
            revision: config.revision.clone(),
            failure: failure.clone(),
            since: now,
        });
        true
    }

    /// What is reported of a config that is tried again, as nothing but a call can tell whether it is good by now.
    pub(super) fn unrefuted(&self, config: &Config) -> Option<ConfigError> {
        let failed = self.failed.lock();
        let failed = failed
            .as_ref()
            .filter(|failed| failed.revision == config.revision)?;
        failed.unrefuted.clone()
    }

    /// A call has rejected it, and none was accepted since: what no check can find out again.
    pub(super) fn is_rejected_by_calls(&self) -> bool {
        let failed = self.failed.lock();
        failed.as_ref().is_some_and(|failed| failed.unrefuted.is_some())
    }

    /// A call that began then was accepted. Whether that is news.
    pub(super) fn accepted(&self, config: &Config, began: Timestamp) -> bool {
        self.of_revision(config, |failed| {
            let tried = began >= failed.until;
            failed.unrefuted.take_if(|_| tried).is_some()
        })
        .unwrap_or(false)
    }

    /// The doubt about this revision, which ends here.
    fn take_doubt(&self, config: &Config) -> Option<Doubt> {
        let doubt = self.doubt.lock().take();
        doubt.filter(|doubt| doubt.revision == config.revision)
    }

    /// Once; and not again if what was read afresh is refused soon after.
    fn may_read_afresh(&self, config: &Config, began: Timestamp, now: Timestamp) -> bool {
        let mut last = self.read_afresh.lock();
        match last.as_ref().filter(|last| last.revision == config.revision) {
            // Calls that were on their way together.
            Some(last) if began <= last.at => true,
            Some(last) if now < last.at + IN_A_ROW => false,
            _ => {
                *last = Some(ReadAfresh {
                    revision: config.revision.clone(),
                    at: now,
                });
                true
            }
        }
    }

    fn pass(&self, config: &Config, at: Timestamp, was_doubted: bool) {
        *self.passed.lock() = Some(Passed {
            revision: config.revision.clone(),
            at,
            was_doubted,
        });
        self.go_on();
        self.of_revision(config, |failed| failed.unrefuted = None);
    }

    fn go_on(&self) {
        if let Some(failed) = self.failed.lock().as_mut() {
            failed.passed = true;
        }
    }

    fn of_revision<T>(&self, config: &Config, change: impl FnOnce(&mut Failed) -> T) -> Option<T> {
        let mut failed = self.failed.lock();
        failed
            .as_mut()
            .filter(|failed| failed.revision == config.revision)
            .map(change)
    }

    fn fail(&self, config: &Config, error: ConfigError, now: Timestamp) {
        let mut failed = self.failed.lock();
        // A check that did not come about refutes nothing.
        let unrefuted = failed
            .as_ref()
            .filter(|last| last.revision == config.revision)
            .and_then(|last| last.unrefuted.clone());
        let times = match failed.as_ref() {
            Some(last)
                if last.revision == config.revision && (!last.passed || now < last.until + IN_A_ROW) =>
            {
                last.times.saturating_add(1)
            }
            _ => 1,
        };
        *failed = Some(Failed {
            revision: config.revision.clone(),
            times,
            since: now,
            until: now + self.wait(times, &error),
            error,
            passed: false,
            unrefuted,
        });
    }

    /// Not left to chance: a config is checked once, whoever asks, and its objects come back spread.
    fn wait(&self, times: u32, error: &ConfigError) -> Duration {
        let (policy, advised) = match error {
            ConfigError::Rejected { failure, .. } => (self.backoff, failure.retry_after.unwrap_or_default()),
            ConfigError::NotDecided { failure, .. } => (
                policies::CONFIG_UNANSWERED,
                failure.retry_after.unwrap_or_default(),
            ),
            _ => (policies::CONFIG_UNANSWERED, Duration::ZERO),
        };
        policy.wait_at_least(advised, times, 0.0)
    }
}
