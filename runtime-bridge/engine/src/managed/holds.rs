//! Pauses that reach further than one object: one bad key stops one account, not five thousand objects one by one.

use std::{collections::HashMap, time::Duration};

use bridge_core::{
    external::{Config, Failure},
    managed::{Hold, Problem, Reaction, delay, reaction},
};
use jiff::Timestamp;
use parking_lot::Mutex;

/// How long one object may try whether a config works again, before another may.
const TRIAL: Duration = Duration::from_secs(30);

/// What stands in the way of whom.
#[derive(Debug, Default)]
pub struct Holds {
    configs: Mutex<HashMap<String, Held>>,
    groups: Mutex<HashMap<(String, String), Held>>,
}

#[derive(Debug)]
struct Held {
    revision: String,
    failures: u32,
    until: Timestamp,
    problem: Problem,
}

/// May an object of this config call?
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Gate {
    /// Yes.
    Open,
    /// Not before.
    Held(Hold),
    /// This one may try whether the config works again; the others wait meanwhile.
    Try,
}

impl Holds {
    /// Looks up config and rate-limit group.
    pub(super) fn gate(&self, config: &Config, group: &str, now: Timestamp) -> Gate {
        if let Some(held) = self
            .groups
            .lock()
            .get(&(config.id.clone(), group.to_owned()))
            .filter(|held| held.until > now)
        {
            return Gate::Held(Hold {
                until: held.until,
                problem: held.problem.clone(),
            });
        }
        let mut configs = self.configs.lock();
        let Some(held) = configs.get_mut(&config.id) else {
            return Gate::Open;
        };
        if held.revision != config.revision {
            configs.remove(&config.id);
            return Gate::Open;
        }
        if held.until > now {
            return Gate::Held(Hold {
                until: held.until,
                problem: held.problem.clone(),
            });
        }
        held.until = now + TRIAL;
        Gate::Try
    }

    /// Takes in a failure, if it reaches further than its object.
    pub(super) fn learn(&self, config: &Config, group: &str, failure: &Failure, now: Timestamp, jitter: f64) {
        let problem = Problem {
            reason: failure.reason.clone(),
            message: failure.message.clone(),
        };
        let again = |held: Option<&Held>| {
            held.filter(|held| held.revision == config.revision)
                .map_or(0, |held| held.failures)
                + 1
        };
        let held = |failures: u32| Held {
            revision: config.revision.clone(),
            failures,
            until: now + delay(Some(failure), failures, jitter),
            problem,
        };
        match reaction(failure.code) {
            Reaction::HoldConfig => {
                let mut configs = self.configs.lock();
                let failures = again(configs.get(&config.id));
                configs.insert(config.id.clone(), held(failures));
            }
            Reaction::HoldGroup => {
                let key = (config.id.clone(), group.to_owned());
                let mut groups = self.groups.lock();
                // Answers of calls that were on their way together are one failure, not many.
                let failures = match groups.get(&key) {
                    Some(held) if held.until > now => held.failures,
                    other => again(other),
                };
                groups.insert(key, held(failures));
            }
            Reaction::WaitForUser
            | Reaction::LookAgain
            | Reaction::BackOff
            | Reaction::WaitForOthers
            | Reaction::RetrySlowly => {}
        }
    }

    /// A call of this config worked.
    pub(super) fn worked(&self, config: &Config, group: &str) {
        self.configs.lock().remove(&config.id);
        self.groups.lock().remove(&(config.id.clone(), group.to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use bridge_core::external::{Effect, FailureCode, Secrets};

    use super::*;

    fn config(revision: &str) -> Config {
        Config {
            id: "config".to_owned(),
            revision: revision.to_owned(),
            settings_digest: String::new(),
            identity: String::new(),
            settings: None,
            credentials: Secrets::default(),
            credentials_expire: None,
        }
    }

    fn failure(code: FailureCode) -> Failure {
        Failure {
            code,
            effect: Effect::None,
            reason: "Reason".to_owned(),
            message: "message".to_owned(),
            retry_after: Some(Duration::from_secs(7)),
            violations: Vec::new(),
            upstream_code: String::new(),
            existing_external_name: String::new(),
        }
    }

    fn held_until(gate: &Gate) -> Option<Timestamp> {
        match gate {
            Gate::Held(hold) => Some(hold.until),
            Gate::Open | Gate::Try => None,
        }
    }

    #[test]
    fn a_bad_key_holds_its_config_until_it_changes_and_one_object_tries_meanwhile() {
        let (holds, start) = (Holds::default(), Timestamp::UNIX_EPOCH);
        holds.learn(
            &config("1"),
            "Bucket",
            &failure(FailureCode::Unauthenticated),
            start,
            0.0,
        );
        let until = start + Duration::from_secs(7);
        assert_eq!(held_until(&holds.gate(&config("1"), "Queue", start)), Some(until));
        assert_eq!(holds.gate(&config("1"), "Queue", until), Gate::Try);
        assert_eq!(
            held_until(&holds.gate(&config("1"), "Queue", until)),
            Some(until + TRIAL)
        );
        assert_eq!(holds.gate(&config("2"), "Queue", start), Gate::Open);
    }

    #[test]
    fn throttling_holds_one_group_of_one_config() {
        let (holds, start) = (Holds::default(), Timestamp::UNIX_EPOCH);
        holds.learn(
            &config("1"),
            "Bucket",
            &failure(FailureCode::Throttled),
            start,
            0.0,
        );
        assert_eq!(
            held_until(&holds.gate(&config("1"), "Bucket", start)),
            Some(start + Duration::from_secs(7))
        );
        assert_eq!(holds.gate(&config("1"), "Queue", start), Gate::Open);
        holds.worked(&config("1"), "Bucket");
        assert_eq!(holds.gate(&config("1"), "Bucket", start), Gate::Open);
    }
}
