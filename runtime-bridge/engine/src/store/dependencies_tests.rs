use std::{collections::BTreeSet, sync::Arc};

use futures::FutureExt;
use serde_json::{Value, json};

use super::*;
use crate::{
    object::{ApiType, Object},
    store::{Edge, RegisteredEdges, Store},
};

fn kind(name: &str) -> GroupKind {
    GroupKind::new("example.org", name)
}

fn object(name: &str, version: u64, needs: &[&str]) -> Arc<Object> {
    let api = ApiType {
        kind: kind("Composite"),
        version: "v1".into(),
        plural: "composites".into(),
        namespaced: false,
    };
    let json = json!({
        "metadata": {"name": name, "uid": name, "resourceVersion": version.to_string()},
        "spec": {"needs": needs},
    });
    Arc::new(Object::decode(&Arc::new(api), &json.to_string()).unwrap())
}

fn needed(object: &Object) -> Vec<NeededKind> {
    let spec = object.spec_value();
    let names = spec["needs"].as_array().into_iter().flatten();
    names
        .filter_map(Value::as_str)
        .map(|name| NeededKind {
            kind: kind(name),
            version: "v1".to_owned(),
        })
        .collect()
}

fn store() -> (Arc<Store>, RegisteredEdges) {
    let store = Arc::new(Store::default());
    store.open(&kind("Composite"));
    let edges = store.register_edges(&kind("Composite"), Arc::new([Edge::needs(Arc::new(needed))]));
    (store, edges)
}

fn names(store: &Store) -> BTreeSet<String> {
    store
        .needed()
        .into_iter()
        .map(|one| one.kind.kind().to_owned())
        .collect()
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn what_is_needed_is_the_sum_of_what_is_stored() {
    let (store, edges) = store();
    assert_eq!(names(&store), set(&[]));
    store.observe_read(object("x", 1, &["A", "B"]));
    store.observe_read(object("y", 2, &["B", "C"]));
    assert_eq!(names(&store), set(&["A", "B", "C"]));
    store.observe_read(object("x", 3, &["B"]));
    assert_eq!(names(&store), set(&["B", "C"]));
    store.observe_gone(&object("y", 2, &[]).key(), "y", None);
    assert_eq!(names(&store), set(&["B"]));
    drop(edges);
    assert_eq!(names(&store), set(&[]), "nobody serves the kind any more");
}

#[test]
fn what_was_stored_before_counts_once_its_kind_is_served() {
    let store = Arc::new(Store::default());
    store.open(&kind("Composite"));
    store.observe_read(object("x", 1, &["A"]));
    let _edges = store.register_edges(&kind("Composite"), Arc::new([Edge::needs(Arc::new(needed))]));
    assert_eq!(names(&store), set(&["A"]));
    store.forget(&kind("Composite"));
    assert_eq!(names(&store), set(&[]), "nothing is known of the kind");
}

#[test]
fn a_change_of_the_sum_is_told() {
    let (store, _edges) = store();
    let changed = store.needs_changed();
    let told = || changed.notified().now_or_never().is_some();
    assert!(!told());
    store.observe_read(object("x", 1, &["A"]));
    assert!(told());
    store.observe_read(object("y", 2, &["A"]));
    assert!(!told(), "it is needed already");
    store.observe_gone(&object("x", 1, &[]).key(), "x", None);
    assert!(!told(), "it is needed still");
    store.observe_gone(&object("y", 2, &[]).key(), "y", None);
    assert!(told());
}

#[test]
fn what_an_owner_controls_is_found_by_its_uid() {
    let store = Store::default();
    store.open(&kind("Composite"));
    let owned = |version: u64, uid: &str| {
        let mut json = serde_json::to_value(&*object("x", version, &[])).unwrap();
        json["metadata"]["ownerReferences"] = json!([
            {"apiVersion": "v1", "kind": "K", "name": "plain", "uid": "plain"},
            {"apiVersion": "v1", "kind": "K", "name": "n", "uid": uid, "controller": true},
        ]);
        Arc::new(Object::decode(&object("x", 1, &[]).api, &json.to_string()).unwrap())
    };
    let controlled = |uid: &str| store.controlled_by(uid).len();
    store.observe_read(owned(1, "a"));
    assert_eq!((controlled("a"), controlled("plain")), (1, 0));
    store.observe_read(owned(2, "b"));
    assert_eq!((controlled("a"), controlled("b")), (0, 1));
    store.observe_gone(&object("x", 1, &[]).key(), "x", None);
    assert_eq!(controlled("b"), 0);
}
