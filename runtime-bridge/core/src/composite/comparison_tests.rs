use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;

use super::*;
use crate::{
    composite::{pipeline::RunFailure, present::differences, sample, snapshot::RunState},
    definition::Scope,
    function::Resource,
};

/// Composition resource names that are desired, each of a `ConfigMap` of that name, save for `invalid`.
const DESIRED: [&str; 9] = [
    "absent", "adopted", "altered", "changed", "cut", "going", "same", "theirs", "unread",
];

/// Of a composite resource whose run desires all of [`DESIRED`], and something without a kind.
fn snapshot() -> Snapshot {
    let mut snapshot = sample::snapshot(Scope::Namespaced, &json!({}), &Value::Null);
    let mut outcome = sample::outcome();
    if let Ok(desired) = &mut outcome.result {
        for name in DESIRED {
            let object = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "canary", "b": "2"},
            });
            desired.resources.insert(name.to_owned(), Resource::of(object));
        }
        let invalid = Resource::of(json!({"apiVersion": "v1"}));
        desired.resources.insert("invalid".to_owned(), invalid);
    }
    sample::end_run(&mut snapshot, outcome);
    snapshot
}

/// Each desired object as its creation left it.
fn created(snapshot: &Snapshot) -> BTreeMap<String, Value> {
    let memory = CompositeMemory::default();
    let of = Context::new(snapshot, &memory);
    let plan = of.plan.as_ref().unwrap();
    let created = |(name, resource): (&str, &ComposedResource)| {
        let mut object = resource.created();
        object["metadata"]["uid"] = name.into();
        (name.to_owned(), object)
    };
    plan.composable().map(created).collect()
}

fn see(snapshot: &mut Snapshot, name: &str, seen: ObjectState) {
    let id = ObjectId {
        group: String::new(),
        kind: "ConfigMap".to_owned(),
        namespace: Some("team".to_owned()),
        name: name.to_owned(),
    };
    snapshot.xr.refs.push(super::super::ResourceRef {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        namespace: None,
        name: name.to_owned(),
    });
    snapshot.seen.insert(id, seen);
}

#[test]
fn each_composed_resource_is_compared_with_what_the_last_run_desires() {
    let mut snapshot = snapshot();
    let mut memory = CompositeMemory::default();
    for (name, mut object) in created(&snapshot) {
        match name.as_str() {
            "absent" => {
                see(&mut snapshot, &name, ObjectState::Absent);
                continue;
            }
            // A restore took its owner off.
            "adopted" => object["metadata"]["ownerReferences"] = json!([]),
            "altered" => {
                let desired = object.clone();
                object["data"]["a"] = "webhook".into();
                let found = differences(&desired, &object);
                memory.altered.insert(name.clone(), found);
            }
            "changed" => object["data"] = json!({"a": "other"}),
            // A former run desired one field more, and it is still there.
            "cut" => object["metadata"]["annotations"]["crossbridge.dev/applied"] = "applied/v1:00".into(),
            "going" => object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into(),
            // Another owner's, whatever becomes of it.
            "theirs" => {
                object["metadata"]["ownerReferences"][0]["uid"] = "another".into();
                object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
            }
            _ => {}
        }
        let seen = match name.as_str() {
            "unread" => ObjectState::Unknown("forbidden".to_owned()),
            _ => ObjectState::Exists(Arc::new(LiveObject::new(object))),
        };
        see(&mut snapshot, &name, seen);
    }
    // What was composed under a name that nobody desires any more.
    let mut obsolete = created(&snapshot)["same"].clone();
    obsolete["metadata"]["name"] = "obsolete".into();
    obsolete["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    obsolete["metadata"]["annotations"]["crossplane.io/composition-resource-name"] = "obsolete".into();
    see(
        &mut snapshot,
        "obsolete",
        ObjectState::Exists(Arc::new(LiveObject::new(obsolete))),
    );

    let compared = comparison(&snapshot, &memory).unwrap();
    let shown: BTreeMap<&str, Value> = compared
        .iter()
        .map(|one| {
            let json = one.to_json();
            let parts = json!([json["state"], json["fields"], json["message"]]);
            (one.resource_name.as_str(), parts)
        })
        .collect();
    let why = shown["invalid"][2].as_str().unwrap();
    assert!(why.contains("kind"), "{why}");
    let expected = json!({
        "absent": ["absent", [], null],
        "adopted": ["differs", ["/metadata/ownerReferences"], null],
        "altered": ["altered", ["/data/a"], null],
        "changed": ["differs", ["/data/a", "/data/b"], null],
        "cut": ["notApplied", [], null],
        "going": ["deleting", [], null],
        "invalid": ["invalid", [], why],
        "obsolete": ["notDesired", [], null],
        "same": ["asDesired", [], null],
        "theirs": ["notOurs", [], null],
        "unread": ["unknown", [], "forbidden"],
    });
    assert_eq!(json!(shown), expected);
    let all: Vec<Value> = compared.iter().map(Compared::to_json).collect();
    assert!(!json!(all).to_string().contains("canary"));
    assert_eq!(
        all[3],
        json!({
            "resourceName": "changed", "group": "", "kind": "ConfigMap", "namespace": "team", "name": "changed",
            "state": "differs", "fields": ["/data/a", "/data/b"], "message": null,
        })
    );
}

#[test]
fn without_a_run_that_succeeded_for_what_is_desired_now_there_is_nothing_to_compare_with() {
    let memory = CompositeMemory::default();
    let mut none = snapshot();
    none.run = RunState::None;
    assert_eq!(comparison(&none, &memory), None);
    let mut failed = snapshot();
    if let RunState::Ended { outcome, .. } = &mut failed.run {
        Arc::make_mut(outcome).result = Err(RunFailure::NoSteps);
    }
    assert_eq!(comparison(&failed, &memory), None);
    let mut former = snapshot();
    former.xr.object["spec"]["size"] = 2.into();
    assert_eq!(comparison(&former, &memory), None);
    let mut deleted = snapshot();
    deleted.xr.object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert_eq!(comparison(&deleted, &memory), None);
}

/// An object that exists keeps its name, which may be another one than would be made for it now.
#[test]
fn what_may_exist_under_another_name_is_not_said_to_be_absent() {
    let mut snapshot = snapshot();
    let unread = "the bridge holds no copy of it";
    see(
        &mut snapshot,
        "former-name",
        ObjectState::Unknown(unread.to_owned()),
    );
    let compared = comparison(&snapshot, &CompositeMemory::default()).unwrap();
    let same = compared.iter().find(|one| one.resource_name == "same").unwrap();
    assert_eq!(same.standing, Standing::Unknown(unread.to_owned()));
    snapshot.seen.clear();
    let compared = comparison(&snapshot, &CompositeMemory::default()).unwrap();
    let same = compared.iter().find(|one| one.resource_name == "same").unwrap();
    assert_eq!(same.standing, Standing::Absent);
}
