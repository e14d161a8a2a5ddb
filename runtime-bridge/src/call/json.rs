//! Messages as people write and read them: documents are objects, secrets are left out.

use prost_reflect::{
    DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, ReflectMessage, SerializeOptions,
};
use serde_json::{Map, Value, json};

const DOCUMENT: &str = "crossbridge.provider.v1alpha1.Document";
const LEFT_OUT: &str = "left out";

/// A request as it was written, its documents turned into JSON text.
pub(super) fn with_texts(value: &Value, of: &MessageDescriptor) -> Value {
    if of.full_name() == DOCUMENT {
        return match value {
            Value::Object(object) if !is_document(object) => json!({ "json": value.to_string() }),
            _ => value.clone(),
        };
    }
    fields(value, of, &|field, value| within(field, value, &with_texts))
}

fn is_document(object: &Map<String, Value>) -> bool {
    object.len() == 1 && object.get("json").is_some_and(Value::is_string)
}

/// Whether the answer, or the outcome in it, is a Failure.
pub(super) fn is_failure(answer: &DynamicMessage) -> bool {
    let is_set = |message: &DynamicMessage| message.has_field_by_name("failure");
    let outcome = answer.get_field_by_name("outcome");
    let outcome = outcome.as_ref().and_then(|value| value.as_message().map(is_set));
    is_set(answer) || outcome.unwrap_or(false)
}

/// A message as JSON, its documents parsed into objects.
pub(super) fn with_documents(message: &DynamicMessage, show_secrets: bool) -> Value {
    let options = SerializeOptions::new().use_enum_numbers(false);
    let value = message
        .serialize_with_options(serde_json::value::Serializer, &options)
        .unwrap_or_else(|error| json!(error.to_string()));
    readable(&value, &message.descriptor(), show_secrets)
}

fn readable(value: &Value, of: &MessageDescriptor, show_secrets: bool) -> Value {
    if of.full_name() == DOCUMENT {
        return parsed(&value["json"]);
    }
    fields(value, of, &|field, value| {
        if is_secret(field) && !show_secrets {
            return left_out(value);
        }
        if field.name().ends_with("_json") {
            return parsed(value);
        }
        within(field, value, &|value, of| readable(value, of, show_secrets))
    })
}

/// Text that is no JSON stays text.
fn parsed(text: &Value) -> Value {
    let object = text.as_str().and_then(|text| serde_json::from_str(text).ok());
    object.unwrap_or_else(|| text.clone())
}

fn left_out(value: &Value) -> Value {
    match value {
        Value::Object(map) => map.keys().map(|key| (key.clone(), json!(LEFT_OUT))).collect(),
        _ => json!(LEFT_OUT),
    }
}

fn is_secret(field: &FieldDescriptor) -> bool {
    let redact = field
        .options()
        .get_field_by_name("debug_redact")
        .and_then(|value| value.as_bool());
    redact == Some(true)
}

fn fields(
    value: &Value,
    of: &MessageDescriptor,
    change: &dyn Fn(&FieldDescriptor, &Value) -> Value,
) -> Value {
    let Value::Object(object) = value else {
        return value.clone();
    };
    let changed = object.iter().map(|(name, value)| {
        let field = of
            .get_field_by_json_name(name)
            .or_else(|| of.get_field_by_name(name));
        let value = field.map_or_else(|| value.clone(), |field| change(&field, value));
        (name.clone(), value)
    });
    changed.collect()
}

/// A message within, or a list of them.
fn within(
    field: &FieldDescriptor,
    value: &Value,
    change: &dyn Fn(&Value, &MessageDescriptor) -> Value,
) -> Value {
    match (field.kind(), value) {
        (Kind::Message(_), _) if field.is_map() => value.clone(),
        (Kind::Message(of), Value::Array(items)) => items.iter().map(|item| change(item, &of)).collect(),
        (Kind::Message(of), _) => change(value, &of),
        _ => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::call::method::Method;

    #[test]
    fn documents_are_objects_to_the_last_digit() {
        let method = Method::find("Observe").expect("a method");
        let request = json!({ "desired": { "parameters": { "size": 9_007_199_254_740_993_i64 } } });
        let message = method.request(&request, false).expect("a request");
        assert_eq!(method.print(&message, false), request);
        let as_text = json!({ "desired": { "parameters": { "json": r#"{"size":9007199254740993}"# } } });
        assert_eq!(method.request(&as_text, false).expect("a request"), message);
    }

    #[test]
    fn secrets_are_redacted_unless_requested() {
        let method = Method::find("CheckConfig").expect("a method");
        let request = json!({ "config": { "configId": "c", "credentials": { "key": "c2VzYW1l" } } });
        let message = method.request(&request, false).expect("a request");
        assert_eq!(method.print(&message, true), request);
        let shown = json!({ "config": { "configId": "c", "credentials": { "key": "left out" } } });
        assert_eq!(method.print(&message, false), shown);
    }

    #[test]
    fn unknown_fields_and_methods_are_rejected() {
        let method = Method::find("Observe").expect("a method");
        let error = method
            .request(&json!({ "tarjet": {} }), false)
            .expect_err("no such field")
            .to_string();
        assert!(
            error.contains("ObserveRequest") && error.contains("tarjet"),
            "{error}"
        );
        let method = Method::find("Observe").expect("a method");
        let ignored = method.request(&json!({ "tarjet": {} }), true).expect("a request");
        assert_eq!(method.print(&ignored, false), json!({}));
        let error = Method::find("Glance")
            .map(drop)
            .expect_err("no such method")
            .to_string();
        assert!(error.contains("Observe"), "{error}");
    }
}
