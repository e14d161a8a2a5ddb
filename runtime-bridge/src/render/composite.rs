//! The composite resource as it is printed.

use bridge_core::{
    composite::{ResourceRef, RunOutcome, names},
    definition::Scope,
    function::{Condition, ResultTarget},
};
use serde_json::{Map, Value, json};

use super::{
    compose::Rendered,
    course::reference_of,
    inputs::{Inputs, text},
};

/// Conditions that the bridge sets: the first before those of functions, the others after them.
const FIRST: &str = "Responsive";
const SYNCED: &str = "Synced";
const READY: &str = "Ready";

/// Version of a composite resource that is shown whole.
const RESOURCE_VERSION: &str = "999";

/// What is written to the composite resource, and what names it. One for which no pipeline ran to its end is shown whole.
pub(super) fn composite(inputs: &Inputs, rendered: &Rendered) -> Value {
    let outcome = match &rendered.outcome {
        Some(outcome) if outcome.result.is_ok() => outcome,
        unfinished => return whole(inputs, rendered, unfinished.is_some()),
    };
    let given = &inputs.given;
    let mut composite = json!({
        "apiVersion": given["apiVersion"],
        "kind": given["kind"],
        "metadata": metadata(given),
        "spec": {},
        "status": status(inputs, rendered, outcome),
    });
    set_machinery(inputs, &mut composite, "resourceRefs", references(&rendered.refs));
    composite
}

/// As the API server would hold it. `is_chosen`: its composition was selected, and it bears the label of what it composes.
fn whole(inputs: &Inputs, rendered: &Rendered, is_chosen: bool) -> Value {
    let mut whole = inputs.composite.clone();
    whole["metadata"]["resourceVersion"] = RESOURCE_VERSION.into();
    if !inputs.observed.is_empty() {
        let home = Some(text(&whole, "/metadata/namespace")).filter(|home| !home.is_empty());
        let observed = inputs.observed.iter();
        let refs: Vec<ResourceRef> = observed.map(|one| reference_of(&one.live, home)).collect();
        set_machinery(inputs, &mut whole, "resourceRefs", references(&refs));
    }
    // Both are one write: of a composite resource that has the label already the selection is not stored.
    if is_chosen && whole["metadata"]["labels"][names::COMPOSITE].is_null() {
        let name = whole["metadata"]["name"].clone();
        whole["metadata"]["labels"][names::COMPOSITE] = name;
        let reference = json!({ "name": inputs.composition });
        set_machinery(inputs, &mut whole, "compositionRef", reference);
    }
    let mut status = rendered.composite["status"].clone();
    status["conditions"] = conditions(inputs, rendered);
    whole["status"] = status;
    whole
}

fn references(refs: &[ResourceRef]) -> Value {
    refs.iter().map(ResourceRef::to_value).collect()
}

fn set_machinery(inputs: &Inputs, composite: &mut Value, field: &str, value: Value) {
    let spec = &mut composite["spec"];
    match inputs.scope {
        Scope::LegacyCluster => spec[field] = value,
        Scope::Namespaced | Scope::Cluster => {
            // As the bridge does, which replaces anything else.
            if !spec["crossplane"].is_object() {
                spec["crossplane"] = json!({});
            }
            spec["crossplane"][field] = value;
        }
    }
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

/// What functions desire, what the claim is to copy, and all conditions.
fn status(inputs: &Inputs, rendered: &Rendered, outcome: &RunOutcome) -> Value {
    let desired = outcome.result.as_ref().ok();
    let desired = desired.and_then(|desired| desired.composite.as_ref());
    let desired = desired.map(|composite| composite.object["status"].clone());
    let mut status = desired.filter(Value::is_object).unwrap_or_else(|| json!({}));
    let stored = rendered.composite["status"]["claimConditionTypes"].as_array();
    let is_of_run = |type_: &&Value| {
        let mut conditions = outcome.conditions.iter();
        conditions.any(|one| one.target == ResultTarget::CompositeAndClaim && **type_ == one.type_.as_str())
    };
    let types: Vec<&Value> = stored.into_iter().flatten().filter(is_of_run).collect();
    if !types.is_empty() {
        status["claimConditionTypes"] = json!(types);
    }
    status["conditions"] = conditions(inputs, rendered);
    status
}

/// Those that were given keep their places.
fn conditions(inputs: &Inputs, rendered: &Rendered) -> Value {
    let ran = rendered.outcome.as_ref();
    let functions: Vec<&Condition> = ran.into_iter().flat_map(|outcome| &outcome.conditions).collect();
    let mut set: Vec<&str> = functions.iter().map(|one| one.type_.as_str()).collect();
    set.retain(|type_| ![FIRST, SYNCED, READY].contains(type_));
    let given = types(&inputs.composite["status"]["conditions"]);
    let order: Vec<&str> = given
        .into_iter()
        .chain([FIRST])
        .chain(set.iter().copied())
        .chain([SYNCED, READY])
        .collect();
    set.push(SYNCED);
    if ran.is_some() && rendered.failure().is_none() {
        set.push(READY);
    }
    let stored = rendered.composite["status"]["conditions"].as_array();
    let mut conditions: Vec<Value> = stored
        .into_iter()
        .flatten()
        .map(|one| condition(one, &set))
        .collect();
    let place = |condition: &Value| order.iter().position(|type_| condition["type"] == *type_);
    conditions.sort_by_key(|condition| place(condition).unwrap_or(order.len()));
    conditions.into()
}

fn types(conditions: &Value) -> Vec<&str> {
    let conditions = conditions.as_array().into_iter().flatten();
    conditions
        .filter_map(|condition| condition["type"].as_str())
        .collect()
}

/// As Crossplane's `render` shows it: no generation on one that was set just now, and no message that is empty.
fn condition(condition: &Value, set: &[&str]) -> Value {
    let mut condition = typed(condition);
    let is_set = set.iter().any(|type_| condition["type"] == *type_);
    if is_set && let Some(fields) = condition.as_object_mut() {
        fields.remove("observedGeneration");
    }
    condition
}

/// The fields of a condition: of those that it may lack the reason is there, though it be empty.
pub(super) fn typed(condition: &Value) -> Value {
    let mut typed = Map::new();
    for field in ["type", "status", "lastTransitionTime"] {
        if let Some(value) = condition.get(field) {
            typed.insert(field.to_owned(), value.clone());
        }
    }
    typed.insert("reason".to_owned(), text(condition, "/reason").into());
    let message = text(condition, "/message");
    if !message.is_empty() {
        typed.insert("message".to_owned(), message.into());
    }
    if let Some(generation) = condition["observedGeneration"].as_i64().filter(|one| *one != 0) {
        typed.insert("observedGeneration".to_owned(), generation.into());
    }
    typed.into()
}
