//! Is what exists what is desired? Every desired leaf must exist and be equal; what is not desired does not count.

use serde_json::Value;

use crate::{
    external::{Document, FieldDiff, Observation},
    kind::{Comparison, DiffMode, FieldRule, Kind, Mutability},
};

use super::{
    list_index::{ByKeys, ByValue},
    quantity::Quantity,
    same_json::same_json,
};

/// What differs, in the order of the desired state. In the plugin's own diff mode, what the plugin says.
pub fn differences(kind: &Kind, desired: &Document, observation: &Observation) -> Vec<FieldDiff> {
    if kind.capabilities.diff_mode == DiffMode::Plugin {
        return of_the_plugin(observation.up_to_date, &observation.diffs);
    }
    differences_by_rules(
        &kind.parameters_schema,
        &kind.field_rules,
        desired,
        &observation.parameters,
    )
}

/// The bridge's own comparison of a desired state with the parameters observed: for whoever judges an observation as the bridge will.
pub fn differences_by_rules(
    parameters_schema: &Value,
    rules: &[FieldRule],
    desired: &Document,
    parameters: &Document,
) -> Vec<FieldDiff> {
    let mut found = Vec::new();
    let mut walk = Walk {
        rules: rules.iter().map(|rule| (steps(&rule.path), rule)).collect(),
        found: &mut found,
    };
    walk.object(
        &mut Vec::new(),
        desired,
        Some(parameters),
        parameters_schema,
        false,
    );
    found
}

/// Puts back what was observed where these differ: a desired state that asks for nothing that an Update cannot do.
pub(super) fn keep_observed<'d>(
    desired: &mut Document,
    diffs: impl Iterator<Item = &'d FieldDiff>,
    parameters: &Document,
) {
    let parameters = Value::Object(parameters.clone());
    let mut value = Value::Object(std::mem::take(desired));
    for diff in diffs {
        // A plugin that compares need not report what it observed.
        let observed = diff.observed.as_ref().or_else(|| parameters.pointer(&diff.path));
        let observed = observed.filter(|observed| !observed.is_null());
        match (value.pointer_mut(&diff.path), observed) {
            (Some(place), Some(observed)) => *place = observed.clone(),
            (Some(_), None) => remove(&mut value, &diff.path),
            (None, _) => {}
        }
    }
    if let Value::Object(value) = value {
        *desired = value;
    }
}

fn remove(value: &mut Value, path: &str) {
    let Some((parent, key)) = path.rsplit_once('/') else {
        return;
    };
    if let Some(Value::Object(parent)) = value.pointer_mut(parent) {
        parent.remove(&key.replace("~1", "/").replace("~0", "~"));
    }
}

fn of_the_plugin(up_to_date: Option<bool>, diffs: &[FieldDiff]) -> Vec<FieldDiff> {
    match up_to_date {
        Some(false) if diffs.is_empty() => {
            vec![FieldDiff {
                path: String::new(),
                desired: None,
                observed: None,
                needs_replacement: false,
            }]
        }
        Some(false) => diffs.to_vec(),
        Some(true) | None => Vec::new(),
    }
}

struct Walk<'a> {
    /// With the steps of their paths.
    rules: Vec<(Vec<String>, &'a FieldRule)>,
    found: &'a mut Vec<FieldDiff>,
}

impl Walk<'_> {
    fn value(
        &mut self,
        path: &mut Vec<String>,
        desired: &Value,
        fact: Option<&Value>,
        schema: &Value,
        immutable: bool,
    ) {
        let of_place = self.rules.iter().find(|(steps, _)| matches(steps, path));
        let rule = of_place.map(|(_, rule)| *rule);
        let comparison = rule.map(|rule| rule.comparison).unwrap_or_default();
        if desired.is_null() || comparison == Comparison::WriteOnly || rule.is_some_and(|rule| rule.sensitive)
        {
            return;
        }
        let immutable = immutable
            || rule.is_some_and(|rule| match rule.mutability {
                Mutability::Mutable => false,
                Mutability::Immutable => true,
                Mutability::SetOnce => fact.is_some_and(|fact| !fact.is_null()),
            });
        match (desired, fact) {
            (Value::Object(desired), Some(Value::Object(fact)))
                if !is(schema, "x-kubernetes-map-type", "atomic") =>
            {
                self.object(path, desired, Some(fact), schema, immutable);
            }
            (Value::Object(desired), None)
                if !is(schema, "x-kubernetes-map-type", "atomic") && !desired.is_empty() =>
            {
                self.object(path, desired, None, schema, immutable);
            }
            // An empty desired value equals nothing.
            (Value::Object(empty), None | Some(Value::Null)) if empty.is_empty() => {}
            (Value::Array(empty), None | Some(Value::Null)) if empty.is_empty() => {}
            (Value::Array(desired), Some(Value::Array(fact))) => {
                self.list(path, desired, fact, schema, immutable);
            }
            (desired, Some(fact)) if equal(desired, fact, comparison) => {}
            (desired, fact) => self.differs(path, desired, fact, immutable),
        }
    }

    fn object(
        &mut self,
        path: &mut Vec<String>,
        desired: &Document,
        fact: Option<&Document>,
        schema: &Value,
        immutable: bool,
    ) {
        for (key, value) in desired {
            let inner = schema
                .get("properties")
                .and_then(|properties| properties.get(key))
                .or_else(|| schema.get("additionalProperties"));
            path.push(key.clone());
            self.value(
                path,
                value,
                fact.and_then(|fact| fact.get(key)),
                inner.unwrap_or(&Value::Null),
                immutable,
            );
            path.pop();
        }
    }

    fn list(
        &mut self,
        path: &mut Vec<String>,
        desired: &[Value],
        fact: &[Value],
        schema: &Value,
        immutable: bool,
    ) {
        let items = schema.get("items").unwrap_or(&Value::Null);
        let pairs: Option<Vec<(&Value, &Value)>> = if desired.len() != fact.len() {
            None
        } else if is(schema, "x-kubernetes-list-type", "map") {
            let keys: Vec<&str> = schema["x-kubernetes-list-map-keys"]
                .as_array()
                .map(|keys| keys.iter().filter_map(Value::as_str).collect())
                .unwrap_or_default();
            let by_keys = ByKeys::new(fact, &keys);
            desired
                .iter()
                .map(|one| by_keys.find(one).map(|other| (one, other)))
                .collect()
        } else if is(schema, "x-kubernetes-list-type", "set") {
            let by_value = ByValue::new(fact);
            desired
                .iter()
                .map(|one| by_value.find(one).map(|other| (one, other)))
                .collect()
        } else {
            Some(desired.iter().zip(fact).collect())
        };
        let Some(pairs) = pairs else {
            return self.differs(
                path,
                &Value::Array(desired.to_vec()),
                Some(&Value::Array(fact.to_vec())),
                immutable,
            );
        };
        for (index, (desired, fact)) in pairs.into_iter().enumerate() {
            path.push(index.to_string());
            self.value(path, desired, Some(fact), items, immutable);
            path.pop();
        }
    }

    fn differs(&mut self, path: &[String], desired: &Value, fact: Option<&Value>, immutable: bool) {
        self.found.push(FieldDiff {
            path: pointer(path),
            desired: Some(desired.clone()),
            observed: fact.cloned(),
            needs_replacement: immutable,
        });
    }
}

fn is(schema: &Value, key: &str, expected: &str) -> bool {
    schema.get(key).and_then(Value::as_str) == Some(expected)
}

fn pointer(path: &[String]) -> String {
    path.iter()
        .map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1")))
        .collect()
}

fn steps(path: &str) -> Vec<String> {
    let escaped = path.split('/').skip(1);
    escaped
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .collect()
}

/// Do the steps, with `*` for any step, name this place?
fn matches(steps: &[String], place: &[String]) -> bool {
    !steps.is_empty()
        && steps.len() == place.len()
        && steps
            .iter()
            .zip(place)
            .all(|(step, here)| step == "*" || step == here)
}

fn equal(desired: &Value, fact: &Value, comparison: Comparison) -> bool {
    let texts = || Some((desired.as_str()?, fact.as_str()?));
    match comparison {
        Comparison::CaseInsensitive => {
            texts().is_some_and(|(desired, fact)| desired.to_lowercase() == fact.to_lowercase())
        }
        Comparison::JsonText => texts().is_some_and(|(desired, fact)| {
            let parse = |text| serde_json::from_str::<Value>(text).ok();
            desired == fact || parse(desired).is_some_and(|desired| Some(desired) == parse(fact))
        }),
        Comparison::Quantity => match (Quantity::of(desired), Quantity::of(fact)) {
            (Some(desired), Some(fact)) => desired == fact,
            _ => same_json(desired, fact),
        },
        Comparison::Json | Comparison::WriteOnly => same_json(desired, fact),
    }
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
