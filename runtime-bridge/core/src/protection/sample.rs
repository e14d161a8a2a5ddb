//! What tests of this module begin with.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::json;

use super::{ControllerState, Identity, Known, Record, Resolution, Snapshot, Usage, names};
use crate::composite::{LiveObject, ObjectState, ResourceRef, Settings};

pub fn reference(kind: &str, name: &str) -> ResourceRef {
    ResourceRef {
        api_version: "example.org/v1".to_owned(),
        kind: kind.to_owned(),
        namespace: Some("team".to_owned()),
        name: name.to_owned(),
    }
}

pub fn object(kind: &str, name: &str) -> LiveObject {
    LiveObject::new(json!({
        "apiVersion": "example.org/v1", "kind": kind,
        "metadata": {"name": name, "namespace": "team", "uid": format!("uid-{name}"), "resourceVersion": "5"},
    }))
}

/// `App/app uses Db/db`, as a person writes it.
pub fn usage() -> Usage {
    Usage::new(json!({
        "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage",
        "metadata": {
            "name": "protect-db", "namespace": "team", "uid": "uid-usage", "resourceVersion": "1", "generation": 1,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        },
        "spec": {
            "of": {"apiVersion": "example.org/v1", "kind": "Db", "resourceRef": {"name": "db"}},
            "by": {"apiVersion": "example.org/v1", "kind": "App", "resourceRef": {"name": "app"}},
        },
    }))
}

pub fn record() -> Record {
    let identity = |kind: &str, name: &str| Identity {
        reference: reference(kind, name),
        uid: format!("uid-{name}"),
    };
    Record {
        usage: usage().uid().to_owned(),
        of: identity("Db", "db"),
        by: Some(identity("App", "app")),
    }
}

/// As it is written first.
pub fn recorded() -> Usage {
    let mut usage = usage();
    let metadata = &mut usage.0.object_mut()["metadata"];
    metadata["finalizers"] = json!([names::FINALIZER]);
    metadata["annotations"] =
        json!({names::DETAILS: "App/app uses Db/db", names::RECORD: record().to_string()});
    metadata["ownerReferences"] =
        json!([{"apiVersion": "example.org/v1", "kind": "App", "name": "app", "uid": "uid-app"}]);
    usage
}

pub fn deleting(mut usage: Usage) -> Usage {
    usage.0.object_mut()["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:59:00Z");
    usage
}

pub fn exists(object: LiveObject) -> ObjectState {
    ObjectState::Exists(Arc::new(object))
}

/// A used object that bears all that it is to bear.
pub fn marked() -> LiveObject {
    let mut object = object("Db", "db");
    object.object_mut()["metadata"]["labels"] = json!({names::IN_USE: "true"});
    object.object_mut()["metadata"]["annotations"] = json!({
        names::IN_USE_BY: "Usage team/protect-db: App/app uses Db/db",
        names::HELD_BY: "uid-usage",
    });
    object
}

/// Of a usage whose two resources exist.
pub fn snapshot(usage: Usage, used: &LiveObject) -> Snapshot {
    let app = object("App", "app");
    let is_known = usage.record().is_some();
    let known = |kind: &str, object: &LiveObject| {
        let name = object.object()["metadata"]["name"].as_str().unwrap();
        Known::Object(reference(kind, name), exists(object.clone()))
    };
    Snapshot {
        of: Resolution::Found(reference("Db", "db"), Arc::new(used.clone())),
        by: Some(Resolution::Found(reference("App", "app"), Arc::new(app.clone()))),
        used: if is_known {
            known("Db", used)
        } else {
            Known::Nothing
        },
        using: if is_known {
            known("App", &app)
        } else {
            Known::Nothing
        },
        usage,
        controller: ControllerState::None,
        owner: ControllerState::None,
        ancestors: BTreeSet::new(),
        others: Vec::new(),
        gone: BTreeSet::new(),
        cycle: String::new(),
        guard: Ok(()),
        unknown_usages: None,
        notes_attempts: true,
        is_unwatched: false,
        may_act: true,
        settings: Arc::new(Settings::default()),
        now: "2026-01-01T01:00:00Z".parse().unwrap(),
    }
}
