//! A desired state and what came of it, compared by the bridge's own comparison.

use std::collections::BTreeSet;

use bridge_core::{external::FieldDiff, kind as bridge, managed::differences_by_rules};
use crossbridge_types::{Comparison, Document, FieldRule, Kind};
use serde_json::Value;

/// What of a desired state did not come back as desired.
pub(crate) fn unfulfilled(kind: &Kind, desired: &Document, fact: &Document) -> Vec<FieldDiff> {
    let rules: Vec<bridge::FieldRule> = kind.field_rules.iter().map(rule).collect();
    let schema = kind.parameters_schema.clone();
    differences_by_rules(&schema, &rules, desired, fact)
}

/// What of a desired state is absent at all, whatever its value. Lists have an order of their own, and count as a whole.
pub(crate) fn missing(kind: &Kind, desired: &Document, fact: &Document) -> Vec<FieldDiff> {
    let whole = Value::Object(desired.clone());
    let in_list = |path: &str| {
        let mut outer = path;
        while let Some((parent, _)) = outer.rsplit_once('/') {
            if whole.pointer(parent).is_some_and(Value::is_array) {
                return true;
            }
            outer = parent;
        }
        false
    };
    let mut found = unfulfilled(kind, desired, fact);
    found.retain(|diff| {
        let is_there = diff.observed.as_ref().is_some_and(|value| !value.is_null());
        !is_there && !in_list(&diff.path)
    });
    found
}

/// One line for people, without the values, which may be long.
pub(crate) fn describe(differences: &[FieldDiff]) -> String {
    let lines: Vec<String> = differences
        .iter()
        .map(|diff| match &diff.observed {
            None | Some(Value::Null) => format!("{} is absent", diff.path),
            Some(_) => format!("{} is another", diff.path),
        })
        .collect();
    lines.join(", ")
}

/// As far as it bears on comparisons.
fn rule(rule: &FieldRule) -> bridge::FieldRule {
    bridge::FieldRule {
        path: rule.path.clone(),
        sensitive: rule.sensitive,
        comparison: match rule.comparison {
            Comparison::Json => bridge::Comparison::Json,
            Comparison::CaseInsensitive => bridge::Comparison::CaseInsensitive,
            Comparison::JsonText => bridge::Comparison::JsonText,
            Comparison::Quantity => bridge::Comparison::Quantity,
            Comparison::WriteOnly => bridge::Comparison::WriteOnly,
        },
        ..bridge::FieldRule::default()
    }
}

/// The first field that two observes one resource show differently. What only one of them shows does not count: an answer may follow the shape
/// of the desired state that it was asked with. Nor do lists here, which have an order of their own.
pub(crate) fn contradiction(one: &Document, other: &Document) -> Option<String> {
    one.iter().find_map(|(name, value)| {
        let at = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        match (value, other.get(name)?) {
            (Value::Object(one), Value::Object(other)) => {
                contradiction(one, other).map(|inner| format!("{at}{inner}"))
            }
            (Value::Array(_), Value::Array(_)) => None,
            (one, other) => (one != other).then_some(at),
        }
    })
}

/// The pointers at which two desired states differ. A list is one of them as a whole.
pub(crate) fn differences(one: &Document, other: &Document) -> Vec<String> {
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
    let mut found = Vec::new();
    for name in names {
        let at = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        match (one.get(name), other.get(name)) {
            (Some(Value::Object(one)), Some(Value::Object(other))) => {
                let inner = differences(one, other).into_iter();
                found.extend(inner.map(|inner| format!("{at}{inner}")));
            }
            (one, other) if one == other => {}
            _ => found.push(at),
        }
    }
    found
}

/// Whether one pointer is the other's, or lies above or below it.
pub(crate) fn is_about(one: &str, other: &str) -> bool {
    let covers = |outer: &str, inner: &str| {
        inner
            .strip_prefix(outer)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    covers(one, other) || covers(other, one)
}

/// Integers beyond what a double holds: their pointers and values.
pub(crate) fn big_integers(document: &Document) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    collect(&Value::Object(document.clone()), String::new(), &mut found);
    found
}

fn collect(value: &Value, at: String, found: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                collect(
                    value,
                    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")),
                    found,
                );
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, format!("{at}/{index}"), found);
            }
        }
        Value::Number(number)
            if number
                .as_u64()
                .or(number.as_i64().map(i64::unsigned_abs))
                .is_some_and(|size| size > 1 << 53) =>
        {
            found.push((at, value.clone()));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(value: &Value) -> Document {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn observations_contradict_only_in_fields_that_both_show() {
        let one = json!({"a": 1, "b": {"c/d": "x", "e": true}, "list": [1, 2]});
        for (other, expected) in [
            (one.clone(), None),
            (json!({"b": {}, "new": 7}), None),
            (json!({"list": [2]}), None),
            (json!({"a": 2}), Some("/a")),
            (json!({"b": {"c/d": "y"}}), Some("/b/c~1d")),
            (json!({"b": "deleted"}), Some("/b")),
        ] {
            let found = contradiction(&document(&one), &document(&other));
            assert_eq!(found.as_deref(), expected, "{other}");
        }
    }

    #[test]
    fn documents_differ_where_only_one_has_a_field() {
        let one = json!({"a": 1, "b": {"c/d": "x", "e": true}, "list": [1, 2], "same": [3]});
        let other = json!({"a": 2, "b": {"c/d": "y", "e": true}, "list": [1], "same": [3], "new": null});
        let found = differences(&document(&one), &document(&other));
        assert_eq!(found, ["/a", "/b/c~1d", "/list", "/new"]);
    }

    #[test]
    fn a_pointer_covers_its_parents_and_children() {
        for (one, other, expected) in [
            ("/a/b", "/a/b", true),
            ("/a", "/a/b", true),
            ("/list/0", "/list", true),
            ("/a", "/ab", false),
            ("/b", "/a", false),
        ] {
            assert_eq!(is_about(one, other), expected, "{one} {other}");
        }
    }
}
