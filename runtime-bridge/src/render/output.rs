//! What is printed, document by document.

use bridge_core::managed::Event;
use serde_json::{Value, json};

use super::{
    RenderArgs,
    compose::Rendered,
    composite::{composite, typed},
    course::NOW,
    inputs::Inputs,
};

const API_VERSION: &str = "render.crossplane.io/v1beta1";

/// The composite resource, what it composes, and what else is wanted.
pub(super) fn documents(inputs: &Inputs, rendered: &Rendered, args: &RenderArgs) -> Vec<Value> {
    let mut shown = composite(inputs, rendered);
    if args.include_full_xr {
        let mut whole = inputs.given.clone();
        merge(&mut whole, &shown);
        shown = whole;
    }
    let mut documents = vec![shown];
    documents.extend(rendered.composed.iter().map(|one| one.body.clone()));
    for document in &mut documents {
        settle_conditions(document);
    }
    if args.include_function_results {
        documents.extend(rendered.events.iter().map(result));
    }
    if args.include_context
        && let Some(outcome) = &rendered.outcome
        && let Some(context) = &outcome.context
    {
        documents.push(json!({ "apiVersion": API_VERSION, "kind": "Context", "fields": context.0 }));
    }
    documents
}

/// The same inputs give the same text, whenever that is.
fn settle_conditions(document: &mut Value) {
    let conditions = document
        .pointer_mut("/status/conditions")
        .and_then(Value::as_array_mut);
    for condition in conditions.into_iter().flatten().filter(|one| one.is_object()) {
        *condition = typed(condition);
        condition["lastTransitionTime"] = NOW.to_string().into();
    }
}

fn result(event: &Event) -> Value {
    json!({
        "apiVersion": API_VERSION,
        "kind": "Result",
        "severity": severity(event),
        "reason": event.reason,
        "message": event.message,
    })
}

/// Type of an event.
pub(super) fn severity(event: &Event) -> &'static str {
    if event.warning { "Warning" } else { "Normal" }
}

/// Lists are whole.
fn merge(onto: &mut Value, fields: &Value) {
    match (onto, fields) {
        (Value::Object(onto), Value::Object(fields)) => {
            for (name, value) in fields {
                merge(onto.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (onto, fields) => *onto = fields.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_of_all_documents_have_the_same_time_and_a_reason() {
        let mut document = json!({ "status": { "conditions": [
            { "type": "Ready", "status": "True", "lastTransitionTime": "2020-02-02T02:02:02Z", "message": "", "other": 1 },
            "text",
        ]}});
        settle_conditions(&mut document);
        let expected = json!([
            { "type": "Ready", "status": "True", "lastTransitionTime": "2024-01-01T00:00:00Z", "reason": "" },
            "text",
        ]);
        assert_eq!(document["status"]["conditions"], expected);
        let mut none = json!({ "status": "text" });
        settle_conditions(&mut none);
        assert_eq!(none, json!({ "status": "text" }));
    }
}
