//! What each rule keeps from happening.

use std::time::Duration;

use bridge_core::{
    composite::{ObjectId, names},
    function::{DesiredState, RunRequest},
};
use serde_json::{Value, json};

use super::{
    life::{Step, act, composed, configmaps, live, spec},
    process::{Fault, World, composite},
};

const TWO: Step = Step::Create(&[("a", "1"), ("b", "1")]);

fn settled(steps: &[Step]) -> World {
    let mut world = World::new(configmaps);
    for step in steps {
        act(&mut world, *step);
        world.note();
        world.settle().unwrap();
    }
    world
}

fn finished(mut world: World) {
    world.settle().unwrap();
    assert_eq!(world.api.violations, [""; 0]);
}

fn worked(life: &[Step], fault: (usize, Fault), then: impl FnOnce(&mut World)) {
    let mut world = World::new(configmaps);
    world.faults = [fault].into();
    act(&mut world, TWO);
    world
        .settle_until(world.now + Duration::from_millis(200))
        .unwrap();
    then(&mut world);
    for step in life {
        act(&mut world, *step);
        world.settle().unwrap();
        assert_eq!(world.api.violations, [""; 0]);
    }
}

const SECOND_CREATE: usize = 2;

/// What a person leaves behind would belong to a composite resource that is gone, and be collected.
#[test]
fn a_late_change_of_what_was_left_behind_meanwhile_is_refused() {
    let mut world = settled(&[TWO]);
    world.faults = [(world.attempts(), Fault::LandsLate)].into();
    act(&mut world, Step::Edit(&[("a", "2"), ("b", "1")]));
    let soon = world.now + Duration::from_millis(200);
    world.settle_until(soon).unwrap();
    let uid = composite(&world).unwrap().uid().to_owned();
    world.api.edit_xr(|xr| {
        xr["metadata"]["annotations"][names::RELEASE] = format!("all/{uid}").into();
    });
    act(&mut world, Step::Delete);
    world.settle().unwrap();
    assert_eq!((&world.api.xr, world.api.objects.len()), (&None, 2));
    world.advance(Duration::from_mins(1));
    for (id, object) in &world.api.objects {
        assert_eq!(object["metadata"]["ownerReferences"], json!([]), "{id}");
    }
}

#[test]
fn a_late_create_of_what_is_no_longer_desired_is_found() {
    let life = [Step::Edit(&[("a", "1")]), Step::Delete];
    worked(&life, (SECOND_CREATE, Fault::LandsLate), |_| {});
    worked(&life, (SECOND_CREATE, Fault::DiesAndLandsLate), |_| {});
    let deleted = [Step::Delete];
    worked(&deleted, (SECOND_CREATE, Fault::LandsLate), |_| {});
    worked(&deleted, (SECOND_CREATE, Fault::DiesAndLandsLate), |_| {});
    // Another process creates it, too, before it is deleted.
    worked(&deleted, (SECOND_CREATE, Fault::DiesAndLandsLate), |world| {
        world.settle_until(world.now + Duration::from_secs(5)).unwrap();
        assert_eq!(world.api.objects.len(), 2);
    });
}

#[test]
fn a_watch_that_shows_nothing_for_minutes_makes_nothing_absent() {
    let life = [Step::Edit(&[("a", "1")]), Step::Delete];
    worked(&life, (SECOND_CREATE, Fault::DiesAfter), |world| {
        world.stick(Duration::from_mins(3));
    });
}

/// The former leader let b go; the cache of the next one shows the composite resource as it was before.
#[test]
fn a_cache_of_before_the_term_creates_nothing() {
    for ago in 1..8 {
        let mut world = settled(&[TWO, Step::Edit(&[("a", "1")])]);
        act(&mut world, Step::RestartStale(ago));
        finished(world);
    }
}

#[test]
fn a_stale_cache_at_any_time_leaks_nothing() {
    for ago in 1..12 {
        let mut world = World::new(configmaps);
        let life = [
            TWO,
            Step::Edit(&[("a", "2"), ("c", "1")]),
            Step::RestartStale(ago),
            Step::Edit(&[("a", "2")]),
            Step::RestartStale(ago),
            Step::Delete,
        ];
        live(&mut world, &life).unwrap_or_else(|why| panic!("{ago}: {why}"));
    }
}

/// An owner was restored together with what it owns, and lost its references.
#[test]
fn what_is_owned_and_not_referred_to_goes_with_its_owner() {
    let mut world = settled(&[TWO]);
    world
        .api
        .edit_xr(|xr| xr["spec"]["crossplane"]["resourceRefs"] = json!([]));
    act(&mut world, Step::Delete);
    world.settle().unwrap();
    assert_eq!((world.api.xr, world.api.objects.len()), (None, 0));
}

fn owned_by_another(object: &mut Value) {
    object["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "Other", "name": "other", "uid": "another", "controller": true,
    }]);
}

#[test]
fn what_another_owner_controls_is_neither_written_nor_deleted() {
    let mut world = settled(&[TWO]);
    let id = composed(&world)["b"].clone();
    world.api.edit(&id, |mut object| {
        owned_by_another(&mut object);
        object["data"]["value"] = "theirs".into();
        Some(object)
    });
    world.settle().unwrap();
    act(&mut world, Step::Edit(&[("a", "1")]));
    world.settle().unwrap();
    act(&mut world, Step::Delete);
    world.settle().unwrap();
    assert_eq!(world.api.objects[&id]["data"]["value"], "theirs");
    assert_eq!(world.api.xr, None, "it does not wait for what is another owner's");
}

#[test]
fn an_object_is_not_taken_over_for_its_name_alone() {
    let first = settled(&[TWO]);
    let id = composed(&first)["b"].clone();
    let mut world = World::new(configmaps);
    world
        .api
        .create_xr(&spec(&[("a", "1"), ("b", "1")]), "2026-01-01T00:00:00Z");
    let theirs = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": id.name}, "data": {"value": "theirs"}});
    world.api.put_foreign(&id, theirs);
    world.settle().unwrap();
    assert_eq!(world.api.objects[&id]["data"]["value"], "theirs");
}

#[test]
fn a_composite_that_is_orphaned_deletes_nothing() {
    let mut world = settled(&[TWO]);
    world.api.edit_xr(|xr| {
        xr["metadata"]["finalizers"] = json!(["orphan", "composite.apiextensions.crossplane.io"]);
    });
    act(&mut world, Step::Delete);
    world.settle().unwrap();
    assert_eq!(world.api.objects.len(), 2);
    // The garbage collector takes the owners off, and then its finalizer.
    let ids: Vec<ObjectId> = world.api.objects.keys().cloned().collect();
    for id in ids {
        world.api.edit(&id, |mut object| {
            object["metadata"].as_object_mut()?.remove("ownerReferences");
            Some(object)
        });
    }
    world.api.edit_xr(|xr| {
        if let Some(finalizers) = xr["metadata"]["finalizers"].as_array_mut() {
            finalizers.retain(|one| one != "orphan");
        }
    });
    world.settle().unwrap();
    assert_eq!((world.api.xr, world.api.objects.len()), (None, 2));
}

/// The watch of composite resources lags: it shows what has lost its owner, and not yet why.
#[test]
fn what_was_orphaned_is_not_adopted_again() {
    let mut world = settled(&[TWO]);
    world.lag(20);
    act(&mut world, Step::Delete);
    let ids: Vec<ObjectId> = world.api.objects.keys().cloned().collect();
    for id in ids {
        world.api.edit(&id, |mut object| {
            object["metadata"].as_object_mut()?.remove("ownerReferences");
            Some(object)
        });
    }
    world.settle().unwrap();
    assert_eq!((world.api.xr, world.api.objects.len()), (None, 2));
}

#[test]
fn a_composite_stays_until_what_it_composed_is_gone() {
    let mut world = settled(&[TWO]);
    let id = composed(&world)["a"].clone();
    world.api.edit(&id, |mut object| {
        object["metadata"]["finalizers"] = json!(["test/hold"]);
        Some(object)
    });
    act(&mut world, Step::Delete);
    world.settle().unwrap();
    assert!(composite(&world).is_some());
}

#[test]
fn an_object_of_a_former_kind_stays_and_is_named() {
    let mut world = settled(&[TWO]);
    let former = composed(&world)["b"].clone();
    world
        .api
        .edit_xr(|xr| xr["spec"]["items"]["b"] = json!({"value": "1", "secret": true}));
    world.settle().unwrap();
    let secret = ObjectId {
        kind: "Secret".to_owned(),
        ..former.clone()
    };
    assert!(
        world.api.objects.contains_key(&secret),
        "under the inherited name"
    );
    assert!(world.api.objects.contains_key(&former));
    let xr = composite(&world).unwrap();
    let synced = xr.condition("Synced").unwrap();
    let message = format!("of another kind than is desired now, and left as they are: {former}");
    assert_eq!(
        (&synced["status"], &synced["message"]),
        (&json!("True"), &json!(message))
    );
    act(&mut world, Step::Delete);
    world.settle().unwrap();
    assert_eq!(world.api.objects.len(), 0);
}

#[test]
fn what_a_webhook_makes_of_a_field_is_not_fought() {
    let mut world = World::new(configmaps);
    world.api.alters = Some(("1", "one"));
    act(&mut world, Step::Create(&[("a", "1")]));
    world.settle().unwrap();
    let writes = world.api.writes.len();
    world.settle().unwrap();
    assert_eq!(world.api.writes.len(), writes);
    // Once after a restart, which cannot know it.
    world.restart();
    world.settle().unwrap();
    assert_eq!(world.api.writes.len(), writes + 1);
}

#[test]
fn a_result_for_what_was_desired_before_writes_nothing() {
    let mut world = World::new(configmaps);
    act(&mut world, TWO);
    world.edit_during_run = Some(|xr| xr["spec"]["items"] = spec(&[("a", "2")])["items"].clone());
    world.settle().unwrap();
    let id = &composed(&world)["a"];
    assert_eq!(world.api.objects.len(), 1);
    assert!(
        !world.api.writes.iter().any(|write| write.starts_with("delete")),
        "b was created for nothing"
    );
    assert_eq!(world.api.objects[id]["data"]["value"], "2");
}

/// Both names give the object the same name of their own once the spec says so.
fn one_object(request: &RunRequest) -> DesiredState {
    let mut desired = configmaps(request);
    let spec = &request.observed.composite.object["spec"];
    if let Some(name) = spec["sameName"].as_str() {
        for resource in desired.resources.values_mut() {
            resource.object["metadata"]["name"] = name.into();
        }
    }
    desired
}

#[test]
fn what_cannot_be_composed_any_more_is_not_deleted() {
    let mut world = World::new(one_object);
    act(&mut world, TWO);
    world.settle().unwrap();
    let name = composed(&world)["a"].name.clone();
    // A third one wants the name of the first.
    world.api.edit_xr(|xr| {
        xr["spec"]["items"]["c"] = json!({"value": "1"});
        xr["spec"]["sameName"] = name.as_str().into();
    });
    world.settle().unwrap();
    let composed = composed(&world);
    assert!(
        composed.contains_key("a") && composed.contains_key("b"),
        "{composed:?}"
    );
    let deleted = |write: &String| write.starts_with("delete");
    assert!(!world.api.writes.iter().any(deleted), "{:?}", world.api.writes);
}

fn without_status(request: &RunRequest) -> DesiredState {
    DesiredState {
        composite: None,
        ..configmaps(request)
    }
}

#[test]
fn a_function_without_a_status_leaves_others_fields() {
    let mut world = World::new(without_status);
    act(&mut world, TWO);
    world.settle().unwrap();
    world.api.edit_xr(|xr| {
        xr["status"]["theirs"] = "kept".into();
        xr["spec"]["items"] = json!({"a": {"value": "2"}});
    });
    world.settle().unwrap();
    assert_eq!(composite(&world).unwrap().status()["theirs"], "kept");
}

#[test]
fn a_status_that_is_refused_holds_nothing_else_up() {
    let mut world = World::new(configmaps);
    world.refuses_status = Some("count");
    act(&mut world, TWO);
    let minutes = |world: &mut World| world.settle_until(world.now + Duration::from_mins(3)).unwrap();
    minutes(&mut world);
    let xr = composite(&world).unwrap();
    let synced = xr.condition("Synced").unwrap();
    assert_eq!(
        synced["message"],
        "cannot apply composite resource status: as the test wants"
    );
    act(&mut world, Step::Edit(&[("a", "2")]));
    minutes(&mut world);
    assert_eq!(world.api.objects.len(), 1, "what is desired goes on");
    world.refuses_status = None;
    act(&mut world, Step::Edit(&[("a", "3"), ("b", "1")]));
    world.settle().unwrap();
    assert_eq!(composite(&world).unwrap().status()["count"], 2);
}

/// As of a type whose schema requires a field that no function has set.
#[test]
fn a_deletion_does_not_wait_for_a_status_that_is_refused() {
    let mut world = settled(&[TWO]);
    world.refuses_status = Some("conditions");
    act(&mut world, Step::Delete);
    world.settle_until(world.now + Duration::from_mins(10)).unwrap();
    assert!(composite(&world).is_none(), "it is gone");
    assert!(world.api.objects.is_empty(), "{:?}", world.api.objects.keys());
}

/// An object of this owner that was never composed, such as its connection Secret.
#[test]
fn what_was_not_composed_is_left_to_the_garbage_collector() {
    let mut world = settled(&[TWO]);
    let uid = composite(&world).unwrap().uid().to_owned();
    let id = ObjectId {
        kind: "Secret".to_owned(),
        name: "connection".to_owned(),
        ..composed(&world)["a"].clone()
    };
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {
        "name": "connection", "ownerReferences": [{"uid": uid, "controller": true, "kind": "App", "name": "app"}],
    }});
    world.api.put_foreign(&id, secret);
    world.settle().unwrap();
    assert_eq!(composite(&world).unwrap().refs.len(), 2);
    assert_eq!(
        composite(&world).unwrap().condition("Synced").unwrap()["status"],
        "True"
    );
}

/// For five minutes, `disturb` comes each second. How often the object was applied.
fn applied_while(world: &mut World, id: &ObjectId, disturb: impl Fn(&mut World)) -> usize {
    world.api.writes.clear();
    let end = world.now + Duration::from_mins(5);
    while world.now < end {
        disturb(world);
        let soon = world.now + Duration::from_secs(1);
        world.settle_until(soon).unwrap();
        world.now = world.now.max(soon);
    }
    let applied = format!("apply {id}");
    world.api.writes.iter().filter(|write| **write == applied).count()
}

fn synced(world: &World) -> (Value, Value) {
    let xr = composite(world).unwrap();
    let synced = xr.condition("Synced").unwrap();
    (synced["status"].clone(), synced["message"].clone())
}

#[test]
fn what_somebody_else_changes_each_time_is_applied_with_a_back_off() {
    let mut world = settled(&[TWO]);
    let id = composed(&world)["a"].clone();
    let revert = |world: &mut World| {
        world.api.edit(&id, |mut object| {
            object["data"]["value"] = "theirs".into();
            Some(object)
        });
    };
    let applied = applied_while(&mut world, &id, revert);
    assert!((8..25).contains(&applied), "{applied}");
    assert_eq!(synced(&world), (json!("False"), json!("Unsynced resources: a")));
    // Nor does it take runs and status writes of the composite resource.
    assert!(world.api.writes.len() < applied + 10, "{:?}", world.api.writes);
    world.settle().unwrap();
    assert_eq!(world.api.objects[&id]["data"]["value"], "1", "it is not given up");
    assert_eq!(synced(&world).0, json!("True"));
    finished(world);
}

#[test]
fn what_loses_its_mark_each_time_is_applied_with_a_back_off() {
    let mut world = World::new(configmaps);
    world.api.strips_mark = true;
    act(&mut world, TWO);
    let soon = world.now + Duration::from_secs(10);
    world.settle_until(soon).unwrap();
    let id = composed(&world)["a"].clone();
    let applied = applied_while(&mut world, &id, |_| {});
    assert!((5..25).contains(&applied), "{applied}");
    assert_eq!(
        synced(&world),
        (json!("False"), json!("Unsynced resources: a, b"))
    );
    // Something else that is desired is applied at once.
    world
        .api
        .edit_xr(|xr| xr["spec"]["items"]["a"]["value"] = "2".into());
    let soon = world.now + Duration::from_secs(10);
    world.settle_until(soon).unwrap();
    assert_eq!(world.api.objects[&id]["data"]["value"], "2");
}

/// Seed 90000379: the definition of what it composes is being deleted, and deletes that as soon as it is there.
#[test]
fn what_somebody_else_deletes_each_time_is_created_with_a_back_off() {
    let mut world = settled(&[TWO]);
    let id = composed(&world)["a"].clone();
    world.api.writes.clear();
    let end = world.now + Duration::from_mins(10);
    while world.now < end {
        world.api.edit(&id, |_| None);
        let soon = world.now + Duration::from_millis(100);
        world.settle_until(soon).unwrap();
        world.now = world.now.max(soon);
    }
    let created = world
        .api
        .writes
        .iter()
        .filter(|write| **write == format!("create {id}"));
    let created = created.count();
    assert!((10..30).contains(&created), "{created}");
    finished(world);
}
