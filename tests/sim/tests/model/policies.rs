//! The sets of policies: what is called under each.

use std::time::Duration;

use bridge_core::managed::{Policies, names};
use serde_json::json;

use crate::{
    kinds,
    reference_model::{A, Model},
};

/// Set; calls where the resource is absent, where it is there and differs, and when the object is deleted after that.
const SETS: [(&[&str], &str, &str, &str); 15] = [
    (&["*"], "create", "update", "delete"),
    (
        &["Observe", "Create", "Update", "LateInitialize", "Delete"],
        "create",
        "update",
        "delete",
    ),
    (&["Observe"], "", "", ""),
    (&[], "", "", "paused"),
    (
        &["Observe", "Create", "Update", "Delete"],
        "create",
        "update",
        "delete",
    ),
    (
        &["Observe", "Create", "Update", "LateInitialize"],
        "create",
        "update",
        "",
    ),
    (&["Observe", "Create", "Update"], "create", "update", ""),
    (
        &["Observe", "Create", "Delete", "LateInitialize"],
        "create",
        "",
        "delete",
    ),
    (&["Observe", "Create", "LateInitialize"], "create", "", ""),
    (&["Observe", "Create", "Delete"], "create", "", "delete"),
    (&["Observe", "Create"], "create", "", ""),
    (&["Observe", "Delete"], "", "", "delete"),
    (&["Observe", "Update"], "", "update", ""),
    (&["Observe", "LateInitialize"], "", "", ""),
    (&["Observe", "Update", "LateInitialize"], "", "update", ""),
];

fn with(model: &mut Model, set: &[&str]) {
    let policies = Policies::of(&json!({"managementPolicies": set}));
    model.etcd.touch(|object| object.managed.policies = policies);
}

/// What was called since, looks left out.
fn called(model: &mut Model) -> String {
    let mut calls = std::mem::take(&mut model.cloud.calls);
    calls.remove("observe");
    calls.into_keys().collect::<Vec<_>>().join(" ")
}

#[test]
fn where_it_is_absent() {
    for (set, expected, ..) in SETS {
        let mut model = Model::new(&kinds::named());
        model.create();
        with(&mut model, set);
        model.rest();
        model.verify();
        assert_eq!(called(&mut model), expected, "{set:?}");
        if expected.is_empty() && !set.is_empty() {
            assert_eq!(model.value("Synced"), "False/ReconcileError", "{set:?}");
            assert!(model.message().contains("external resource does not exist"));
            assert_eq!(model.writes.metadata, 0, "{set:?}");
        }
    }
}

#[test]
fn where_it_differs_and_when_it_is_deleted() {
    for (set, _, updates, deletes) in SETS {
        let mut model = Model::new(&kinds::named());
        let differs = json!({"size": 8, "fixed": "a"})
            .as_object()
            .cloned()
            .unwrap_or_default();
        model.cloud.foreign("thing", "", &differs, model.now);
        model.create();
        with(&mut model, set);
        model.rest();
        assert_eq!(called(&mut model), updates, "{set:?}");
        if !set.is_empty() {
            assert_eq!(model.value("Ready"), "True/Available", "{set:?}");
            assert_eq!(
                model.record().external_name,
                "thing",
                "{set:?}: the name has nothing to do with LateInitialize"
            );
        }
        model.etcd.delete(model.now);
        model.rest();
        assert_eq!(called(&mut model), deletes.replace("paused", ""), "{set:?}");
        assert_eq!(model.cloud.objects.is_empty(), deletes == "delete", "{set:?}");
        // Paused, it had no finalizer yet, and is gone at once.
        assert!(model.etcd.object.is_none(), "{set:?}");
    }
}

#[test]
fn an_object_orphaned_by_policy_reports_it() {
    let mut model = Model::at_rest(&kinds::distribution());
    with(&mut model, &["Observe", "Create", "Update"]);
    model.etcd.delete(model.now);
    model.rest();
    model.verify();
    assert!(model.etcd.object.is_none());
    assert_eq!(model.cloud.objects.len(), 1);
    assert!(model.events().contains(&"LeftExternalResource"));
    assert_eq!(model.calls("delete"), 0);
}

#[test]
fn a_person_may_orphan_one_object_of_one_uid() {
    let mut model = Model::at_rest(&kinds::named());
    model.etcd.annotate(names::ORPHAN, Some("another-uid"));
    model.ends_gone();
    let mut model = Model::at_rest(&kinds::named());
    model.etcd.annotate(names::ORPHAN, Some("uid-1"));
    model.etcd.delete(model.now);
    model.rest();
    assert!(model.etcd.object.is_none());
    assert_eq!((model.cloud.objects.len(), model.calls("delete")), (1, 0));
}

#[test]
fn a_pause_is_reported_once_and_stops_new_calls() {
    for subject in kinds::all() {
        let mut model = Model::at_rest(&subject);
        model.etcd.annotate(names::PAUSED, Some("true"));
        model.edit("size", json!(4));
        model.rest();
        assert_eq!(model.value("Synced"), "False/ReconcilePaused");
        let (writes, looks) = (model.writes, model.calls("observe"));
        for _ in 0..5 {
            model.advance(Duration::from_secs(61));
            model.pass(A);
        }
        assert_eq!(
            (model.writes, model.calls("observe")),
            (writes, looks),
            "{}",
            subject.name
        );
        assert_eq!(model.calls("update"), 0);
        model.etcd.annotate(names::PAUSED, None);
        model.ends_ready();
    }
}

#[test]
fn a_policy_without_create_forbids_the_repeat_too() {
    let mut model = Model::started(&kinds::token());
    model.stop_before(A, "create");
    model.bridges[A].crash();
    with(&mut model, &["Observe", "Update", "Delete"]);
    model.rest();
    assert_eq!(model.calls("create"), 0);
    assert_eq!(model.value("Synced"), "False/CreateOutcomeUnknown");
    with(&mut model, &["*"]);
    model.ends_ready();
}

#[test]
fn an_observe_only_kind_is_never_changed() {
    let subject = kinds::named().can(|can| {
        (can.can_create, can.can_update, can.can_delete) = (false, false, false);
    });
    let mut model = Model::started(&subject);
    model.rest();
    assert!(model.message().contains("external resource does not exist"));
    model.cloud.foreign(
        "thing",
        "",
        &json!({"size": 3}).as_object().cloned().unwrap_or_default(),
        model.now,
    );
    model.advance(Duration::from_secs(61));
    model.rest();
    assert_eq!(model.value("Synced"), "False/ReplacementForbidden");
    model.etcd.delete(model.now);
    model.rest();
    assert!(model.etcd.object.is_none());
    assert_eq!(called(&mut model), "");
}
