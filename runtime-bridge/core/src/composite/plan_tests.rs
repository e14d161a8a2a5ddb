use std::sync::Arc;

use serde_json::json;

use crate::{
    composite::{
        Composite, LiveObject, ObjectState, context::Context, memory::CompositeMemory, names, sample,
    },
    definition::Scope,
    function::Resource,
    watch_plan::GroupKind,
};

/// A function names a namespace for what has none, and composed it before its definition was there: each reconcile would delete and create it.
#[test]
fn an_object_under_an_id_of_before_its_scope_was_known_is_not_obsolete() {
    let mut snapshot = sample::snapshot(Scope::LegacyCluster, &json!({}), &json!({}));
    let mut xr = snapshot.xr.object.clone();
    xr["metadata"]["namespace"].take();
    let reference =
        json!({"apiVersion": "example.org/v1", "kind": "Thing", "name": "thing", "namespace": "team"});
    xr["spec"] = json!({"resourceRefs": [reference]});
    snapshot.xr = Composite::parse(xr, Scope::LegacyCluster);
    snapshot.namespaced = [(GroupKind::new("example.org", "Thing"), false)].into();
    let thing = json!({
        "apiVersion": "example.org/v1", "kind": "Thing",
        "metadata": {"name": "thing", "namespace": "team"},
    });
    let mut outcome = sample::outcome();
    if let Ok(desired) = &mut outcome.result {
        desired
            .resources
            .insert("thing".to_owned(), Resource::of(thing.clone()));
    }
    sample::end_run(&mut snapshot, outcome);
    let mut object = thing;
    object["metadata"] = json!({
        "name": "thing", "uid": "uid-of-thing",
        "annotations": {names::RESOURCE_NAME: "thing"},
        "ownerReferences": [{"uid": snapshot.xr.uid(), "controller": true}],
    });
    let exists = ObjectState::Exists(Arc::new(LiveObject::new(object)));
    let of_then = snapshot.xr.ids().next().unwrap();
    let mut of_now = of_then.clone();
    of_now.namespace = None;
    snapshot.seen = [(of_then, exists.clone()), (of_now, exists)].into();
    let memory = CompositeMemory::default();
    let plan = Context::new(&snapshot, &memory).plan.unwrap();
    assert_eq!(plan.obsolete, []);
    let refs: Vec<_> = plan
        .refs
        .iter()
        .map(|one| (one.name.as_str(), one.namespace.as_deref()))
        .collect();
    assert_eq!(refs, [("thing", None)]);
}
