//! Typed documents and the JSON objects that carry them.

use crossbridge_types::{Document, Rule, Violation};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

use crate::Failure;

/// The documents of a kind, as the answers about it carry them. Every [`Resource`](crate::Resource) has them by its own types; nothing else
/// implements it.
pub trait Documents {
    /// The desired state, and what the bridge compares it with.
    type Parameters;
    /// What is only observed.
    type Status;
}

/// Reads parameters.
///
/// # Errors
/// `INVALID_SPEC` that names the field by its JSON Pointer.
pub(crate) fn read_parameters<P: DeserializeOwned>(document: &Document) -> Result<P, Failure> {
    read(document).map_err(|(path, problem)| {
        let place = if path.is_empty() { "the parameters" } else { &path };
        let failure = Failure::invalid_spec(format!("{place}: {problem}")).reason("InvalidParameters");
        if path.is_empty() {
            failure
        } else {
            failure.violation(path, problem)
        }
    })
}

/// Reads any document; an error names the field (a JSON Pointer) and the reason.
pub(crate) fn read<T: DeserializeOwned>(document: &Document) -> Result<T, (String, String)> {
    serde_path_to_error::deserialize(Value::Object(document.clone()))
        .map_err(|error| (pointer(error.path()), error.inner().to_string()))
}

fn pointer(path: &Path) -> String {
    path.iter()
        .filter_map(|segment| match segment {
            Segment::Seq { index } => Some(format!("/{index}")),
            Segment::Map { key } => Some(format!("/{}", key.replace('~', "~0").replace('/', "~1"))),
            // Variants are no part of the document, and an unknown segment cannot be named.
            Segment::Enum { .. } | Segment::Unknown => None,
        })
        .collect()
}

/// Writes a document, without the members that are null: no opinion is an absent field.
///
/// # Errors
/// The field, if the type does not serialise to a JSON object.
pub(crate) fn write<T: Serialize>(value: &T, field: &str) -> Result<Document, Violation> {
    let problem = match serde_json::to_value(value) {
        Ok(Value::Object(mut object)) => {
            strip_nulls(&mut object);
            return Ok(object);
        }
        Ok(_) => "it is no object".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(Violation::new(field, Rule::NotAnObject { problem }))
}

fn strip_nulls(object: &mut Document) {
    object.retain(|_, value| !value.is_null());
    object.values_mut().for_each(strip_nulls_within);
}

fn strip_nulls_within(value: &mut Value) {
    match value {
        Value::Object(object) => strip_nulls(object),
        Value::Array(items) => items.iter_mut().for_each(strip_nulls_within),
        _ => {}
    }
}

/// Takes out what stands at a field rule's path, where `*` stands for any index or key.
pub(crate) fn remove(document: &mut Document, path: &str) {
    let mut segments: Vec<String> = path
        .split('/')
        .skip(1)
        .map(|segment| segment.replace("~1", "/").replace("~0", "~"))
        .collect();
    if let Some(last) = segments.pop() {
        remove_in_object(document, &segments, &last);
    }
}

fn remove_in_object(object: &mut Document, way: &[String], last: &str) {
    match way {
        [] if last == "*" => object.clear(),
        [] => {
            object.remove(last);
        }
        [first, rest @ ..] if first == "*" => {
            object
                .values_mut()
                .for_each(|value| remove_in_value(value, rest, last));
        }
        [first, rest @ ..] => {
            if let Some(value) = object.get_mut(first) {
                remove_in_value(value, rest, last);
            }
        }
    }
}

fn remove_in_value(value: &mut Value, way: &[String], last: &str) {
    match value {
        Value::Object(object) => remove_in_object(object, way, last),
        Value::Array(items) => match way {
            // An item cannot be taken out without moving the others; what it holds can.
            [] => {
                for item in items.iter_mut() {
                    *item = Value::Null;
                }
            }
            [_, rest @ ..] => items
                .iter_mut()
                .for_each(|item| remove_in_value(item, rest, last)),
        },
        _ => {}
    }
}

/// What stands at a JSON Pointer.
pub(crate) fn at<'a>(document: &'a Document, pointer: &str) -> Option<&'a Value> {
    let (first, rest) = match pointer.strip_prefix('/')?.split_once('/') {
        Some((first, rest)) => (first, format!("/{rest}")),
        None => (pointer.strip_prefix('/')?, String::new()),
    };
    document
        .get(&first.replace("~1", "/").replace("~0", "~"))?
        .pointer(&rest)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Document {
        match value {
            Value::Object(object) => object,
            other => panic!("no object: {other}"),
        }
    }

    #[derive(Debug, Serialize, Deserialize)]
    struct Rule {
        port: u16,
        note: Option<String>,
    }

    #[derive(Debug, Serialize, Deserialize)]
    struct Rules {
        rules: Vec<Rule>,
    }

    #[test]
    fn a_field_of_another_type_is_named_by_pointer() {
        let failure = read_parameters::<Rules>(&object(json!({"rules": [{"port": 1}, {"port": "x"}]})))
            .expect_err("a port is a number")
            .into_types()
            .expect("a failure of the body");
        assert_eq!(failure.violations[0].path, "/rules/1/port");
        assert!(failure.message.contains("/rules/1/port"), "{}", failure.message);
    }

    #[test]
    fn no_opinion_is_an_absent_field() {
        let rules = Rules {
            rules: vec![Rule { port: 1, note: None }],
        };
        let document = write(&rules, "parameters").expect("an object");
        assert_eq!(Value::Object(document), json!({"rules": [{"port": 1}]}));
        assert!(write(&7, "parameters").is_err());
    }

    #[test]
    fn sensitive_paths_are_taken_out_wherever_they_match() {
        let mut document = object(json!({
            "password": "p", "a/b": 1, "keep": 2,
            "users": [{"name": "a", "key": "k"}, {"name": "b"}],
            "maps": {"x": {"key": "k", "n": 1}, "y": {"key": "k"}},
            "all": {"x": "s", "y": "s"},
        }));
        for path in [
            "/password",
            "/a~1b",
            "/users/*/key",
            "/maps/*/key",
            "/all/*",
            "/not/there",
        ] {
            remove(&mut document, path);
        }
        assert_eq!(
            Value::Object(document),
            json!({
                "keep": 2, "users": [{"name": "a"}, {"name": "b"}], "maps": {"x": {"n": 1}, "y": {}}, "all": {},
            })
        );
    }

    #[test]
    fn a_pointer_finds_what_it_points_at() {
        let document = object(json!({"a": {"b/c": [1, 2]}}));
        assert_eq!(at(&document, "/a/b~1c/1"), Some(&json!(2)));
        assert_eq!(at(&document, "/a"), document.get("a"));
        assert_eq!(at(&document, "/b"), None);
    }
}
