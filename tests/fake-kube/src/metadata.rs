//! `metadata` of objects of definitions: read field by field, as the API server does, and checked.

use serde_json::{Map, Value, json};

use crate::{schema::Violation, state::finalizers};

/// What kind of value a field holds.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Number,
    Time,
    Texts,
    /// An object whose values are texts.
    Map,
    Objects,
}

const FIELDS: [(&str, Form); 15] = [
    ("name", Form::Text),
    ("generateName", Form::Text),
    ("namespace", Form::Text),
    ("selfLink", Form::Text),
    ("uid", Form::Text),
    ("resourceVersion", Form::Text),
    ("generation", Form::Number),
    ("creationTimestamp", Form::Time),
    ("deletionTimestamp", Form::Time),
    ("deletionGracePeriodSeconds", Form::Number),
    ("labels", Form::Map),
    ("annotations", Form::Map),
    ("finalizers", Form::Texts),
    ("ownerReferences", Form::Objects),
    ("managedFields", Form::Objects),
];

/// Reads `metadata`: unknown fields, nulls and what is empty go.
///
/// # Errors
/// A field is of the wrong type.
pub(crate) fn read(metadata: &Value) -> Result<Value, String> {
    let Value::Object(given) = metadata else {
        return if metadata.is_null() {
            Ok(json!({}))
        } else {
            Err("metadata: must be an object".to_owned())
        };
    };
    let mut read = Map::new();
    for (name, form) in FIELDS {
        let Some(value) = given.get(name).filter(|value| !value.is_null()) else {
            continue;
        };
        let value =
            of_form(form, value).ok_or_else(|| format!("metadata.{name}: {value} is of the wrong type"))?;
        let empty = match &value {
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            Value::Number(number) => name == "generation" && number.as_i64() == Some(0),
            _ => false,
        };
        if !empty {
            read.insert(name.to_owned(), value);
        }
    }
    Ok(Value::Object(read))
}

fn of_form(form: Form, value: &Value) -> Option<Value> {
    let text = |value: &Value| match value {
        // Go reads a null in a list or a map of texts as an empty one.
        Value::Null => Some(Value::from("")),
        Value::String(_) => Some(value.clone()),
        _ => None,
    };
    match form {
        Form::Text => value.is_string().then(|| value.clone()),
        Form::Time => {
            let time: jiff::Timestamp = value.as_str()?.parse().ok()?;
            Some(format!("{time:.0}").into())
        }
        Form::Number => value.is_i64().then(|| value.clone()),
        Form::Texts => value
            .as_array()?
            .iter()
            .map(text)
            .collect::<Option<Vec<_>>>()
            .map(Value::from),
        Form::Map => {
            let texts = value.as_object()?.iter();
            let texts: Option<Map<_, _>> = texts
                .map(|(name, value)| Some((name.clone(), text(value)?)))
                .collect();
            texts.map(Value::Object)
        }
        Form::Objects => value
            .as_array()?
            .iter()
            .all(Value::is_object)
            .then(|| value.clone()),
    }
}

/// What is wrong with it. `old`: of the object as it is.
pub(crate) fn violations(new: &Value, old: Option<&Value>) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut wrong = |field: &str, message: &str| {
        found.push(Violation {
            reason: "FieldValueInvalid",
            field: format!("metadata.{field}"),
            message: message.to_owned(),
        });
    };
    if old.is_none() && !is_subdomain(new["name"].as_str().unwrap_or_default()) {
        wrong(
            "name",
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.'",
        );
    }
    for (name, value) in new["labels"].as_object().into_iter().flatten() {
        if !is_qualified(name) || !is_label(value.as_str().unwrap_or_default()) {
            wrong("labels", "a label is not valid");
        }
    }
    for name in new["annotations"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| name)
    {
        if !is_qualified(&name.to_lowercase()) {
            wrong(
                "annotations",
                "name part must consist of alphanumeric characters, '-', '_' or '.'",
            );
        }
    }
    for finalizer in new["finalizers"].as_array().into_iter().flatten() {
        if !is_qualified(finalizer.as_str().unwrap_or_default()) {
            wrong("finalizers", "name part must be non-empty");
        }
    }
    for owner in new["ownerReferences"].as_array().into_iter().flatten() {
        for field in ["apiVersion", "kind", "name", "uid"] {
            if owner[field].as_str().is_none_or(str::is_empty) {
                wrong(&format!("ownerReferences.{field}"), "must not be empty");
            }
        }
    }
    if let Some(old) = old {
        for field in [
            "name",
            "namespace",
            "uid",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
        ] {
            if new.get(field) != old.get(field) {
                wrong(field, "field is immutable");
            }
        }
        let holder = |metadata: &Value| json!({"metadata": metadata});
        let (before, after) = (holder(old), holder(new));
        let known = finalizers(&before);
        let grew = finalizers(&after)
            .into_iter()
            .any(|finalizer| !known.contains(&finalizer));
        if !old["deletionTimestamp"].is_null() && grew {
            found.push(Violation {
                reason: "FieldValueForbidden",
                field: "metadata.finalizers".to_owned(),
                message: "Forbidden: no new finalizers can be added if the object is being deleted"
                    .to_owned(),
            });
        }
    }
    found
}

fn is_word(text: &str, inner: impl Fn(char) -> bool) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.ends_with(|last: char| last.is_ascii_alphanumeric())
        && text.chars().all(|one| one.is_ascii_alphanumeric() || inner(one))
}

fn is_subdomain(text: &str) -> bool {
    let part =
        |part: &str| is_word(part, |one| one == '-') && !part.contains(|one: char| one.is_ascii_uppercase());
    text.len() <= 253 && text.split('.').all(part)
}

fn is_label(text: &str) -> bool {
    text.is_empty() || (text.len() <= 63 && is_word(text, |one| "-_.".contains(one)))
}

/// Whether the text is a qualified name: `name`, or `subdomain/name`.
fn is_qualified(text: &str) -> bool {
    let (prefix, name) = text
        .split_once('/')
        .map_or((None, text), |(prefix, name)| (Some(prefix), name));
    prefix.is_none_or(is_subdomain) && !name.is_empty() && is_label(name)
}
