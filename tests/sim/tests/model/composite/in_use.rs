//! What is in use, by the usages that the store shows.

use std::time::Duration;

use bridge_core::{
    composite::{InUse, LiveObject, ObjectId},
    protection::{Identity, Record, Usage, UsageView, is_usage, names},
};
use serde_json::{Value, json};

use super::{
    api::Api,
    life::{Step, act, composed, configmaps},
    process::{World, composite},
};

pub(super) fn usages(api: &Api) -> InUse {
    let usages = api.objects.iter().filter(|(id, _)| is_usage(&id.group, &id.kind));
    let views = usages.map(|(_, object)| UsageView::of(&Usage(LiveObject::new(object.clone()))));
    InUse {
        usages: views.collect(),
        unknown: None,
        ancestors: [].into(),
    }
}

/// Two composed objects.
pub(super) fn two() -> World {
    let mut world = World::new(configmaps);
    world.in_use = usages;
    act(&mut world, Step::Create(&[("a", "1"), ("b", "1")]));
    world.settle().unwrap();
    world
}

pub(super) fn usage_id(name: &str) -> ObjectId {
    ObjectId {
        group: "protection.crossplane.io".to_owned(),
        kind: "Usage".to_owned(),
        namespace: Some("team".to_owned()),
        name: name.to_owned(),
    }
}

fn named(id: &ObjectId) -> Value {
    json!({"apiVersion": "v1", "kind": id.kind, "resourceRef": {"name": id.name}})
}

pub(super) fn usage(name: &str, of: &ObjectId, by: Option<&ObjectId>) -> Value {
    let mut usage = json!({
        "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {"of": named(of), "reason": "why"},
    });
    if let Some(by) = by {
        usage["spec"]["by"] = named(by);
    }
    usage
}

pub(super) fn blocked(world: &World) -> (String, String) {
    let condition = composite(world).unwrap().condition("DeletionBlocked").cloned();
    let condition = condition.unwrap_or_default();
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    (text("reason"), text("message"))
}

pub(super) fn pass(world: &mut World, seconds: u64) {
    let until = world.now + Duration::from_secs(seconds);
    world.settle_until(until).unwrap();
    world.now = world.now.max(until);
}

fn deletes(world: &World) -> Vec<&String> {
    world
        .api
        .writes
        .iter()
        .filter(|write| write.starts_with("delete"))
        .collect()
}

#[test]
fn what_is_in_use_outlives_the_rest_and_is_named() {
    let mut world = two();
    let (a, b) = (composed(&world)["a"].clone(), composed(&world)["b"].clone());
    world
        .api
        .put_foreign(&usage_id("protect"), usage("protect", &a, None));
    act(&mut world, Step::Delete);
    pass(&mut world, 12);
    assert_eq!(deletes(&world), [&format!("delete {b}")]);
    let (reason, message) = blocked(&world);
    assert_eq!(reason, "InUse");
    assert!(
        message.starts_with(&format!("{a} is in use by Usage team/protect (the composite")),
        "{message}"
    );
    act(&mut world, Step::Restart);
    pass(&mut world, 12);
    assert_eq!(deletes(&world), [&format!("delete {b}")]);
    world.api.edit(&usage_id("protect"), |_| None);
    world.settle().unwrap();
    assert_eq!((world.api.xr, world.api.objects.len()), (None, 0));
}

/// Marks an object deleted, and keeps it, as a controller does that reports why.
pub(super) fn stuck(world: &mut World, id: &ObjectId, conditions: &Value) {
    world.api.edit(id, |mut object| {
        object["metadata"]["finalizers"] = json!(["test/held"]);
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        object["status"]["conditions"] = conditions.clone();
        Some(object)
    });
}

/// A person can act on the using object alone: what it uses follows by itself.
#[test]
fn what_keeps_a_using_object_is_named_before_the_used_one() {
    let failed =
        json!([{"type": "Synced", "status": "False", "reason": "ReconcileError", "message": "not empty"}]);
    let under_way = json!([{"type": "Ready", "status": "False", "reason": "Deleting", "message": ""}]);
    for (conditions, expected) in [
        (&failed, "ExternalError"),
        (&under_way, "ExternalDeletion"),
        (&json!([]), "Finalizers"),
    ] {
        let mut world = two();
        let (a, b) = (composed(&world)["a"].clone(), composed(&world)["b"].clone());
        world
            .api
            .put_foreign(&usage_id("protect"), usage("protect", &a, Some(&b)));
        stuck(&mut world, &b, conditions);
        act(&mut world, Step::Delete);
        pass(&mut world, 12);
        assert_eq!(deletes(&world), [""; 0]);
        let (reason, message) = blocked(&world);
        assert_eq!(reason, expected, "{message}");
        assert!(message.starts_with(&format!("{b} is being deleted")), "{message}");
        assert!(message.contains("(and 1 more)"), "{message}");
    }
}

#[test]
fn a_using_object_elsewhere_is_named_before_what_takes_its_time() {
    let mut world = two();
    let (a, b) = (composed(&world)["a"].clone(), composed(&world)["b"].clone());
    let elsewhere = ObjectId {
        name: "elsewhere".to_owned(),
        ..b.clone()
    };
    for (name, by) in [("one", &b), ("two", &elsewhere)] {
        world.api.put_foreign(&usage_id(name), usage(name, &a, Some(by)));
    }
    stuck(&mut world, &b, &json!([]));
    act(&mut world, Step::Delete);
    pass(&mut world, 12);
    let (reason, message) = blocked(&world);
    assert_eq!(reason, "InUse", "{message}");
}

/// It was marked deleted before the usage came, or by force: its controller waits for the usage, and says so.
#[test]
fn what_is_deleted_while_in_use_is_named_as_in_use() {
    for (says, reason) in [
        ("in use by Usage team/protect", "InUse"),
        ("", "ExternalDeletion"),
    ] {
        let mut world = two();
        let a = composed(&world)["a"].clone();
        let conditions = json!([{"type": "Ready", "status": "False", "reason": "Deleting", "message": says}]);
        stuck(&mut world, &a, &conditions);
        world
            .api
            .put_foreign(&usage_id("protect"), usage("protect", &a, None));
        act(&mut world, Step::Delete);
        pass(&mut world, 12);
        let (named, message) = blocked(&world);
        assert_eq!(named, reason, "{message}");
    }
}

#[test]
fn what_is_in_use_is_not_decomposed() {
    let mut world = two();
    let a = composed(&world)["a"].clone();
    world
        .api
        .put_foreign(&usage_id("protect"), usage("protect", &a, None));
    act(&mut world, Step::Edit(&[("b", "1")]));
    pass(&mut world, 12);
    assert!(world.api.objects.contains_key(&a));
    let synced = composite(&world).unwrap().condition("Synced").cloned().unwrap();
    let message =
        format!("{a} is not desired any more, and stays as long as it is in use by Usage team/protect");
    assert_eq!(
        (&synced["status"], &synced["message"]),
        (&json!("True"), &json!(message))
    );
    world.api.edit(&usage_id("protect"), |_| None);
    pass(&mut world, 12);
    assert!(!world.api.objects.contains_key(&a));
    let synced = composite(&world).unwrap().condition("Synced").cloned().unwrap();
    assert_eq!(synced["message"], "");
}

fn unlisted(api: &Api) -> InUse {
    InUse {
        unknown: Some("the list fails".to_owned()),
        ..usages(api)
    }
}

#[test]
fn while_usages_are_unknown_nothing_is_decomposed_and_all_else_goes_on() {
    let mut world = two();
    let a = composed(&world)["a"].clone();
    let synced = |world: &World| composite(world).unwrap().condition("Synced").cloned().unwrap();
    world.in_use = unlisted;
    act(&mut world, Step::Edit(&[("b", "2"), ("c", "1")]));
    // For a moment it is not worth a word.
    pass(&mut world, 3);
    assert_eq!(synced(&world)["message"], "");
    pass(&mut world, 9);
    assert_eq!(deletes(&world), [""; 0]);
    let (b, c) = (composed(&world)["b"].clone(), composed(&world)["c"].clone());
    let values = [&b, &c].map(|id| world.api.objects[id]["data"]["value"].clone());
    assert_eq!(values, ["2", "1"]);
    let condition = synced(&world);
    let message = condition["message"].as_str().unwrap();
    let expected = format!(
        "not desired any more, and kept: {a}, as usages cannot be listed, one of which may protect it."
    );
    assert!(message.starts_with(&expected), "{message}");
    assert_eq!(condition["status"], "True");
    // In the next process, too.
    let before = world.api.writes.len();
    act(&mut world, Step::Restart);
    pass(&mut world, 30);
    assert_eq!(world.api.writes[before..], [""; 0]);
    world.in_use = usages;
    pass(&mut world, 12);
    assert_eq!(deletes(&world), [&format!("delete {a}")]);
    assert_eq!(synced(&world)["message"], "");
}

/// The first moments of a process: no usage is known yet, though there are some.
#[test]
fn what_is_in_use_outlives_a_restart_without_a_write() {
    let mut world = two();
    let a = composed(&world)["a"].clone();
    world
        .api
        .put_foreign(&usage_id("protect"), usage("protect", &a, None));
    act(&mut world, Step::Edit(&[("b", "1")]));
    pass(&mut world, 12);
    let before = world.api.writes.len();
    act(&mut world, Step::Restart);
    world.in_use = |_| InUse {
        unknown: Some("waiting for the initial list".to_owned()),
        ..InUse::default()
    };
    pass(&mut world, 3);
    world.in_use = usages;
    pass(&mut world, 30);
    assert_eq!(world.api.writes[before..], [""; 0]);
    assert!(world.api.objects.contains_key(&a));
}

/// Beside what is wrong, too.
#[test]
fn a_restart_beside_a_refused_object_costs_no_status() {
    let mut world = two();
    let a = composed(&world)["a"].clone();
    world
        .api
        .put_foreign(&usage_id("protect"), usage("protect", &a, None));
    world.refuses_writes = true;
    act(&mut world, Step::Edit(&[("b", "2")]));
    pass(&mut world, 12);
    let synced = |world: &World| composite(world).unwrap().condition("Synced").cloned().unwrap();
    let before = synced(&world);
    assert_eq!(before["status"], "False");
    assert!(
        before["message"].as_str().unwrap().contains("in use by"),
        "{before}"
    );
    act(&mut world, Step::Restart);
    world.in_use = |_| InUse {
        unknown: Some("waiting for the initial list".to_owned()),
        ..InUse::default()
    };
    for _ in 0..3 {
        pass(&mut world, 1);
        assert_eq!(synced(&world), before);
    }
    world.in_use = usages;
    for _ in 0..10 {
        pass(&mut world, 1);
        assert_eq!(synced(&world), before);
    }
}

#[test]
fn while_usages_are_unknown_nothing_is_deleted() {
    let mut world = two();
    world.in_use = unlisted;
    act(&mut world, Step::Delete);
    pass(&mut world, 60);
    assert_eq!(deletes(&world), [""; 0]);
    world.in_use = usages;
    world.settle().unwrap();
    assert_eq!((world.api.xr, world.api.objects.len()), (None, 0));
}

#[test]
fn a_cycle_of_usages_is_named_and_not_broken() {
    let mut world = two();
    let (a, b) = (composed(&world)["a"].clone(), composed(&world)["b"].clone());
    for (name, of, by) in [("one", &a, &b), ("two", &b, &a)] {
        world.api.put_foreign(&usage_id(name), usage(name, of, Some(by)));
    }
    act(&mut world, Step::Delete);
    pass(&mut world, 12);
    assert!(deletes(&world).is_empty());
    let (reason, message) = blocked(&world);
    assert_eq!(reason, "Cycle");
    assert!(
        message.contains("these usages form a cycle: Usage team/one, Usage team/two"),
        "{message}"
    );
    world.api.edit(&usage_id("one"), |_| None);
    pass(&mut world, 12);
    assert_eq!(deletes(&world), [&format!("delete {a}")]);
}

/// A usage that the composite resource composed for itself would else be waited for by what it protects, and wait for the composite resource.
#[test]
fn a_usage_by_its_own_composite_resource_goes_after_all_else() {
    let mut world = two();
    let (a, b) = (composed(&world)["a"].clone(), composed(&world)["b"].clone());
    let hold = |world: &mut World, finalizers: Value| {
        world.api.edit(&b, |mut object| {
            let is_over = !object["metadata"]["deletionTimestamp"].is_null() && finalizers == json!([]);
            object["metadata"]["finalizers"] = finalizers;
            (!is_over).then_some(object)
        });
    };
    hold(&mut world, json!(["test/held"]));
    let own = usage_id("own");
    // As its composition desires it.
    world.api.put_foreign(&own, usage("own", &a, None));
    let xr = composite(&world).unwrap().object.clone();
    let identity = |id: &ObjectId, uid: &Value| {
        let reference = json!({"apiVersion": "v1", "kind": id.kind, "namespace": "team", "name": id.name});
        Identity {
            reference: bridge_core::composite::ResourceRef::parse(&reference).unwrap(),
            uid: uid.as_str().unwrap().to_owned(),
        }
    };
    let of = identity(&a, &world.api.objects[&a]["metadata"]["uid"]);
    let by = Some(identity(&usage_id("parent"), &xr["metadata"]["uid"]));
    let own_uid = world.api.objects[&own]["metadata"]["uid"]
        .as_str()
        .unwrap()
        .to_owned();
    world.api.edit(&own, |mut usage| {
        let metadata = &mut usage["metadata"];
        metadata["finalizers"] = json!([names::FINALIZER]);
        metadata["annotations"] = json!({
            names::RECORD: Record { usage: own_uid, of, by }.to_string(),
            "crossplane.io/composition-resource-name": "own",
        });
        metadata["ownerReferences"] = json!([{
            "apiVersion": xr["apiVersion"], "kind": xr["kind"], "name": xr["metadata"]["name"],
            "uid": xr["metadata"]["uid"], "controller": true,
        }]);
        Some(usage)
    });
    let uid = world.api.objects[&own]["metadata"]["uid"].clone();
    world.api.edit(&a, |mut object| {
        object["metadata"]["annotations"][names::HELD_BY] = uid;
        Some(object)
    });
    act(&mut world, Step::Delete);
    pass(&mut world, 3);
    assert_eq!(deletes(&world), [&format!("delete {b}")]);
    hold(&mut world, json!([]));
    pass(&mut world, 10);
    assert_eq!(
        deletes(&world),
        [&format!("delete {b}"), &format!("delete {own}")]
    );
    // It lets its object go, and goes.
    world.api.edit(&a, |mut object| {
        object["metadata"]["annotations"][names::HELD_BY] = Value::Null;
        Some(object)
    });
    world.api.edit(&own, |_| None);
    world.settle().unwrap();
    assert_eq!((world.api.xr, world.api.objects.len()), (None, 0));
}

#[test]
fn a_deletion_is_said_before_all_usages_are_read_and_deletes_nothing() {
    let mut world = two();
    let known = world.in_use;
    world.in_use = |api| InUse {
        unknown: Some("the API server does not answer".to_owned()),
        ..usages(api)
    };
    act(&mut world, Step::Delete);
    pass(&mut world, 5);
    let xr = world.api.xr.clone().unwrap();
    let conditions = xr["status"]["conditions"].as_array().unwrap();
    let ready = conditions.iter().find(|one| one["type"] == "Ready").unwrap();
    assert_eq!(ready["reason"], "Deleting");
    assert_eq!(deletes(&world), [""; 0]);
    world.in_use = known;
    world.settle().unwrap();
    assert_eq!((world.api.xr, world.api.objects.len()), (None, 0));
}

#[test]
fn usages_that_cannot_be_listed_are_named_and_stop_nothing_else() {
    let mut world = two();
    let known = world.in_use;
    world.in_use = |api| InUse {
        unknown: Some("the list fails".to_owned()),
        ..usages(api)
    };
    act(&mut world, Step::Delete);
    pass(&mut world, 9);
    assert_eq!(blocked(&world), (String::new(), String::new()));
    pass(&mut world, 3);
    let (reason, message) = blocked(&world);
    assert_eq!(reason, "Unreachable");
    assert!(
        message.contains("usages cannot be listed: the list fails."),
        "{message}"
    );
    assert_eq!(deletes(&world), [""; 0]);
    // It stands across a restart, and is over when they are known.
    act(&mut world, Step::Restart);
    pass(&mut world, 3);
    assert_eq!(blocked(&world).0, "Unreachable");
    world.in_use = known;
    world.settle().unwrap();
    assert_eq!((world.api.xr, world.api.objects.len()), (None, 0));
    // What is being deleted already waits for no usage.
    let mut world = two();
    act(&mut world, Step::Delete);
    world.in_use = |api| InUse {
        unknown: Some("the list fails".to_owned()),
        ..usages(api)
    };
    for id in composed(&world).into_values() {
        world.api.edit(&id, |_| None);
    }
    world.settle().unwrap();
    assert_eq!(world.api.xr, None);
}
