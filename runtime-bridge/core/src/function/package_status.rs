//! What the status of a `Function` says of it, where no package manager does.

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::endpoint_sources::{name_of, package_of};
use crate::{
    composite::{ConditionStamp, stored_conditions},
    reasons::FunctionReason,
};

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

/// The status of a `Function` as it is to be; `None`: it is so, or a package manager writes it, as the function has a revision.
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
    let mut conditions = known.clone();
    let stamp = ConditionStamp {
        generation: function["metadata"]["generation"].as_i64().unwrap_or_default(),
        now,
    };
    for (type_, value, reason, message) in conditions_of(standing) {
        stamp.set(&mut conditions, type_, value, reason.as_str(), message, true);
    }
    if conditions == known {
        return None;
    }
    let mut status = before.as_object().cloned().unwrap_or_default();
    status.insert("conditions".to_owned(), conditions.into_values().collect());
    Some(status)
}

fn conditions_of(standing: &Standing) -> [(&'static str, &'static str, FunctionReason, &str); 2] {
    let installed = match &standing.endpoint {
        Ok(()) => ("Installed", "True", FunctionReason::ActivePackageRevision, ""),
        Err(why) => (
            "Installed",
            "False",
            FunctionReason::InactivePackageRevision,
            why.as_str(),
        ),
    };
    let healthy = match &standing.health {
        Health::Answers => ("Healthy", "True", FunctionReason::HealthyPackageRevision, ""),
        Health::Silent(why) => (
            "Healthy",
            "False",
            FunctionReason::UnhealthyPackageRevision,
            why.as_str(),
        ),
        Health::Unknown => (
            "Healthy",
            "Unknown",
            FunctionReason::UnknownPackageRevisionHealth,
            "",
        ),
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
    }
}
