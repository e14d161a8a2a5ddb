//! Deletions that something holds up.

use std::time::Duration;

use bridge_core::composite::{ObjectId, names};
use serde_json::{Value, json};

use super::{
    life::{Step, act, composed, configmaps},
    process::{Fault, World, composite},
};

const TWO: Step = Step::Create(&[("a", "1"), ("b", "1")]);

/// Composed, with a finalizer of somebody else on each of these, and then deleted.
fn held(names: &[&str]) -> World {
    let mut world = World::new(configmaps);
    act(&mut world, TWO);
    world.settle().unwrap();
    for name in names {
        let id = composed(&world)[*name].clone();
        hold(&mut world, &id, &json!(["test/held"]));
    }
    act(&mut world, Step::Delete);
    world
}

fn hold(world: &mut World, id: &ObjectId, finalizers: &Value) {
    world.api.edit(id, |mut object| {
        object["metadata"]["finalizers"] = finalizers.clone();
        let gone = !object["metadata"]["deletionTimestamp"].is_null() && finalizers == &json!([]);
        (!gone).then_some(object)
    });
}

fn pass(world: &mut World, seconds: u64) {
    let until = world.now + Duration::from_secs(seconds);
    world.settle_until(until).unwrap();
    if world.now < until {
        world.now = until;
    }
}

fn condition(world: &World, type_: &str) -> Option<(String, String, String)> {
    let xr = composite(world)?;
    let condition = xr.condition(type_)?;
    let text = |name: &str| condition[name].as_str().unwrap_or_default().to_owned();
    Some((text("status"), text("reason"), text("message")))
}

fn blocked(world: &World) -> Option<String> {
    condition(world, "DeletionBlocked").map(|(status, reason, _)| format!("{status} {reason}"))
}

#[test]
fn what_holds_a_deletion_up_is_named_after_ten_seconds() {
    let mut world = held(&["b"]);
    let id = composed(&world)["b"].clone();
    let uid = world.api.objects[&id]["metadata"]["uid"]
        .as_str()
        .unwrap()
        .to_owned();
    pass(&mut world, 9);
    assert_eq!(blocked(&world), None);
    pass(&mut world, 2);
    let (status, reason, message) = condition(&world, "DeletionBlocked").unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("True", "Finalizers"));
    let since = world.api.objects[&id]["metadata"]["deletionTimestamp"]
        .as_str()
        .unwrap();
    let kubectl = format!(
        "kubectl get ConfigMap {} -n {} -o yaml",
        id.name,
        id.namespace.as_deref().unwrap()
    );
    for part in [
        format!("{id} is being deleted since {since}, and waits for who set its finalizers: test/held"),
        kubectl,
        format!("crossbridge.dev/release={uid}"),
    ] {
        assert!(message.contains(&part), "{message} has not {part}");
    }
    assert_eq!(world.api.violations, [""; 0]);
}

#[test]
fn a_blocked_deletion_stays_so_across_a_restart() {
    let mut world = held(&["b"]);
    pass(&mut world, 60);
    let stored = |world: &World| composite(world).unwrap().condition("DeletionBlocked").cloned();
    let before = stored(&world);
    assert_eq!(blocked(&world), Some("True Finalizers".to_owned()));
    act(&mut world, Step::Restart);
    for _ in 0..20 {
        pass(&mut world, 1);
        assert_eq!(stored(&world), before);
    }
    pass(&mut world, 600);
    assert_eq!(stored(&world), before);
}

/// Who looks sees nothing of it in the cluster: the message alone says why the composite resource stays.
#[test]
fn a_deletion_that_waits_for_a_create_of_a_former_process_says_until_when() {
    let mut world = World::new(configmaps);
    act(&mut world, TWO);
    world.settle().unwrap();
    let id = composed(&world)["b"].clone();
    act(&mut world, Step::Restart);
    let began = world.now;
    world.api.edit(&id, |_| None);
    act(&mut world, Step::Delete);
    pass(&mut world, 5);
    let (.., message) = condition(&world, "Ready").unwrap();
    let until = began + world.settings.late_create;
    let late = format!(
        "1 of 2 composed resources remain: {id}; until {} a create that was sent before may still take effect",
        until.strftime("%Y-%m-%dT%H:%M:%SZ")
    );
    assert!(message.starts_with(&late), "{message} is not {late}");
    pass(&mut world, 120);
    assert_eq!(composite(&world), None);
}

#[test]
fn a_deletion_that_moves_is_blocked_no_longer() {
    let mut world = held(&["a", "b"]);
    pass(&mut world, 11);
    assert_eq!(blocked(&world), Some("True Finalizers".to_owned()));
    let (a, b) = (composed(&world)["a"].clone(), composed(&world)["b"].clone());
    hold(&mut world, &a, &json!([]));
    pass(&mut world, 1);
    assert_eq!(blocked(&world), Some("False Moving".to_owned()));
    pass(&mut world, 11);
    assert_eq!(blocked(&world), Some("True Finalizers".to_owned()));
    hold(&mut world, &b, &json!([]));
    world.settle().unwrap();
    assert_eq!((world.api.xr, world.api.objects.len()), (None, 0));
}

#[test]
fn a_refused_deletion_and_its_answer_are_named() {
    let mut world = held(&[]);
    world.refuses_deletions = true;
    pass(&mut world, 11);
    let (status, reason, message) = condition(&world, "DeletionBlocked").unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("True", "Forbidden"));
    assert!(message.contains("as the test wants (the composite resource is being deleted since 2026-01-01T00:00:00Z) (and 1 more)"), "{message}");
    world.refuses_deletions = false;
    world.settle().unwrap();
    assert_eq!(world.api.xr, None);
}

#[test]
fn what_an_object_says_of_its_deletion_is_passed_on() {
    let mut world = held(&["b"]);
    let id = composed(&world)["b"].clone();
    world.api.edit(&id, |mut object| {
        object["status"]["conditions"] = json!([
            {"type": "Synced", "status": "False", "reason": "ReconcileError", "message": "the bucket is not empty"},
        ]);
        Some(object)
    });
    pass(&mut world, 11);
    let (_, reason, message) = condition(&world, "DeletionBlocked").unwrap();
    assert_eq!(reason, "ExternalError");
    assert!(
        message.contains("Synced=False ReconcileError: the bucket is not empty"),
        "{message}"
    );
}

/// What may pass by itself is no error of the managed resource; it is what everybody waits for all the same.
#[test]
fn an_answer_of_the_cloud_that_may_pass_is_passed_on_too() {
    let mut world = held(&["b"]);
    let id = composed(&world)["b"].clone();
    world.api.edit(&id, |mut object| {
        object["status"]["conditions"] = json!([
            {"type": "Synced", "status": "True", "reason": "ReconcileSuccess", "message": "delete failed: not empty"},
        ]);
        Some(object)
    });
    pass(&mut world, 11);
    let (_, reason, message) = condition(&world, "DeletionBlocked").unwrap();
    assert_eq!(reason, "ExternalError");
    assert!(message.contains(": delete failed: not empty. See:"), "{message}");
}

fn report(world: &mut World, id: &ObjectId, conditions: &Value) {
    world.api.edit(id, |mut object| {
        object["status"]["conditions"] = conditions.clone();
        Some(object)
    });
}

fn deleting(message: &str) -> Value {
    json!([{"type": "Ready", "status": "False", "reason": "Deleting", "message": message}])
}

/// Nothing but what it says shows how far it is.
#[test]
fn a_composite_resource_that_names_less_of_what_is_left_moves() {
    let mut world = held(&["b"]);
    let id = composed(&world)["b"].clone();
    hold(&mut world, &id, &json!([names::FINALIZER]));
    for left in (1..10).rev() {
        let remain = format!("{left} of 9 composed resources remain");
        report(&mut world, &id, &deleting(&remain));
        pass(&mut world, 8);
        assert_eq!(blocked(&world), None, "{left}");
    }
    pass(&mut world, 4);
    let (_, reason, message) = condition(&world, "DeletionBlocked").unwrap();
    assert_eq!(reason, "ExternalDeletion");
    assert!(
        message.contains(": 1 of 9 composed resources remain"),
        "{message}"
    );
}

#[test]
fn a_message_that_counts_attempts_is_no_movement() {
    let mut world = held(&["b"]);
    let id = composed(&world)["b"].clone();
    for attempt in 1..6 {
        report(&mut world, &id, &deleting(&format!("attempt {attempt} failed")));
        pass(&mut world, 3);
    }
    assert_eq!(blocked(&world), Some("True ExternalDeletion".to_owned()));
}

#[test]
fn a_reason_that_changes_is_movement() {
    let mut world = held(&["b"]);
    let id = composed(&world)["b"].clone();
    for stage in ["Draining", "Detaching", "Deleting", "Releasing"] {
        let ready = json!([{"type": "Ready", "status": "False", "reason": stage, "message": "as it is"}]);
        report(&mut world, &id, &ready);
        pass(&mut world, 8);
        assert_eq!(blocked(&world), None, "{stage}");
    }
    pass(&mut world, 4);
    assert_eq!(blocked(&world), Some("True Finalizers".to_owned()));
}

/// A cloud takes its time: nothing is wrong with the controller of the object.
#[test]
fn a_deletion_that_is_under_way_is_no_fault_of_finalizers() {
    let mut world = held(&["a", "b"]);
    let (a, b) = (composed(&world)["a"].clone(), composed(&world)["b"].clone());
    report(&mut world, &b, &deleting(""));
    hold(&mut world, &a, &json!([]));
    pass(&mut world, 12);
    let (status, reason, message) = condition(&world, "DeletionBlocked").unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("True", "ExternalDeletion"));
    assert!(
        message.contains("its controller reports that this is under way. Its finalizers: test/held"),
        "{message}"
    );
    // What blocks another composite resource blocks this one; what takes its time there takes its time here.
    for (inner, outer) in [
        ("ExternalDeletion", "ExternalDeletion"),
        ("InUse", "ExternalError"),
    ] {
        let inner =
            json!([{"type": "DeletionBlocked", "status": "True", "reason": inner, "message": "as it is"}]);
        report(&mut world, &b, &inner);
        pass(&mut world, 12);
        let (_, reason, message) = condition(&world, "DeletionBlocked").unwrap();
        assert_eq!(reason, outer);
        assert!(message.contains(": as it is"), "{message}");
    }
}

/// What a person has to act on is named first.
#[test]
fn what_takes_its_time_hides_no_fault() {
    let mut world = held(&["a", "b"]);
    let a = composed(&world)["a"].clone();
    report(&mut world, &a, &deleting(""));
    pass(&mut world, 12);
    assert_eq!(blocked(&world), Some("True Finalizers".to_owned()));
}

#[test]
fn a_deletion_past_its_deadline_is_overdue_and_goes_on() {
    for (annotation, early, late) in [(None, 890, 20), (Some("30s"), 25, 10)] {
        let mut world = held(&["b"]);
        if let Some(deadline) = annotation {
            world.api.edit_xr(|xr| {
                xr["metadata"]["annotations"]["crossbridge.dev/deletion-deadline"] = deadline.into();
            });
        }
        pass(&mut world, early);
        assert_eq!(condition(&world, "DeletionOverdue"), None, "{annotation:?}");
        pass(&mut world, late);
        let (status, reason, _) = condition(&world, "DeletionOverdue").unwrap();
        assert_eq!((status.as_str(), reason.as_str()), ("True", "DeadlineExceeded"));
        let b = composed(&world)["b"].clone();
        hold(&mut world, &b, &json!([]));
        world.settle().unwrap();
        assert_eq!((world.api.xr, world.api.objects.len()), (None, 0));
    }
}

#[test]
fn a_later_deadline_takes_overdue_back() {
    let mut world = held(&["b"]);
    pass(&mut world, 910);
    let (status, _, _) = condition(&world, "DeletionOverdue").unwrap();
    assert_eq!(status, "True");
    world.api.edit_xr(|xr| {
        xr["metadata"]["annotations"]["crossbridge.dev/deletion-deadline"] = "30m".into();
    });
    pass(&mut world, 5);
    let (status, reason, _) = condition(&world, "DeletionOverdue").unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("False", "DeadlineExtended"));
    pass(&mut world, 900);
    let (status, _, _) = condition(&world, "DeletionOverdue").unwrap();
    assert_eq!(status, "True");
}

fn release(world: &mut World, what: &str) {
    world
        .api
        .edit_xr(|xr| xr["metadata"]["annotations"]["crossbridge.dev/release"] = what.into());
}

fn is_left_behind(world: &World, id: &ObjectId) {
    assert_eq!(world.api.xr, None, "it waits for what was released");
    assert_eq!(world.api.violations, [""; 0]);
    assert_eq!(world.api.objects.keys().collect::<Vec<_>>(), [id]);
    let left = &world.api.objects[id]["metadata"];
    assert_eq!(left["ownerReferences"], json!([]));
    assert_eq!(left["labels"]["crossplane.io/composite"], Value::Null);
}

#[test]
fn what_is_released_is_left_behind() {
    for all in [false, true] {
        let mut world = held(&["b"]);
        let id = composed(&world)["b"].clone();
        pass(&mut world, 11);
        let what = if all {
            format!("all/{}", composite(&world).unwrap().uid())
        } else {
            format!(
                "another, {}",
                world.api.objects[&id]["metadata"]["uid"].as_str().unwrap()
            )
        };
        release(&mut world, &what);
        world.settle().unwrap();
        is_left_behind(&world, &id);
    }
}

/// Seed 40150178450058: right after a start, what a person leaves behind went with its owner.
#[test]
fn a_release_of_all_waits_for_what_cannot_be_read_for_a_moment() {
    for (unread, is_released) in [(9, true), (1_000, false)] {
        let mut world = held(&["b"]);
        let id = composed(&world)["b"].clone();
        pass(&mut world, 11);
        act(&mut world, Step::Restart);
        let all = format!("all/{}", composite(&world).unwrap().uid());
        release(&mut world, &all);
        world.unread_until = Some(world.now + Duration::from_secs(unread));
        world.settle().unwrap();
        if is_released {
            is_left_behind(&world, &id);
        } else {
            assert_eq!(world.api.xr, None, "it waits for what cannot be read");
            let owners = &world.api.objects[&id]["metadata"]["ownerReferences"];
            assert_eq!(owners.as_array().map(Vec::len), Some(1), "{owners}");
        }
    }
}

#[test]
fn a_release_of_another_uid_releases_nothing() {
    let mut world = held(&["b"]);
    release(&mut world, "all/another, another");
    world.settle().unwrap();
    let (_, reason, message) = condition(&world, "DeletionBlocked").unwrap();
    assert_eq!(reason, "Finalizers");
    let expected =
        "crossbridge.dev/release releases nothing by all/another, another, which is the uid of nothing";
    assert!(message.contains(expected), "{message}");
    let b = composed(&world)["b"].clone();
    hold(&mut world, &b, &json!([]));
    world.settle().unwrap();
    assert_eq!((world.api.xr, world.api.objects.len()), (None, 0));
}

#[test]
fn a_release_that_goes_wrong_anywhere_is_finished() {
    for fault in Fault::ALL {
        for nth in 0..4 {
            let mut world = held(&["b"]);
            let id = composed(&world)["b"].clone();
            pass(&mut world, 11);
            let uid = world.api.objects[&id]["metadata"]["uid"]
                .as_str()
                .unwrap()
                .to_owned();
            release(&mut world, &uid);
            world.faults = [(world.attempts() + nth, fault)].into();
            world
                .settle()
                .unwrap_or_else(|why| panic!("{fault:?} at {nth}: {why}"));
            is_left_behind(&world, &id);
        }
    }
}
