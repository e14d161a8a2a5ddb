//! Whether an object of the guard is as it should be.

use serde_json::Value;

/// What decides, whichever of them the kind has.
const DECIDING: [&str; 2] = ["spec", "webhooks"];

/// What is to be done about one object of the guard.
#[derive(Debug, Clone, PartialEq)]
pub enum GuardWrite {
    /// It is as it should be.
    Keep,
    /// There is none.
    Create(Value),
    /// It was changed: it is put back over what was found.
    Update(Value),
}

/// What is to be done. `accepted`: the answer to the last write, as an API server may store more than it is sent.
///
/// What says when the guard refuses is compared as a whole: an addition may narrow it.
pub fn plan_write(wanted: &Value, found: Option<&Value>, accepted: Option<&Value>) -> GuardWrite {
    let Some(found) = found else {
        return GuardWrite::Create(wanted.clone());
    };
    let is_as = |other: &Value| {
        DECIDING
            .iter()
            .all(|field| other.get(*field) == found.get(*field))
    };
    let labels = wanted["metadata"]["labels"].as_object().into_iter().flatten();
    let mut labels = labels.filter(|(label, value)| found["metadata"]["labels"][label.as_str()] != **value);
    if labels.next().is_none() && (is_as(wanted) || accepted.is_some_and(is_as)) {
        return GuardWrite::Keep;
    }
    let mut put_back = found.clone();
    for field in DECIDING {
        if let Some(value) = wanted.get(field) {
            put_back[field] = value.clone();
        }
    }
    for (label, value) in wanted["metadata"]["labels"].as_object().into_iter().flatten() {
        put_back["metadata"]["labels"][label.as_str()] = value.clone();
    }
    GuardWrite::Update(put_back)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::protection::guard::policy;

    fn stored() -> Value {
        let mut stored = policy();
        stored["metadata"]["uid"] = "u".into();
        stored["metadata"]["annotations"] = json!({"theirs": "1"});
        stored["status"] = json!({"observedGeneration": 1});
        stored
    }

    #[test]
    fn a_missing_object_is_created_and_one_as_it_should_be_is_kept() {
        assert_eq!(plan_write(&policy(), None, None), GuardWrite::Create(policy()));
        assert_eq!(plan_write(&policy(), Some(&stored()), None), GuardWrite::Keep);
    }

    #[test]
    fn an_addition_is_taken_back_and_the_rest_is_left() {
        let mut edited = stored();
        edited["spec"]["matchConditions"] = json!([{"name": "never", "expression": "false"}]);
        assert_eq!(
            plan_write(&policy(), Some(&edited), None),
            GuardWrite::Update(stored())
        );
        edited = stored();
        edited["metadata"]["labels"] = Value::Null;
        assert_eq!(
            plan_write(&policy(), Some(&edited), None),
            GuardWrite::Update(stored())
        );
    }

    #[test]
    fn what_the_api_server_adds_to_a_write_counts_as_written() {
        let mut answer = stored();
        answer["spec"]["filledIn"] = true.into();
        assert_eq!(
            plan_write(&policy(), Some(&answer), Some(&answer)),
            GuardWrite::Keep
        );
        let mut edited = answer.clone();
        edited["spec"]["failurePolicy"] = "Ignore".into();
        assert!(matches!(
            plan_write(&policy(), Some(&edited), Some(&answer)),
            GuardWrite::Update(_)
        ));
    }
}
