use std::sync::{Arc, Mutex};

use serde_json::json;

use super::*;
use crate::object::{ApiType, Texts};

fn kind() -> GroupKind {
    GroupKind::new("example", "Bucket")
}

fn api() -> Arc<ApiType> {
    Arc::new(ApiType {
        kind: kind(),
        version: "v1".into(),
        plural: "buckets".into(),
        namespaced: true,
    })
}

fn to(find: impl Fn(&Object) -> Vec<Key> + Send + Sync + 'static) -> Arc<[Edge]> {
    Arc::new([Edge::references(Arc::new(find))])
}

/// An object whose reconcile writes others.
fn writer() -> Key {
    key("writer")
}

fn key(name: &str) -> Key {
    Key::new(kind(), Some("ns"), name)
}

fn object(name: &str, uid: &str, version: u64) -> Object {
    let json = json!({"metadata": {
        "name": name, "namespace": "ns", "uid": uid, "resourceVersion": version.to_string(),
        "finalizers": ["f"],
    }});
    Object::decode(&api(), &json.to_string()).unwrap()
}

fn labelled(name: &str, version: u64, label: &str) -> Object {
    let mut object = object(name, name, version);
    object.meta.labels = Some(Texts::from_iter([("team", label)]));
    object
}

/// A store of one kind, and what its listener heard, as text.
fn store() -> (Arc<Store>, Arc<Mutex<Vec<String>>>) {
    let store = Arc::new(Store::default());
    store.open(&kind());
    let heard = listen(&store);
    (store, heard)
}

fn listen(store: &Store) -> Arc<Mutex<Vec<String>>> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&heard);
    let listener = move |change: &Change| {
        let version = |object: &Option<Arc<Object>>| object.as_ref().map_or(0, |o| o.resource_version());
        let text = format!(
            "{} {}: {} -> {}",
            match &change.cause {
                Cause::Listed => "Listed",
                Cause::Watched => "Watched",
                Cause::Written { .. } => "Written",
            },
            change.key.name(),
            version(&change.old),
            version(&change.new)
        );
        noted.lock().unwrap().push(text);
    };
    store.listen(&kind(), Arc::new(listener));
    heard
}

fn drain(heard: &Mutex<Vec<String>>) -> Vec<String> {
    std::mem::take(&mut *heard.lock().unwrap())
}

fn referring_to(store: &Store, key: &Key) -> Vec<Key> {
    store.first_referring_to(key, usize::MAX).0
}

fn version(store: &Store, name: &str) -> Option<u64> {
    store.get(&key(name)).map(|object| object.resource_version())
}

#[test]
fn listed_objects_are_initial_and_watched_ones_changes() {
    let (store, heard) = store();
    store.begin_list(&kind());
    store.observe(object("a", "a", 5));
    store.end_list(&kind(), 10);
    store.observe(object("a", "a", 11));
    store.observe(object("b", "b", 12));
    store.observe_deleted(&key("a"), "a");
    assert_eq!(
        drain(&heard),
        [
            "Listed a: 0 -> 5",
            "Watched a: 5 -> 11",
            "Watched b: 0 -> 12",
            "Watched a: 11 -> 0"
        ]
    );
}

#[test]
fn an_event_older_than_our_own_write_changes_nothing() {
    let (store, heard) = store();
    store.observe(object("a", "a", 5));
    store.observe_write(Arc::new(object("a", "a", 8)), Some(&writer()));
    store.observe(object("a", "a", 6));
    store.observe(object("a", "a", 8));
    assert_eq!(version(&store, "a"), Some(8));
    assert_eq!(drain(&heard), ["Listed a: 0 -> 5", "Written a: 5 -> 8"]);
}

#[test]
fn versions_are_compared_as_numbers() {
    let (store, _) = store();
    store.observe(object("a", "a", 9));
    store.observe(object("a", "a", 10));
    assert_eq!(version(&store, "a"), Some(10));
}

#[test]
fn a_deleted_uid_never_returns() {
    let (store, heard) = store();
    store.observe(object("a", "old", 5));
    store.observe_deleted(&key("a"), "old");
    store.observe(object("a", "old", 7));
    store.observe_write(Arc::new(object("a", "old", 8)), Some(&writer()));
    assert_eq!(version(&store, "a"), None);
    assert!(store.is_tombstoned("old"));
    store.observe(object("a", "new", 9));
    store.observe_deleted(&key("a"), "old");
    assert_eq!(version(&store, "a"), Some(9));
    assert_eq!(
        drain(&heard),
        ["Listed a: 0 -> 5", "Watched a: 5 -> 0", "Listed a: 0 -> 9"]
    );
}

#[test]
fn a_new_uid_under_a_name_deletes_the_former_object() {
    let (store, _) = store();
    store.observe(object("a", "old", 5));
    store.observe(object("a", "new", 9));
    assert!(store.is_tombstoned("old"));
    assert!(!store.is_tombstoned("new"));
}

#[test]
fn removing_the_last_finalizer_deletes_the_object() {
    let (store, heard) = store();
    store.observe(object("a", "a", 5));
    let json = json!({"metadata": {
        "name": "a", "namespace": "ns", "uid": "a", "resourceVersion": "6", "deletionTimestamp": "2026-01-01T00:00:00Z",
    }});
    store.observe_write(
        Arc::new(Object::decode(&api(), &json.to_string()).unwrap()),
        Some(&writer()),
    );
    assert_eq!(version(&store, "a"), None);
    assert!(store.is_tombstoned("a"));
    assert_eq!(drain(&heard), ["Listed a: 0 -> 5", "Written a: 5 -> 0"]);
}

#[test]
fn a_list_removes_unlisted_objects_unless_newer() {
    let (store, heard) = store();
    for (name, version) in [("stays", 1), ("goes", 2), ("unreadable", 3)] {
        store.observe(object(name, name, version));
    }
    store.end_list(&kind(), 5);
    drain(&heard);
    store.begin_list(&kind());
    store.observe(object("stays", "stays", 1));
    store.observe_unreadable(&key("unreadable"));
    store.observe_write(Arc::new(object("made meanwhile", "m", 30)), Some(&writer()));
    store.end_list(&kind(), 20);
    assert_eq!(
        drain(&heard),
        ["Written made meanwhile: 0 -> 30", "Watched goes: 2 -> 0"]
    );
    assert_eq!(store.count(&kind()), 3);
    assert!(store.is_tombstoned("goes"));
}

#[test]
fn a_list_keeps_what_is_known_without_its_being_read() {
    let (store, heard) = store();
    store.observe_write(Arc::new(object("a", "a", 7)), Some(&writer()));
    drain(&heard);
    store.begin_list(&kind());
    // Ours, the one before it, and what another has written since; an object that has its name now; one that nobody knows.
    assert!(store.observe_known(&key("a"), "a", 7));
    assert!(store.observe_known(&key("a"), "a", 6));
    assert!(!store.observe_known(&key("a"), "a", 8));
    assert!(!store.observe_known(&key("a"), "successor", 7));
    assert!(!store.observe_known(&key("b"), "b", 1));
    store.end_list(&kind(), 20);
    assert_eq!(drain(&heard), [""; 0]);
    assert_eq!(store.count(&kind()), 1);
}

#[test]
fn a_deleted_definition_deletes_its_objects() {
    let (store, heard) = store();
    store.observe(object("a", "a", 5));
    store.forget(&kind());
    assert_eq!(store.count(&kind()), 0);
    assert!(!store.is_tombstoned("a"));
    store.open(&kind());
    store.observe(object("a", "a", 5));
    drain(&heard);
    store.close(&kind());
    assert!(store.is_tombstoned("a"));
    assert_eq!(drain(&heard), ["Watched a: 5 -> 0"]);
    store.observe_write(Arc::new(object("late", "late", 9)), Some(&writer()));
    assert_eq!(store.count(&kind()), 0, "nobody would notice if it went");
}

#[test]
fn an_object_that_outlived_its_definition_is_known_again() {
    let (store, heard) = store();
    for name in ["survives", "goes"] {
        store.observe(object(name, name, 5));
    }
    store.end_list(&kind(), 10);
    store.close(&kind());
    assert!(store.is_tombstoned("survives"));
    drain(&heard);
    store.open(&kind());
    // What is answered late is of before.
    store.observe_write(Arc::new(object("survives", "survives", 8)), Some(&writer()));
    store.observe_read(Arc::new(object("goes", "goes", 8)));
    assert_eq!(store.count(&kind()), 0);
    store.begin_list(&kind());
    store.observe(object("survives", "survives", 5));
    store.end_list(&kind(), 20);
    assert_eq!(drain(&heard), ["Listed survives: 0 -> 5"]);
    assert!(!store.is_tombstoned("survives") && store.is_tombstoned("goes"));
    // From here on it is as any other.
    store.observe_write(Arc::new(object("survives", "survives", 21)), Some(&writer()));
    assert_eq!(version(&store, "survives"), Some(21));
    store.observe_deleted(&key("survives"), "survives");
    store.observe(object("survives", "survives", 22));
    assert_eq!(store.count(&kind()), 0);
}

#[test]
fn a_deleted_uid_does_not_return_with_its_definition() {
    let (store, _) = store();
    for name in ["before", "found absent", "released"] {
        store.observe(object(name, name, 5));
    }
    store.observe_deleted(&key("before"), "before");
    store.close(&kind());
    store.open(&kind());
    store.observe_gone(&key("found absent"), "found absent", None);
    let released = json!({"metadata": {
        "name": "released", "namespace": "ns", "uid": "released", "resourceVersion": "8",
        "deletionTimestamp": "2026-01-01T00:00:00Z",
    }});
    let released = Object::decode(&api(), &released.to_string()).unwrap();
    store.observe_write(Arc::new(released), Some(&writer()));
    for name in ["before", "found absent", "released"] {
        store.observe(object(name, name, 7));
        assert_eq!(version(&store, name), None, "{name}");
    }
}

#[test]
fn a_removed_listener_receives_nothing() {
    let (store, heard) = store();
    let id = store.listen(&kind(), Arc::new(|_| {}));
    store.unlisten(&kind(), id - 1);
    store.observe(object("a", "a", 1));
    assert!(drain(&heard).is_empty());
}

#[test]
fn indexes_follow_changes_and_deletions() {
    let (store, _) = store();
    let secret = |name: &str| Key::secret("ns", name);
    let _edges = store.register_edges(&kind(), {
        to(|object| {
            let name = object.label("team").unwrap_or_default();
            vec![Key::secret("ns", name)]
        })
    });
    let named = |version, external: &str, label: &str| {
        let mut object = labelled("a", version, label);
        object.meta.annotations = Some(Texts::from_iter([(EXTERNAL_NAME, external)]));
        object
    };
    store.observe(named(1, "first", "red"));
    assert_eq!(store.with_external_name(&kind(), "first"), [key("a")]);
    assert_eq!(referring_to(&store, &secret("red")), [key("a")]);
    store.observe(named(2, "second", "blue"));
    assert!(store.with_external_name(&kind(), "first").is_empty());
    assert!(referring_to(&store, &secret("red")).is_empty());
    assert_eq!(referring_to(&store, &secret("blue")), [key("a")]);
    store.observe_deleted(&key("a"), "a");
    assert!(store.with_external_name(&kind(), "second").is_empty());
    assert!(referring_to(&store, &secret("blue")).is_empty());
}

#[test]
fn transitive_and_cyclic_dependants_are_found() {
    let (store, _) = store();
    let _edges = store.register_edges(&kind(), {
        to(|object| {
            object
                .label("team")
                .into_iter()
                .map(|name| Key::new(kind(), Some("ns"), name))
                .collect()
        })
    });
    store.observe(labelled("a", 1, "b"));
    store.observe(labelled("b", 2, "c"));
    store.observe(labelled("c", 3, "a"));
    let woken = |name: &str| {
        let wakes = store.wakes(&Change {
            key: key(name),
            old: None,
            new: None,
            cause: Cause::Watched,
        });
        wakes.into_keys().collect::<Vec<_>>()
    };
    assert_eq!(woken("c"), [key("a"), key("b"), key("c")]);
    assert_eq!(woken("nobody"), []);
}

#[test]
fn a_status_only_change_is_recognized() {
    let change = |old: &serde_json::Value, new: &serde_json::Value| Change {
        key: key("a"),
        old: Some(Arc::new(Object::decode(&api(), &old.to_string()).unwrap())),
        new: Some(Arc::new(Object::decode(&api(), &new.to_string()).unwrap())),
        cause: Cause::Watched,
    };
    let base = json!({
        "metadata": {"name": "a", "uid": "a", "resourceVersion": "1", "managedFields": [{"manager": "x"}]},
        "spec": {"size": 1}, "status": {"seen": 1}, "data": {"key": "a"}, "immutable": false,
    });
    let edited = |pointer: &str, value: serde_json::Value| {
        let mut edited = base.clone();
        *edited.pointer_mut(pointer).unwrap() = value;
        edited["metadata"]["resourceVersion"] = json!("2");
        change(&base, &edited).beyond_status()
    };
    assert!(!edited("/status/seen", json!(2)));
    assert!(!edited("/metadata/managedFields", json!([{"manager": "y"}])));
    assert!(edited("/spec/size", json!(2)));
    assert!(edited("/data/key", json!("b")));
    assert!(edited("/immutable", json!(true)));
    assert!(edited("/metadata/uid", json!("b")));
}

/// Stops listening when it is dropped, as a subscription does.
struct Listening(Arc<Store>, u64);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.unlisten(&kind(), self.1);
    }
}

#[test]
fn dropping_a_listener_drops_those_it_owns() {
    let store = Arc::new(Store::default());
    let inner = store.listen(&kind(), Arc::new(|_| {}));
    let inner = Listening(Arc::clone(&store), inner);
    let outer = store.listen(
        &kind(),
        Arc::new(move |_| {
            let _ = &inner;
        }),
    );
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        store.unlisten(&kind(), outer);
        done.send(store.listeners.read().get(&kind()).map(Vec::len))
            .unwrap();
    });
    let left = ended.recv_timeout(std::time::Duration::from_secs(30));
    assert_eq!(left, Ok(Some(0)), "it hangs on its own lock");
}

#[test]
fn a_panicking_listener_is_isolated() {
    let store = Store::default();
    store.open(&kind());
    store.listen(&kind(), Arc::new(|_| panic!("as the test wants")));
    let heard = listen(&store);
    store.observe(object("a", "a", 5));
    assert_eq!(drain(&heard), ["Listed a: 0 -> 5"]);
}

#[test]
fn references_are_found_anew_when_another_rule_counts() {
    let (store, _) = store();
    let secret = |name: &str| Key::secret("ns", name);
    let rule = |name: &'static str| to(move |_| vec![Key::secret("ns", name)]);
    store.observe(object("a", "a", 5));
    assert_eq!(referring_to(&store, &secret("old")), []);
    let old = store.register_edges(&kind(), rule("old"));
    assert_eq!(referring_to(&store, &secret("old")), [key("a")]);
    let new = store.register_edges(&kind(), rule("new"));
    drop(old);
    store.observe(object("b", "b", 6));
    assert_eq!(referring_to(&store, &secret("old")), []);
    assert_eq!(referring_to(&store, &secret("new")), [key("a"), key("b")]);
    drop(new);
    assert_eq!(referring_to(&store, &secret("new")), []);
}

#[test]
fn data_of_a_secret_is_never_stored() {
    let store = Store::default();
    let api = Arc::new(ApiType::secrets());
    store.open(&api.kind);
    let secret = |version: u64| {
        let json = json!({
            "metadata": {
                "name": "keys", "namespace": "ns", "uid": "u", "resourceVersion": version.to_string(),
                "annotations": {"copy": "Y2FuYXJ5"},
            },
            "data": {"password": "Y2FuYXJ5"},
        });
        Object::decode(&api, &json.to_string()).unwrap()
    };
    let stored = || {
        let secret = store.get(&Key::secret("ns", "keys")).unwrap();
        (
            secret.resource_version(),
            serde_json::to_string(&*secret).unwrap(),
        )
    };
    store.observe_write(Arc::new(secret(1)), None);
    assert!(
        stored().0 == 1 && !stored().1.contains("Y2FuYXJ5"),
        "{:?}",
        stored()
    );
    store.observe_read(Arc::new(secret(2)));
    assert!(
        stored().0 == 2 && !stored().1.contains("Y2FuYXJ5"),
        "{:?}",
        stored()
    );
    store.observe(secret(3));
    assert!(
        stored().0 == 3 && !stored().1.contains("Y2FuYXJ5"),
        "{:?}",
        stored()
    );
}

#[test]
fn a_watched_object_without_finalizers_is_not_gone_before_its_end() {
    let (store, _) = store();
    let json = json!({"metadata": {
        "name": "a", "namespace": "ns", "uid": "a", "resourceVersion": "6", "deletionTimestamp": "2026-01-01T00:00:00Z",
    }});
    store.observe(Object::decode(&api(), &json.to_string()).unwrap());
    assert_eq!(version(&store, "a"), Some(6));
    store.observe_deleted(&key("a"), "a");
    assert_eq!(version(&store, "a"), None);
}
