use serde_json::{Value, json};

use super::*;
use crate::{
    object::ApiType,
    store::{Cause, Change, RegisteredEdges, Store},
};

fn api(kind: &str, namespaced: bool) -> Arc<ApiType> {
    Arc::new(ApiType {
        kind: GroupKind::new("example.org", kind),
        version: "v1".to_owned(),
        plural: "x".to_owned(),
        namespaced,
    })
}

fn object(api: &Arc<ApiType>, metadata: &Value, spec: &Value) -> Arc<Object> {
    let mut json = json!({"metadata": metadata, "spec": spec});
    json["metadata"]["uid"] = json["metadata"]["name"].clone();
    json["metadata"]["resourceVersion"] = "1".into();
    Arc::new(Object::decode(api, &json.to_string()).unwrap())
}

/// A composite resource of the namespace `team` that requires this.
fn store(requires: &Value) -> (Arc<Store>, RegisteredEdges) {
    let store = Arc::new(Store::default());
    let composites = api("App", true);
    store.open(&composites.kind);
    let registered = store.register_edges(&composites.kind, edges(Scope::Namespaced, None));
    let metadata = json!({
        "name": "app", "namespace": "team", "annotations": {names::REQUIRES: requires.to_string()},
    });
    let spec = json!({"crossplane": {
        "compositionRef": {"name": "apps"}, "compositionRevisionRef": {"name": "pinned"},
    }});
    store.observe_read(object(&composites, &metadata, &spec));
    (store, registered)
}

/// Whether an object that comes to be is the composite resource's turn.
fn wakes(requires: &Value, object: Arc<Object>) -> bool {
    let (store, _edges) = store(requires);
    store.open(&object.api.kind);
    is_woken(&store, object)
}

fn is_woken(store: &Store, object: Arc<Object>) -> bool {
    let change = Change {
        key: object.key(),
        old: None,
        new: Some(object),
        cause: Cause::Watched,
    };
    store.wakes(&change).keys().any(|key| key.name() == "app")
}

fn entry(matching: &Value) -> Value {
    let mut entry = json!({"step": "s", "name": "n", "apiVersion": "example.org/v1", "kind": "Thing"});
    for (field, value) in matching.as_object().unwrap() {
        entry[field] = value.clone();
    }
    json!([entry])
}

fn thing(namespace: &str, name: &str) -> Arc<Object> {
    let metadata = json!({"name": name, "namespace": namespace, "labels": {"tier": "gold"}});
    object(&api("Thing", true), &metadata, &Value::Null)
}

fn cluster_thing(name: &str) -> Arc<Object> {
    let metadata = json!({"name": name, "labels": {"tier": "gold"}});
    object(&api("Thing", false), &metadata, &Value::Null)
}

#[test]
fn an_object_that_is_required_by_name_is_followed() {
    let requires = entry(&json!({"matchName": "a", "namespace": "team"}));
    assert!(wakes(&requires, thing("team", "a")));
    assert!(!wakes(&requires, thing("team", "b")));
    assert!(!wakes(&requires, thing("other", "a")));
}

#[test]
fn objects_that_are_required_by_labels_are_followed() {
    let requires = entry(&json!({"matchLabels": {"tier": "gold"}, "namespace": "team"}));
    assert!(wakes(&requires, thing("team", "a")));
    assert!(!wakes(&requires, thing("other", "a")));
    let other = entry(&json!({"matchLabels": {"tier": "tin"}}));
    assert!(!wakes(&other, thing("team", "a")));
}

/// As it is found, too.
#[test]
fn the_namespace_of_what_is_cluster_scoped_says_nothing() {
    for matching in [
        json!({"matchName": "a"}),
        json!({"matchLabels": {"tier": "gold"}}),
    ] {
        for namespace in [json!("team"), Value::Null] {
            let mut matching = matching.clone();
            matching["namespace"] = namespace;
            let requires = entry(&matching);
            assert!(wakes(&requires, cluster_thing("a")), "{requires}");
        }
    }
}

#[test]
fn of_kinds_alone_each_object_is_followed() {
    let requires = json!([{"apiVersion": "example.org/v1", "kind": "Thing"}]);
    assert!(wakes(&requires, thing("other", "a")));
    assert!(wakes(&requires, cluster_thing("a")));
    let other = object(
        &api("Other", true),
        &json!({"name": "a", "namespace": "team"}),
        &Value::Null,
    );
    assert!(!wakes(&requires, other));
}

#[test]
fn of_a_kind_whose_objects_are_selected_the_rest_is_not_followed() {
    let requires = entry(&json!({"matchName": "a", "namespace": "team"}));
    assert!(!wakes(&requires, thing("team", "b")));
}

#[test]
fn each_kind_that_is_required_is_needed() {
    for requires in [
        entry(&json!({"matchName": "a"})),
        json!([{"apiVersion": "example.org/v1", "kind": "Thing"}]),
    ] {
        let (store, _edges) = store(&requires);
        let needed: Vec<String> = store
            .needed()
            .into_iter()
            .map(|one| one.kind.kind().to_owned())
            .collect();
        assert_eq!(needed, ["Thing"]);
    }
}

/// Whatever it names.
#[test]
fn the_enforced_composition_counts_from_when_it_is_enforced() {
    let (store, registered) = store(&json!([]));
    for kind in [library::composition_kind(), library::revision_kind()] {
        store.open(&kind);
    }
    let api = |kind: GroupKind| {
        Arc::new(ApiType {
            kind,
            version: "v1".to_owned(),
            plural: "x".to_owned(),
            namespaced: false,
        })
    };
    let wakes = |name: &str| {
        let labels = json!({"name": name, "labels": {COMPOSITION_NAME: name}});
        let composition = object(&api(library::composition_kind()), &labels, &Value::Null);
        let revision = object(&api(library::revision_kind()), &labels, &Value::Null);
        [composition, revision].map(|object| is_woken(&store, object))
    };
    // A revision that it is pinned to, of whatever composition.
    assert_eq!(wakes("pinned"), [false, true]);
    assert_eq!((wakes("apps"), wakes("enforced")), ([true; 2], [false; 2]));
    registered.replace(edges(Scope::Namespaced, Some("enforced")));
    assert_eq!(wakes("pinned"), [false, true]);
    assert_eq!((wakes("apps"), wakes("enforced")), ([false; 2], [true; 2]));
    registered.replace(edges(Scope::Namespaced, None));
    assert_eq!((wakes("apps"), wakes("enforced")), ([true; 2], [false; 2]));
}
