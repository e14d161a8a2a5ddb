//! Lives of a composite resource: what people do, and what must have become of it each time.

use std::collections::BTreeMap;

use bridge_core::{
    composite::{ObjectId, names},
    function::{DesiredState, Readiness, Resource, RunRequest},
};
use serde_json::{Value, json};

use super::{
    api::NAMESPACE,
    process::{World, composite},
};

/// Composes one `ConfigMap` for each item of the spec; each is ready as soon as it is observed.
pub fn configmaps(request: &RunRequest) -> DesiredState {
    let spec = &request.observed.composite.object["spec"];
    let items = spec["items"].as_object().cloned().unwrap_or_default();
    let resources = items.into_iter().map(|(name, value)| {
        let is_secret = value["secret"] == true;
        let object = json!({
            "apiVersion": "v1", "kind": if is_secret { "Secret" } else { "ConfigMap" },
            "data": {"value": value["value"]},
        });
        let ready = if request.observed.resources.contains_key(&name) {
            Readiness::Ready
        } else {
            Readiness::NotReady
        };
        let resource = Resource {
            ready,
            ..Resource::of(object)
        };
        (name, resource)
    });
    DesiredState {
        composite: Some(Resource::of(
            json!({"status": {"count": request.observed.resources.len()}}),
        )),
        resources: resources.collect(),
    }
}

pub fn spec(items: &[(&str, &str)]) -> Value {
    let items: BTreeMap<&str, Value> = items
        .iter()
        .map(|(name, value)| (*name, json!({"value": value})))
        .collect();
    json!({"items": items})
}

/// What a person does.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    Create(&'static [(&'static str, &'static str)]),
    Edit(&'static [(&'static str, &'static str)]),
    DeleteComposed(&'static str),
    StripOwner(&'static str),
    Restart,
    /// Another process begins to lead, whose caches are so many changes old.
    RestartStale(usize),
    Delete,
}

/// Two composed resources; one changes, one is added, one goes; one is deleted by hand; the end.
pub const LIFE: &[Step] = &[
    Step::Create(&[("a", "1"), ("b", "1")]),
    Step::Edit(&[("a", "2"), ("b", "1"), ("c", "1")]),
    Step::DeleteComposed("b"),
    Step::Edit(&[("a", "2"), ("c", "1")]),
    Step::Restart,
    Step::Edit(&[("a", "3"), ("c", "1")]),
    Step::Delete,
];

/// Names of composed objects by composition resource name.
pub fn composed(world: &World) -> BTreeMap<String, ObjectId> {
    let named = world.api.objects.iter().filter_map(|(id, object)| {
        let name = object["metadata"]["annotations"][names::RESOURCE_NAME].as_str()?;
        Some((name.to_owned(), id.clone()))
    });
    named.collect()
}

/// Does one step.
pub fn act(world: &mut World, step: Step) {
    let time = world.time();
    match step {
        Step::Create(items) => world.api.create_xr(&spec(items), &time),
        Step::Edit(items) => world
            .api
            .edit_xr(|xr| xr["spec"]["items"] = spec(items)["items"].clone()),
        Step::DeleteComposed(name) => {
            if let Some(id) = composed(world).get(name) {
                world.api.edit(id, |_| None);
            }
        }
        Step::StripOwner(name) => {
            if let Some(id) = composed(world).get(name) {
                world.api.edit(id, |mut object| {
                    object["metadata"].as_object_mut()?.remove("ownerReferences");
                    Some(object)
                });
            }
        }
        Step::Restart => world.restart(),
        Step::RestartStale(ago) => world.restart_stale(ago),
        Step::Delete => world.api.delete_xr(&time),
    }
}

/// Lives a whole life; `Err`: what was wrong.
pub fn live(world: &mut World, life: &[Step]) -> Result<(), String> {
    let mut desired: Option<&[(&str, &str)]> = None;
    for step in life {
        act(world, *step);
        world.note();
        match step {
            Step::Create(items) | Step::Edit(items) => desired = Some(items),
            Step::Delete => desired = None,
            Step::DeleteComposed(_) | Step::StripOwner(_) | Step::Restart | Step::RestartStale(_) => {}
        }
        world.settle().map_err(|why| format!("after {step:?}: {why}"))?;
        check(world, desired).map_err(|why| format!("after {step:?}: {why}"))?;
    }
    Ok(())
}

/// What is stored at rest.
fn check(world: &World, desired: Option<&[(&str, &str)]>) -> Result<(), String> {
    if let Some(violation) = world.api.violations.first() {
        return Err(violation.clone());
    }
    let Some(desired) = desired else {
        return match (&world.api.xr, world.api.objects.len()) {
            (None, 0) => Ok(()),
            (Some(xr), _) => Err(format!("the composite resource is still there: {xr:#}")),
            (None, left) => Err(format!("{left} objects are left")),
        };
    };
    let xr = composite(world).ok_or("the composite resource is gone")?;
    let composed = composed(world);
    let values: BTreeMap<&str, &str> = composed
        .iter()
        .map(|(name, id)| {
            (
                name.as_str(),
                world.api.objects[id]["data"]["value"]
                    .as_str()
                    .unwrap_or_default(),
            )
        })
        .collect();
    let expected: BTreeMap<&str, &str> = desired.iter().copied().collect();
    if values != expected {
        return Err(format!("composed is {values:?}, desired {expected:?}"));
    }
    if xr.refs.len() != desired.len() {
        return Err(format!("it refers to {:?}", xr.refs));
    }
    for type_ in ["Synced", "Ready"] {
        let condition = xr.condition(type_).cloned().unwrap_or_default();
        if condition["status"] != "True" {
            return Err(format!("{type_} is {condition}"));
        }
    }
    if xr.status()["count"] != desired.len() {
        return Err(format!("the status is {}", xr.status()));
    }
    if composed
        .values()
        .any(|id| id.namespace.as_deref() != Some(NAMESPACE))
    {
        return Err("something is composed elsewhere".to_owned());
    }
    Ok(())
}
