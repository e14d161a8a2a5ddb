//! What the first call of a run is shown (I41), by hand from reference 5.1.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::{
    composite::{LiveObject, ObjectState, memory::CompositeMemory, sample, snapshot::Snapshot},
    definition::Scope,
};

fn shown(snapshot: &Snapshot) -> Arc<Observed> {
    let memory = CompositeMemory::default();
    observed(&Facts::new(snapshot, &memory), snapshot.choice.as_ref().unwrap())
}

fn metadata(more: &Value) -> Value {
    let mut metadata = json!({
        "name": "app",
        "namespace": "team",
        "uid": "uid",
        "resourceVersion": "1",
        "generation": 3,
        "finalizers": ["composite.apiextensions.crossplane.io"],
        "labels": {"crossplane.io/composite": "app"},
    });
    let more = more.as_object().cloned().unwrap_or_default();
    metadata.as_object_mut().unwrap().extend(more);
    metadata
}

#[test]
fn a_new_composite_resource_is_shown_as_it_will_be_stored() {
    let annotations = json!({"team": "a", names::REQUIRES: "{}"});
    let chosen = json!({
        "compositionRef": {"name": "app"},
        "compositionRevisionRef": {"name": "app-1"},
    });
    for (scope, spec) in [
        (Scope::Namespaced, json!({"crossplane": chosen})),
        (Scope::LegacyCluster, chosen.clone()),
    ] {
        let snapshot = sample::snapshot(scope, &annotations, &json!({}));
        let expected = json!({
            "apiVersion": "example.org/v1",
            "kind": "App",
            "metadata": metadata(&json!({"annotations": {"team": "a"}})),
            "spec": spec,
            "status": {},
        });
        let observed = shown(&snapshot);
        assert_eq!(observed.composite.object, expected);
        assert_eq!(observed.resources.len(), 0);
    }
}

/// By its composition resource name, without annotations of our own.
#[test]
fn what_is_composed_is_shown_by_its_name() {
    let mut snapshot = sample::snapshot(Scope::Namespaced, &json!({}), &json!({}));
    let mut xr = snapshot.xr.object.clone();
    xr["spec"]["crossplane"]["resourceRefs"] = json!([
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "ours"},
        {"apiVersion": "v1", "kind": "ConfigMap", "name": "theirs"},
    ]);
    snapshot.xr = crate::composite::Composite::parse(xr, Scope::Namespaced);
    for (name, owner) in [("ours", "uid"), ("theirs", "another")] {
        let object = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name,
                "namespace": "team",
                "uid": name,
                "annotations": {names::RESOURCE_NAME: name, names::APPLIED: "created/v1:0"},
                "ownerReferences": [{"uid": owner, "controller": true}],
            },
        });
        let reference = snapshot.xr.refs.iter().find(|one| one.name == name).unwrap();
        let state = ObjectState::Exists(Arc::new(LiveObject::new(object)));
        snapshot.seen.insert(reference.id(Some("team")), state);
    }
    let observed = shown(&snapshot);
    let names: Vec<&String> = observed.resources.keys().collect();
    assert_eq!(names, ["ours"]);
    let expected = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "ours",
            "namespace": "team",
            "uid": "ours",
            "annotations": {names::RESOURCE_NAME: "ours"},
            "ownerReferences": [{"uid": "uid", "controller": true}],
        },
    });
    assert_eq!(observed.resources["ours"].object, expected);
}
