//! What the status of a `Function` says of it, where no package manager does.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::endpoint_sources::{name_of, package_of};
use crate::{
    composite::{ConditionStamp, stored_conditions},
    reasons::FunctionReason,
};

const INSTALLED: &str = "Installed";
const HEALTHY: &str = "Healthy";
const UNKNOWN: &str = "Unknown";

/// How a function fares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// Where it listens is known; `Err`: why not.
    pub endpoint: Result<(), String>,
    /// Whether it answers.
    pub health: Health,
}

/// Whether a function answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// Nothing has called it yet.
    Unknown,
    /// It does.
    Answers,
    /// It does not, and why.
    Silent(String),
}

/// The status of a `Function` as it is to be; `None`: it is so, or a package manager writes it: the function has a revision, or a status that the
/// bridge does not write.
pub fn status(
    function: &Value,
    revisions: &[Value],
    standing: &Standing,
    now: Timestamp,
) -> Option<Map<String, Value>> {
    let name = name_of(function)?;
    if revisions
        .iter()
        .any(|revision| package_of(revision) == Some(name))
    {
        return None;
    }
    let before = function.get("status").unwrap_or(&Value::Null);
    let known = stored_conditions(before);
    if is_of_a_package_manager(before, &known) {
        return None;
    }
    let mut conditions = known.clone();
    let stamp = ConditionStamp {
        generation: function["metadata"]["generation"].as_i64().unwrap_or_default(),
        now,
    };
    for (type_, value, reason, message) in conditions_of(standing) {
        // Another process may have called it: what it found is not taken back.
        if value == UNKNOWN && known.contains_key(type_) {
            continue;
        }
        stamp.set(&mut conditions, type_, value, reason.as_str(), message, true);
    }
    if conditions == known {
        return None;
    }
    let mut status = before.as_object().cloned().unwrap_or_default();
    status.insert("conditions".to_owned(), conditions.into_values().collect());
    Some(status)
}

/// A package that cannot be fetched has no revision, and conditions that say why.
fn is_of_a_package_manager(status: &Value, known: &BTreeMap<String, Value>) -> bool {
    let is_ours = |condition: &Value| {
        let reason = condition["reason"].as_str().unwrap_or_default();
        FunctionReason::ALL.iter().any(|ours| ours.as_str() == reason)
    };
    let mut conditions = [INSTALLED, HEALTHY].iter().filter_map(|type_| known.get(*type_));
    !status["currentRevision"].is_null() || conditions.any(|condition| !is_ours(condition))
}

fn conditions_of(standing: &Standing) -> [(&'static str, &'static str, FunctionReason, &str); 2] {
    let installed = match &standing.endpoint {
        Ok(()) => (INSTALLED, "True", FunctionReason::ActivePackageRevision, ""),
        Err(why) => (
            INSTALLED,
            "False",
            FunctionReason::InactivePackageRevision,
            why.as_str(),
        ),
    };
    let healthy = match &standing.health {
        Health::Answers => (HEALTHY, "True", FunctionReason::HealthyPackageRevision, ""),
        Health::Silent(why) => (
            HEALTHY,
            "False",
            FunctionReason::UnhealthyPackageRevision,
            why.as_str(),
        ),
        Health::Unknown => (HEALTHY, UNKNOWN, FunctionReason::UnknownPackageRevisionHealth, ""),
    };
    [installed, healthy]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn function(status: &Value) -> Value {
        json!({"metadata": {"name": "f", "generation": 3}, "status": status})
    }

    fn answers() -> Standing {
        Standing {
            endpoint: Ok(()),
            health: Health::Answers,
        }
    }

    #[test]
    fn both_conditions_are_written_once() {
        let written = status(&function(&json!({"other": 1})), &[], &answers(), at(0)).unwrap();
        let condition = |type_: &str, reason: &str| {
            json!({
                "type": type_, "status": "True", "reason": reason, "message": "",
                "lastTransitionTime": "1970-01-01T00:00:00Z", "observedGeneration": 3,
            })
        };
        let conditions = [
            condition("Healthy", "HealthyPackageRevision"),
            condition("Installed", "ActivePackageRevision"),
        ];
        assert_eq!(
            Value::Object(written.clone()),
            json!({"other": 1, "conditions": conditions})
        );
        let again = status(&function(&Value::Object(written)), &[], &answers(), at(60));
        assert_eq!(again, None, "nothing is new");
    }

    #[test]
    fn what_another_process_found_is_not_taken_back() {
        let found = status(&function(&Value::Null), &[], &answers(), at(0)).unwrap();
        let unknown = Standing {
            health: Health::Unknown,
            ..answers()
        };
        let function = function(&Value::Object(found));
        assert_eq!(status(&function, &[], &unknown, at(60)), None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let conditions = |standing: &Standing| {
            let status = status(&function(&Value::Null), &[], standing, at(0)).unwrap();
            let conditions = status["conditions"].as_array().unwrap().iter();
            let told = conditions.map(|one| {
                let text = |field: &str| one[field].as_str().unwrap().to_owned();
                [text("status"), text("reason"), text("message")].join(" ")
            });
            told.collect::<Vec<_>>()
        };
        let unknown = Standing {
            endpoint: Err("no endpoint".to_owned()),
            health: Health::Unknown,
        };
        assert_eq!(
            conditions(&unknown),
            [
                "Unknown UnknownPackageRevisionHealth ",
                "False InactivePackageRevision no endpoint"
            ]
        );
        let silent = Standing {
            health: Health::Silent("connection refused".to_owned()),
            ..answers()
        };
        assert_eq!(
            conditions(&silent),
            [
                "False UnhealthyPackageRevision connection refused",
                "True ActivePackageRevision "
            ]
        );
    }

    #[test]
    fn what_a_package_manager_writes_is_left_to_it() {
        let revision = json!({"metadata": {"name": "f-1", "labels": {"pkg.crossplane.io/package": "f"}}});
        let of_another = json!({"metadata": {"name": "g-1", "labels": {"pkg.crossplane.io/package": "g"}}});
        let function = function(&Value::Null);
        assert_eq!(status(&function, &[revision], &answers(), at(0)), None);
        assert!(status(&function, &[of_another], &answers(), at(0)).is_some());
        for theirs in [
            json!({"conditions": [{"type": "Installed", "status": "False", "reason": "UnpackingPackage"}]}),
            json!({"currentRevision": "f-1"}),
        ] {
            assert_eq!(
                status(&self::function(&theirs), &[], &answers(), at(0)),
                None,
                "{theirs}"
            );
        }
    }
}
