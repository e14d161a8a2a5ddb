//! What an observation takes in memory, about, and what becomes of one that takes much.

use serde_json::Value;

use crate::{
    external::{Answer, Document, FieldDiff, Observation, OutcomeResult},
    limits,
};

/// What an observation may weigh that is kept for each object, in bytes.
pub(super) const KEPT: usize = 64 << 10;

/// What one may weigh that any number of reconciles hold until they end, in bytes. A document of many small values takes more than ten times what it has
/// as text.
const HELD: usize = 512 << 10;

/// Whether so few reconciles may hold one of this size at once that they are counted.
#[must_use]
pub fn is_large(observation: &Observation) -> bool {
    !weighs_at_most(observation, HELD)
}

/// Takes a large observation out of the answer of a call, which is held until it is persisted, however long that takes: the observation would save a
/// read, and is made again instead. Its warnings stay, and its connection details, which count before the answer's of the same key, as far as one Secret
/// can hold them beside the answer's others. Returns whether there was one.
pub fn drop_large_observation(answer: &mut Answer) -> bool {
    let Ok(outcome) = answer else { return false };
    let OutcomeResult::Completed(completed) = &mut outcome.result else {
        return false;
    };
    let Some(observation) = completed.observation.take_if(|observation| is_large(observation)) else {
        return false;
    };
    let details = &mut outcome.connection_details.0;
    let mut bytes: usize = details.iter().map(|(key, value)| key.len() + value.len()).sum();
    for (key, value) in observation.connection_details.0 {
        let former = details.get(&key).map_or(0, |former| key.len() + former.len());
        let then = bytes - former + key.len() + value.len();
        if then <= limits::CONNECTION_DETAILS {
            bytes = then;
            details.insert(key, value);
        }
    }
    outcome.warnings.extend(observation.warnings);
    true
}

/// Whether an observation takes at most so many bytes.
pub(super) fn weighs_at_most(observation: &Observation, bytes: usize) -> bool {
    weight(observation, bytes).is_some()
}

/// The bytes that an observation takes; `None`: more than so many.
pub(super) fn weight(observation: &Observation, most: usize) -> Option<usize> {
    let mut room = Room(most);
    let documents = [Some(&observation.parameters), observation.status.as_ref()];
    let fits = documents
        .into_iter()
        .flatten()
        .all(|document| room.takes_fields(document))
        && observation.diffs.iter().all(|diff| {
            let mut values = [&diff.desired, &diff.observed].into_iter().flatten();
            room.takes(size_of::<FieldDiff>() + diff.path.len())
                && values.all(|value| room.takes_value(value))
        });
    fits.then_some(most - room.0)
}

/// The bytes that are left.
struct Room(usize);

impl Room {
    /// Whether there is room for so many bytes, which are taken then.
    fn takes(&mut self, bytes: usize) -> bool {
        let rest = self.0.checked_sub(bytes);
        self.0 = rest.unwrap_or_default();
        rest.is_some()
    }

    fn takes_fields(&mut self, fields: &Document) -> bool {
        let mut fields = fields.iter();
        fields.all(|(name, value)| self.takes(name.len()) && self.takes_value(value))
    }

    fn takes_value(&mut self, value: &Value) -> bool {
        const EACH: usize = 48;
        let own = EACH + value.as_str().map_or(0, str::len);
        self.takes(own)
            && match value {
                Value::Array(items) => items.iter().all(|item| self.takes_value(item)),
                Value::Object(fields) => self.takes_fields(fields),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
            }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::external::{CallError, Completed, Outcome, Secrets, Warning};

    fn observation(parameters: &Value) -> Observation {
        Observation {
            parameters: parameters.as_object().cloned().unwrap_or_default(),
            ..Observation::default()
        }
    }

    fn is_small(observation: &Observation) -> bool {
        weighs_at_most(observation, KEPT)
    }

    #[test]
    fn an_observation_is_weighed_as_it_lies_in_memory() {
        assert!(is_small(&observation(&json!({"a": "x".repeat(KEPT / 2)}))));
        assert!(!is_small(&observation(&json!({"a": "x".repeat(KEPT)}))));
        // Two bytes each as text.
        assert!(!is_small(&observation(&json!({"a": vec![0; 2000]}))));
        assert_eq!(
            weight(&observation(&json!({"key": "value"})), KEPT),
            Some("keyvalue".len() + 48)
        );
        assert_eq!(weight(&observation(&json!({"key": "value"})), 10), None);
        let mut of_status = observation(&json!({}));
        of_status.status = observation(&json!({"a": "x".repeat(KEPT)})).parameters.into();
        assert!(!is_small(&of_status));
        assert!(!is_small(&observation(&json!({"a": {"x".repeat(KEPT): 1}}))));
        let differs = |path: &str| FieldDiff {
            path: path.to_owned(),
            desired: None,
            observed: None,
            needs_replacement: false,
        };
        let mut of_diffs = observation(&json!({}));
        of_diffs.diffs = vec![differs("/a"); 100];
        assert!(is_small(&of_diffs));
        of_diffs.diffs = vec![differs(&format!("/{}", "a".repeat(1000))); 100];
        assert!(!is_small(&of_diffs), "paths weigh, too");
        of_diffs.diffs = vec![differs("/a"); 1024];
        assert!(!is_small(&of_diffs), "each weighs something");
    }

    #[test]
    fn what_is_not_kept_may_be_held_by_many() {
        assert!(!is_large(&observation(&json!({"a": "x".repeat(2 * KEPT)}))));
        assert!(is_large(&observation(&json!({"a": "x".repeat(HELD)}))));
        assert!(is_large(&observation(&json!({"a": vec![0; 20_000]}))));
    }

    fn warning(message: &str) -> Warning {
        Warning {
            reason: "Warned".to_owned(),
            message: message.to_owned(),
        }
    }

    fn details(details: &[(&str, usize)]) -> Secrets {
        let details = details.iter();
        Secrets(
            details
                .map(|(key, size)| ((*key).to_owned(), vec![b'x'; *size]))
                .collect(),
        )
    }

    fn completed(connection_details: Secrets, observation: Observation) -> Outcome {
        Outcome {
            external_name: "one".to_owned(),
            canonical_id: String::new(),
            provider_state: String::new(),
            connection_details,
            warnings: vec![warning("of the call")],
            result: OutcomeResult::Completed(Box::new(Completed {
                observation: Some(observation),
                already_done: false,
            })),
        }
    }

    #[test]
    fn of_a_large_observation_only_what_may_not_come_again_stays() {
        let large = Observation {
            connection_details: details(&[("a", 20), ("b", 20), ("c", limits::CONNECTION_DETAILS)]),
            warnings: vec![warning("of the observation")],
            ..observation(&json!({"a": "x".repeat(HELD)}))
        };
        let given_once = details(&[("b", 10), ("d", limits::CONNECTION_DETAILS / 2)]);
        let mut answer = Ok(completed(given_once, large));
        assert!(drop_large_observation(&mut answer));
        let outcome = answer.unwrap();
        let kept = details(&[("a", 20), ("b", 20), ("d", limits::CONNECTION_DETAILS / 2)]);
        assert_eq!(outcome.connection_details, kept);
        assert_eq!(
            outcome.warnings,
            [warning("of the call"), warning("of the observation")]
        );
        let OutcomeResult::Completed(completed) = outcome.result else {
            panic!("{:?}", outcome.result)
        };
        assert_eq!(completed.observation, None);
    }

    #[test]
    fn an_answer_with_an_observation_of_common_size_stays_whole() {
        let before: Answer = Ok(completed(details(&[("a", 1)]), observation(&json!({"a": 1}))));
        let mut after = before.clone();
        assert!(!drop_large_observation(&mut after));
        assert_eq!(after, before);
        let mut failed: Answer = Err(CallError::Unreachable {
            message: String::new(),
        });
        assert!(!drop_large_observation(&mut failed));
    }
}
