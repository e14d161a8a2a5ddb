use std::sync::Mutex;

use serde_json::{Value, json};

use super::*;
use crate::{
    object::ApiType,
    store::{Cause, LabelSelection, RegisteredEdges},
};

fn kind(name: &str) -> GroupKind {
    GroupKind::new("example.org", name)
}

fn key(kind_name: &str, name: &str) -> Key {
    Key::new(kind(kind_name), Some("ns"), name)
}

/// Of any kind, its uid is its name.
fn object(kind_name: &str, name: &str, version: u64, more: &Value) -> Arc<Object> {
    let api = ApiType {
        kind: kind(kind_name),
        version: "v1".into(),
        plural: "x".into(),
        namespaced: true,
    };
    let mut json = json!({"metadata": {
        "name": name, "namespace": "ns", "uid": name, "resourceVersion": version.to_string(), "finalizers": ["f"],
    }});
    for part in ["metadata", "spec", "status"] {
        for (field, value) in more[part].as_object().into_iter().flatten() {
            json[part][field] = value.clone();
        }
    }
    Arc::new(Object::decode(&Arc::new(api), &json.to_string()).unwrap())
}

/// A store with the composite `x`, which depends on others by these edges.
fn store(edges: impl Into<Arc<[Edge]>>) -> (Arc<Store>, RegisteredEdges) {
    let store = Arc::new(Store::default());
    for name in ["Composite", "Composed", "Claim"] {
        store.open(&kind(name));
    }
    let registered = store.register_edges(&kind("Composite"), edges.into());
    store.observe_read(object("Composite", "x", 1, &json!({"spec": {"uses": "a"}})));
    (store, registered)
}

fn uses(kind_name: &'static str) -> Edge {
    Edge::references(Arc::new(move |object| {
        let name = object.spec_value()["uses"].as_str().map(ToOwned::to_owned);
        name.map(|name| key(kind_name, &name)).into_iter().collect()
    }))
}

fn changed(old: &Arc<Object>, new: &Arc<Object>) -> Change {
    Change {
        key: new.key(),
        old: Some(Arc::clone(old)),
        new: Some(Arc::clone(new)),
        cause: Cause::Watched,
    }
}

/// From an empty object to this one.
fn change_to(more: &Value) -> Change {
    changed(
        &object("Composed", "a", 5, &json!({})),
        &object("Composed", "a", 6, more),
    )
}

fn woken(store: &Store, change: &Change) -> Vec<(String, Priority)> {
    let wakes = store.wakes(change).into_iter();
    wakes
        .map(|(key, priority)| (key.name().to_owned(), priority))
        .collect()
}

fn x(priority: Priority) -> Vec<(String, Priority)> {
    vec![("x".to_owned(), priority)]
}

#[test]
fn interest_says_whether_status_and_finalizers_count() {
    let more = [
        (json!({"spec": {"size": 1}}), true),
        (json!({"metadata": {"labels": {"a": "b"}}}), true),
        (json!({"status": {"ready": true}}), false),
        (json!({"metadata": {"finalizers": []}}), false),
    ];
    for (interest, counts_all) in [(Interest::Desired, false), (Interest::All, true)] {
        let (store, _edges) = store([uses("Composed").with_interest(interest)]);
        for (more, is_desired) in &more {
            let expected = if *is_desired || counts_all {
                x(Priority::Dependency)
            } else {
                Vec::new()
            };
            assert_eq!(woken(&store, &change_to(more)), expected, "{interest:?} {more}");
        }
    }
}

#[test]
fn only_changes_of_what_is_desired_are_passed_on() {
    let (store, _edges) = store([uses("Composed").with_interest(Interest::All)]);
    let claims = Edge::references(Arc::new(|_| vec![key("Composite", "x")]));
    let _claims = store.register_edges(&kind("Claim"), Arc::new([claims.clone()]));
    store.observe_read(object("Claim", "c", 2, &json!({})));
    let sized = change_to(&json!({"spec": {"size": 1}}));
    assert_eq!(woken(&store, &sized), x(Priority::Dependency));

    let _edges = store.register_edges(&kind("Composite"), Arc::new([uses("Composed")]));
    let names = |change| {
        woken(&store, change)
            .into_iter()
            .map(|(name, _)| name)
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&sized), ["c", "x"]);
    // Not where the way leads through a kind that does not count.
    let _claims = store.register_edges(&kind("Claim"), Arc::new([claims.of_kinds([kind("Other")])]));
    assert_eq!(names(&sized), ["x"]);
}

#[test]
fn kinds_and_priority_are_the_edges_own() {
    let urgent = |change: &Change| {
        let gone = change.new.is_none();
        Some(if gone {
            Priority::UserChange
        } else {
            Priority::DriftPoll
        })
    };
    let edge = uses("Composed")
        .of_kinds([kind("Composed")])
        .with_priority(Arc::new(urgent));
    let (store, _edges) = store([edge.clone()]);
    let mut change = change_to(&json!({"spec": {"size": 1}}));
    assert_eq!(woken(&store, &change), x(Priority::DriftPoll));
    change.new = None;
    assert_eq!(woken(&store, &change), x(Priority::UserChange));
    let elsewhere = store.register_edges(&kind("Composite"), Arc::new([edge.of_kinds([kind("Other")])]));
    assert_eq!(woken(&store, &change), []);
    drop(elsewhere);
    assert_eq!(
        woken(&store, &change),
        x(Priority::UserChange),
        "the former count again"
    );
}

#[test]
fn labels_wake_those_that_select_them_before_or_after() {
    let selects = |labels: Value, namespace: Option<&str>| {
        let selection = LabelSelection {
            kind: kind("Composed"),
            namespace: namespace.map(ToOwned::to_owned),
            labels: serde_json::from_value(labels).unwrap(),
        };
        Edge::selections(Arc::new(move |_| vec![selection.clone()]))
    };
    let labelled = |labels: Value| json!({"metadata": {"labels": labels}});
    let red = object("Composed", "a", 5, &labelled(json!({"team": "red", "size": "s"})));
    let blue = object(
        "Composed",
        "a",
        6,
        &labelled(json!({"team": "blue", "size": "s"})),
    );
    let cases = [
        (json!({"team": "red", "size": "s"}), None, true),
        (json!({"team": "blue"}), Some("ns"), true),
        (json!({"team": "blue", "size": "l"}), None, false),
        (json!({"team": "green"}), None, false),
        (json!({"team": "red"}), Some("elsewhere"), false),
        (json!({}), None, true),
    ];
    for (labels, namespace, expected) in cases {
        let (store, _edges) = store([selects(labels.clone(), namespace)]);
        let woken = woken(&store, &changed(&red, &blue));
        assert_eq!(!woken.is_empty(), expected, "{labels} {namespace:?}");
    }
}

#[test]
fn an_owner_is_woken_by_what_names_its_uid() {
    let (store, edges) = store([Edge::owned()]);
    let owned = |name: &str, uid: &str| {
        let owner = json!({"apiVersion": "example.org/v1", "kind": "Composite", "name": name, "uid": uid});
        object(
            "Composed",
            "a",
            6,
            &json!({"metadata": {"ownerReferences": [owner]}}),
        )
    };
    let nobodys = object("Composed", "a", 7, &json!({}));
    let comes = changed(&nobodys, &owned("x", "x"));
    assert_eq!(woken(&store, &comes), x(Priority::Dependency));
    assert_eq!(
        woken(&store, &changed(&owned("x", "x"), &nobodys)),
        x(Priority::Dependency)
    );
    assert_eq!(woken(&store, &changed(&nobodys, &owned("x", "former"))), []);
    assert_eq!(woken(&store, &changed(&nobodys, &owned("y", "x"))), []);
    drop(edges);
    assert_eq!(woken(&store, &comes), []);
}

#[test]
fn what_is_forgotten_or_gone_depends_on_nothing() {
    let (store, _edges) = store([uses("Composed")]);
    let sized = change_to(&json!({"spec": {"size": 1}}));
    store.observe_read(object("Composite", "x", 2, &json!({"spec": {"uses": "b"}})));
    assert_eq!(woken(&store, &sized), []);
    store.observe_read(object("Composite", "x", 3, &json!({"spec": {"uses": "a"}})));
    assert_eq!(woken(&store, &sized), x(Priority::Dependency));
    store.observe_gone(&key("Composite", "x"), "x", None);
    assert_eq!(woken(&store, &sized), []);
    store.observe_read(object("Composite", "y", 4, &json!({"spec": {"uses": "a"}})));
    store.forget(&kind("Composite"));
    assert_eq!(woken(&store, &sized), []);
}

/// What the dispatcher hears of a store in which the composite `x` depends on the composed `a`, of uid `a`. Composed objects were listed and are not
/// watched now.
fn unwatched() -> (Arc<Store>, RegisteredEdges, Arc<Mutex<Vec<String>>>) {
    let (store, edges) = store([uses("Composed")]);
    store.begin_list(&kind("Composed"));
    for name in ["a", "unused"] {
        store.observe_read(object("Composed", name, 5, &json!({})));
    }
    store.end_list(&kind("Composed"), 5);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (noted, looked_up) = (Arc::clone(&heard), Arc::downgrade(&store));
    store.dispatch_to(Arc::new(move |change| {
        let old = change.old.as_ref().map_or("none", |old| old.uid());
        let new = change.new.as_ref().map_or("none", |new| new.uid());
        let woken = woken(&looked_up.upgrade().unwrap(), change);
        let woken: Vec<&str> = woken.iter().map(|(name, _)| name.as_str()).collect();
        let text = format!("{} {old} -> {new} wakes {woken:?}", change.key.name());
        noted.lock().unwrap().push(text);
    }));
    store.forget(&kind("Composed"));
    assert_eq!(drain(&heard), [""; 0]);
    store.open(&kind("Composed"));
    store.begin_list(&kind("Composed"));
    (store, edges, heard)
}

fn drain(heard: &Mutex<Vec<String>>) -> Vec<String> {
    std::mem::take(&mut *heard.lock().unwrap())
}

const A_IS_GONE: &str = "a a -> none wakes [\"x\"]";

#[test]
fn a_deletion_while_unwatched_is_told_with_the_next_list() {
    let (store, _edges, heard) = unwatched();
    store.end_list(&kind("Composed"), 7);
    assert_eq!(drain(&heard), [A_IS_GONE]);
    assert!(store.is_tombstoned("a") && !store.is_tombstoned("unused"));
    store.begin_list(&kind("Composed"));
    store.end_list(&kind("Composed"), 8);
    assert_eq!(drain(&heard), [""; 0], "once");
}

#[test]
fn an_object_that_is_listed_again_is_not_gone() {
    let (store, _edges, heard) = unwatched();
    store.observe_read(object("Composed", "a", 5, &json!({})));
    store.end_list(&kind("Composed"), 7);
    assert_eq!(drain(&heard), ["a none -> a wakes [\"x\"]"]);
    store.observe_deleted(&key("Composed", "a"), "a");
    assert_eq!(drain(&heard), [A_IS_GONE]);
    store.begin_list(&kind("Composed"));
    store.end_list(&kind("Composed"), 8);
    assert_eq!(drain(&heard), [""; 0]);
}

#[test]
fn an_object_that_was_created_anew_while_unwatched_is_told_of() {
    let (store, _edges, heard) = unwatched();
    store.observe_read(object("Composed", "a", 6, &json!({"metadata": {"uid": "a2"}})));
    store.end_list(&kind("Composed"), 7);
    assert_eq!(drain(&heard), ["a none -> a2 wakes [\"x\"]", A_IS_GONE]);
    assert!(store.get(&key("Composed", "a")).is_some());
}

#[test]
fn a_list_that_may_not_show_it_says_nothing_of_the_forgotten() {
    // It is older than what was known, or shows what cannot be read.
    let (store, _edges, heard) = unwatched();
    store.end_list(&kind("Composed"), 4);
    store.begin_list(&kind("Composed"));
    store.observe_unreadable(&key("Composed", "a"));
    store.end_list(&kind("Composed"), 7);
    assert_eq!(drain(&heard), [""; 0]);
    assert!(!store.is_tombstoned("a"));
    store.observe_deleted(&key("Composed", "a"), "a");
    assert_eq!(drain(&heard), [A_IS_GONE]);
}

#[test]
fn a_watch_that_ends_before_its_list_forgets_nothing_more() {
    let (store, _edges, heard) = unwatched();
    store.forget(&kind("Composed"));
    // A write of ours finds it gone, or the kind goes.
    store.observe_gone(&key("Composed", "a"), "a", None);
    assert_eq!(drain(&heard), [A_IS_GONE]);
    let (store, _edges, heard) = unwatched();
    store.forget(&kind("Composed"));
    store.open(&kind("Composed"));
    store.close(&kind("Composed"));
    assert_eq!(drain(&heard), [A_IS_GONE]);
}
