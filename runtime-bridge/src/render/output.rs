//! What is printed, document by document.

use bridge_core::{
    composite::{ResourceRef, RunOutcome},
    definition::Scope,
    function::{Condition, Severity},
    managed::Event,
};
use serde_json::{Map, Value, json};

use super::{RenderArgs, compose::Rendered, inputs::Inputs};

const API_VERSION: &str = "render.crossplane.io/v1beta1";
/// Conditions that the bridge sets: the first before those of functions, the others after them.
const FIRST: [&str; 1] = ["Responsive"];
const LAST: [&str; 2] = ["Synced", "Ready"];

/// The composite resource, what it composes, and what else is wanted.
pub(super) fn documents(inputs: &Inputs, rendered: &Rendered, args: &RenderArgs) -> Vec<Value> {
    let mut documents = vec![composite(inputs, rendered, args.include_full_xr)];
    documents.extend(rendered.composed.iter().map(|one| one.body.clone()));
    if args.include_function_results {
        documents.extend(results(inputs, rendered));
    }
    if args.include_context
        && let Some(outcome) = &rendered.outcome
        && let Some(context) = &outcome.context
    {
        documents.push(json!({ "apiVersion": API_VERSION, "kind": "Context", "fields": context.0 }));
    }
    documents
}

fn composite(inputs: &Inputs, rendered: &Rendered, full: bool) -> Value {
    let given = &inputs.composite;
    let Some(outcome) = &rendered.outcome else {
        // Paused, or being deleted: nothing but its status changes.
        let mut whole = given.clone();
        let mut status = rendered.composite["status"].clone();
        status["conditions"] = conditions(inputs, rendered, &[]);
        whole["status"] = status;
        return whole;
    };
    let refs: Vec<Value> = rendered.refs.iter().map(ResourceRef::to_value).collect();
    let spec = match inputs.scope {
        Scope::LegacyCluster => json!({ "resourceRefs": refs }),
        Scope::Namespaced | Scope::Cluster => json!({ "crossplane": { "resourceRefs": refs } }),
    };
    let written = json!({
        "apiVersion": given["apiVersion"],
        "kind": given["kind"],
        "metadata": metadata(given),
        "spec": spec,
        "status": status(inputs, rendered, outcome),
    });
    if !full {
        return written;
    }
    let mut whole = given.clone();
    merge(&mut whole, &written);
    whole
}

fn metadata(given: &Value) -> Value {
    let mut metadata = Map::new();
    for field in ["name", "namespace"] {
        if let Some(value) = given["metadata"].get(field) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    metadata.into()
}

/// What functions desire, and all conditions.
fn status(inputs: &Inputs, rendered: &Rendered, outcome: &RunOutcome) -> Value {
    let desired = outcome
        .result
        .as_ref()
        .ok()
        .and_then(|desired| desired.composite.as_ref());
    let desired = desired.map(|composite| composite.object["status"].clone());
    let mut status = desired.filter(Value::is_object).unwrap_or_else(|| json!({}));
    status["conditions"] = conditions(inputs, rendered, &outcome.conditions);
    status
}

/// Those that were given keep their places.
fn conditions(inputs: &Inputs, rendered: &Rendered, functions: &[Condition]) -> Value {
    let given = types(&inputs.composite["status"]["conditions"]);
    let functions = functions.iter().map(|one| one.type_.clone());
    let order: Vec<String> = given
        .into_iter()
        .chain(FIRST.map(str::to_owned))
        .chain(functions.filter(|type_| !LAST.contains(&type_.as_str())))
        .chain(LAST.map(str::to_owned))
        .collect();
    let stored = rendered.composite["status"]["conditions"].as_array();
    let mut conditions: Vec<Value> = stored.into_iter().flatten().map(shown).collect();
    let place = |condition: &Value| order.iter().position(|type_| condition["type"] == type_.as_str());
    conditions.sort_by_key(|condition| place(condition).unwrap_or(order.len()));
    conditions.into()
}

fn types(conditions: &Value) -> Vec<String> {
    let conditions = conditions.as_array().into_iter().flatten();
    let types = conditions.filter_map(|condition| condition["type"].as_str());
    types.map(str::to_owned).collect()
}

/// As Crossplane's `render` shows it: a generation on the first only, and no message that is empty.
fn shown(condition: &Value) -> Value {
    let mut condition = condition.clone();
    let is_first = FIRST.iter().any(|type_| condition["type"] == *type_);
    if let Some(fields) = condition.as_object_mut() {
        if !is_first || fields.get("observedGeneration") == Some(&json!(0)) {
            fields.remove("observedGeneration");
        }
        if fields.get("message") == Some(&json!("")) {
            fields.remove("message");
        }
    }
    condition
}

fn results(inputs: &Inputs, rendered: &Rendered) -> Vec<Value> {
    let chosen = json!({
        "apiVersion": API_VERSION,
        "kind": "Result",
        "severity": "SEVERITY_NORMAL",
        "reason": "SelectComposition",
        "message": format!("Successfully selected composition: {}", inputs.composition),
    });
    let ran = rendered.outcome.as_ref();
    let functions = ran.into_iter().flat_map(|outcome| &outcome.results).map(|one| {
        let severity = match one.result.severity {
            Severity::Fatal => "SEVERITY_FATAL",
            Severity::Warning | Severity::Unknown => "SEVERITY_WARNING",
            Severity::Normal => "SEVERITY_NORMAL",
        };
        let mut result = json!({
            "apiVersion": API_VERSION,
            "kind": "Result",
            "step": one.step,
            "severity": severity,
            "message": one.result.message,
        });
        if let Some(reason) = &one.result.reason {
            result["reason"] = reason.clone().into();
        }
        result
    });
    let events = rendered.events.iter().map(|event: &Event| {
        json!({
            "apiVersion": API_VERSION,
            "kind": "Result",
            "severity": if event.warning { "SEVERITY_WARNING" } else { "SEVERITY_NORMAL" },
            "reason": event.reason,
            "message": event.message,
        })
    });
    ran.map(|_| chosen)
        .into_iter()
        .chain(functions)
        .chain(events)
        .collect()
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
