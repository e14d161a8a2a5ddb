//! Pauses of rate-limit groups: one throttled answer stops the objects of one account, not five thousand one by one.

use std::collections::HashMap;

use bridge_core::{
    back_off::policies::CallBackoffs,
    external::{Config, Failure},
    managed::{Problem, Suspension, delay},
};
use jiff::Timestamp;
use parking_lot::Mutex;

/// What stands in the way of whom, by config and group.
#[derive(Debug, Default)]
pub struct Suspensions {
    groups: Mutex<HashMap<(String, String), SuspendedGroup>>,
    backoffs: CallBackoffs,
}

#[derive(Debug)]
struct SuspendedGroup {
    /// Of the config whose calls were throttled: other credentials may be another account, with limits of its own.
    revision: String,
    since: Timestamp,
    failures: u32,
    until: Timestamp,
    problem: Problem,
}

impl Suspensions {
    /// Nothing is suspended yet.
    pub(super) fn new(backoffs: CallBackoffs) -> Self {
        Self {
            groups: Mutex::default(),
            backoffs,
        }
    }

    /// What holds the objects of this config and group.
    pub(super) fn of(&self, config: &Config, group: &str, now: Timestamp) -> Option<Suspension> {
        let suspensions = self.groups.lock();
        let suspended = suspensions
            .get(&key(config, group))
            .filter(|suspended| suspended.until > now && suspended.revision == config.revision)?;
        Some(Suspension {
            until: suspended.until,
            problem: suspended.problem.clone(),
        })
    }

    /// A call that began then was throttled.
    pub(super) fn throttled(
        &self,
        config: &Config,
        group: &str,
        failure: &Failure,
        began: Timestamp,
        now: Timestamp,
        chance: f64,
    ) {
        let mut suspensions = self.groups.lock();
        let former = suspensions.get_mut(&key(config, group));
        let failures = match former {
            // A late answer to the former revision says nothing of this one, and this one's first failure nothing of the former's count.
            Some(suspended) if suspended.revision != config.revision && began < suspended.since => return,
            Some(suspended) if suspended.revision != config.revision => 1,
            // Answers of calls that were on their way together are one failure, not many.
            Some(suspended) if suspended.until > now || began < suspended.since => {
                let advised = failure.retry_after.map(|advice| now + advice);
                suspended.until = suspended.until.max(advised.unwrap_or(suspended.until));
                return;
            }
            Some(suspended) => suspended.failures.saturating_add(1),
            None => 1,
        };
        let suspended = SuspendedGroup {
            revision: config.revision.clone(),
            since: now,
            failures,
            until: now + delay(&self.backoffs, Some(failure), failures, chance),
            problem: Problem {
                reason: failure.reason.clone(),
                message: failure.message.clone(),
            },
        };
        suspensions.insert(key(config, group), suspended);
    }

    /// A call that began then worked. It ends no hold in force, and says nothing of one that came after it.
    pub(super) fn worked(&self, config: &Config, group: &str, began: Timestamp, now: Timestamp) {
        let mut suspensions = self.groups.lock();
        let key = key(config, group);
        if suspensions
            .get(&key)
            .is_some_and(|suspended| suspended.until <= now && suspended.since <= began)
        {
            suspensions.remove(&key);
        }
    }
}

fn key(config: &Config, group: &str) -> (String, String) {
    (config.id.clone(), group.to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bridge_core::external::{Effect, FailureCode, Secrets};

    use super::*;

    const START: Timestamp = Timestamp::UNIX_EPOCH;

    fn config() -> Config {
        Config {
            id: "config".to_owned(),
            revision: "1".to_owned(),
            settings_digest: String::new(),
            identity: String::new(),
            settings: None,
            credentials: Secrets::default(),
            credentials_expire: None,
        }
    }

    fn failure(retry_after: Option<u64>) -> Failure {
        Failure {
            code: FailureCode::Throttled,
            effect: Effect::None,
            reason: "Reason".to_owned(),
            message: "message".to_owned(),
            retry_after: retry_after.map(Duration::from_secs),
            violations: Vec::new(),
            upstream_code: String::new(),
            upstream_request_id: String::new(),
            existing_external_name: String::new(),
        }
    }

    fn at(second: u64) -> Timestamp {
        START + Duration::from_secs(second)
    }

    /// Seconds that are left.
    fn left(suspensions: &Suspensions, second: u64) -> Option<i64> {
        let suspension = suspensions.of(&config(), "Bucket", at(second))?;
        Some(suspension.until.duration_since(at(second)).as_secs())
    }

    #[test]
    fn throttling_holds_one_group_of_one_config() {
        let suspensions = Suspensions::default();
        suspensions.throttled(&config(), "Bucket", &failure(Some(7)), START, START, 0.0);
        assert_eq!(left(&suspensions, 0), Some(7));
        assert_eq!(left(&suspensions, 7), None);
        assert_eq!(suspensions.of(&config(), "Queue", START), None);
    }

    #[test]
    fn a_new_config_revision_lifts_a_hold() {
        let suspensions = Suspensions::default();
        let renewed = Config {
            revision: "2".to_owned(),
            ..config()
        };
        let is_held = |config: &Config, second| suspensions.of(config, "Bucket", at(second)).is_some();
        suspensions.throttled(&config(), "Bucket", &failure(Some(3600)), START, START, 0.0);
        assert!(is_held(&config(), 1));
        assert!(!is_held(&renewed, 1));
        suspensions.throttled(&renewed, "Bucket", &failure(Some(5)), at(1), at(2), 0.0);
        assert!(is_held(&renewed, 3), "its own calls are throttled");
        suspensions.throttled(&config(), "Bucket", &failure(Some(3600)), at(0), at(3), 0.0);
        assert!(!is_held(&renewed, 7), "a late answer to the former revision");
    }

    #[test]
    fn a_success_does_not_end_an_active_suspension() {
        let suspensions = Suspensions::default();
        suspensions.throttled(&config(), "Bucket", &failure(Some(30)), START, at(1), 0.0);
        suspensions.worked(&config(), "Bucket", START, at(2));
        assert_eq!(left(&suspensions, 2), Some(29));
    }

    #[test]
    fn a_burst_counts_as_one_failure_until_a_success() {
        let suspensions = Suspensions::default();
        for second in [1, 2, 4] {
            suspensions.throttled(&config(), "Bucket", &failure(None), START, at(second), 0.0);
        }
        assert_eq!(
            left(&suspensions, 1),
            Some(2),
            "what was sent before it is no news"
        );
        suspensions.throttled(&config(), "Bucket", &failure(None), at(4), at(5), 0.0);
        assert_eq!(left(&suspensions, 5), Some(4), "the second in a row");
        suspensions.worked(&config(), "Bucket", at(4), at(10));
        suspensions.throttled(&config(), "Bucket", &failure(None), at(11), at(11), 0.0);
        assert_eq!(
            left(&suspensions, 11),
            Some(8),
            "that success was sent before the second"
        );
        suspensions.worked(&config(), "Bucket", at(20), at(20));
        suspensions.throttled(&config(), "Bucket", &failure(None), at(21), at(21), 0.0);
        assert_eq!(left(&suspensions, 21), Some(2));
    }
}
