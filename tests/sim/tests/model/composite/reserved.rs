//! Names that are still being deleted: nothing is created beside them.

use std::time::Duration;

use bridge_core::{
    composite::{ObjectId, names},
    function::{DesiredState, RunRequest},
};
use serde_json::{Value, json};

use super::{
    life::{Step, act, composed, configmaps},
    process::{World, composite},
};

/// All of them stand for one thing outside.
fn named(request: &RunRequest) -> DesiredState {
    let mut desired = configmaps(request);
    for resource in desired.resources.values_mut() {
        resource.object["metadata"]["annotations"] = json!({names::EXTERNAL_NAME: "outside"});
    }
    desired
}

fn settled(function: fn(&RunRequest) -> DesiredState) -> (World, ObjectId) {
    let mut world = World::new(function);
    act(&mut world, Step::Create(&[("a", "1")]));
    world.settle().unwrap();
    let id = composed(&world)["a"].clone();
    world.api.edit(&id, |mut object| {
        object["metadata"]["finalizers"] = json!(["test/hold"]);
        Some(object)
    });
    world.settle().unwrap();
    (world, id)
}

fn waits(world: &mut World) -> Value {
    world.settle_until(world.now + Duration::from_mins(1)).unwrap();
    let synced = composite(world).unwrap().condition("Synced").cloned();
    let synced = synced.unwrap();
    assert_eq!(synced["status"], "False");
    synced["message"].clone()
}

fn finished(world: &mut World) {
    world.settle().unwrap();
    assert_eq!(world.api.violations, [""; 0]);
    let synced = composite(world).unwrap().condition("Synced").cloned();
    assert_eq!(synced.unwrap()["status"], "True");
}

#[test]
fn a_namesake_that_is_being_deleted_is_waited_for() {
    let (mut world, id) = settled(configmaps);
    let (uid, since) = (world.api.objects[&id]["metadata"]["uid"].clone(), world.time());
    world.api.edit(&id, |mut object| {
        object["metadata"]["deletionTimestamp"] = since.clone().into();
        Some(object)
    });
    let uid = uid.as_str().unwrap();
    assert_eq!(
        waits(&mut world),
        format!(
            "Unsynced resources: a; {id} (uid {uid}) is being deleted since {since}, and is created anew when it is gone"
        )
    );
    assert_eq!(composed(&world).len(), 1);
    world.api.edit(&id, |_| None);
    finished(&mut world);
    assert_ne!(world.api.objects[&id]["metadata"]["uid"], uid);
}

#[test]
fn an_external_name_that_is_being_deleted_is_waited_for() {
    let (mut world, former) = settled(named);
    let uid = world.api.objects[&former]["metadata"]["uid"].clone();
    act(&mut world, Step::Edit(&[("b", "1")]));
    let message = waits(&mut world);
    let message = message.as_str().unwrap();
    let expected = format!(
        "is created when {former} (uid {}) is gone, which has the same external name and is being deleted since ",
        uid.as_str().unwrap()
    );
    assert!(
        message.starts_with("Unsynced resources: b; ") && message.contains(&expected),
        "{message}"
    );
    assert_eq!(composed(&world).keys().collect::<Vec<_>>(), ["a"]);
    // The next process holds it back, too.
    world.restart();
    waits(&mut world);
    assert_eq!(composed(&world).keys().collect::<Vec<_>>(), ["a"]);
    world.api.edit(&former, |_| None);
    finished(&mut world);
    assert_eq!(composed(&world).keys().collect::<Vec<_>>(), ["b"]);
}
