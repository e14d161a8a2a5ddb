//! Nominal courses, written out.

use std::{collections::BTreeSet, time::Duration};

use bridge_core::composite::ObjectId;
use serde_json::json;

use super::{
    api::NAMESPACE,
    life::{LIFE, Step, act, composed, configmaps, live},
    process::{World, composite},
};

fn world() -> World {
    World::new(configmaps)
}

fn settled(steps: &[Step]) -> World {
    let mut world = world();
    for step in steps {
        act(&mut world, *step);
        world.settle().unwrap();
    }
    assert_eq!(world.api.violations, [""; 0]);
    world
}

const TWO: Step = Step::Create(&[("a", "1"), ("b", "1")]);

#[test]
fn a_whole_life_leaves_nothing_behind() {
    live(&mut world(), LIFE).unwrap();
}

#[test]
fn a_composite_of_two_is_ready_after_four_writes() {
    let world = settled(&[TWO]);
    let id = |name: &str| composed(&world)[name].to_string();
    assert_eq!(
        world.api.writes,
        [
            "write".to_owned(),
            format!("create {}", id("a")),
            format!("create {}", id("b")),
            "status".to_owned()
        ]
    );
}

#[test]
fn a_composite_at_rest_is_not_written() {
    let mut world = settled(&[TWO]);
    let writes = world.api.writes.len();
    for _ in 0..3 {
        world.restart();
        world.settle().unwrap();
    }
    assert_eq!(world.api.writes.len(), writes, "{:?}", world.api.writes);
}

#[test]
fn runs_that_are_repeated_for_a_ttl_write_nothing() {
    const MINUTE: Duration = Duration::from_mins(1);
    let mut world = world();
    world.answer = |response| response.ttl = Some(MINUTE);
    act(&mut world, TWO);
    world.live_on(MINUTE);
    let (writes, runs, events) = (world.api.writes.len(), world.runs, world.events.len());
    world.live_on(10 * MINUTE);
    assert_eq!(world.api.writes.len(), writes, "{:?}", world.api.writes);
    let repeated = world.runs - runs;
    assert!((9..=10).contains(&repeated), "{repeated} runs in ten minutes");
    assert_eq!(world.events.len(), events, "{:?}", world.events);
}

#[test]
fn a_change_of_one_of_two_is_two_writes() {
    let mut world = settled(&[TWO]);
    let writes = world.api.writes.len();
    act(&mut world, Step::Edit(&[("a", "2"), ("b", "1")]));
    world.settle().unwrap();
    let id = composed(&world)["a"].to_string();
    assert_eq!(
        world.api.writes[writes..],
        [format!("apply {id}"), "status".to_owned()]
    );
}

#[test]
fn a_name_that_is_no_longer_desired_goes_with_its_object() {
    let mut world = settled(&[TWO]);
    let (writes, id) = (world.api.writes.len(), composed(&world)["b"].to_string());
    act(&mut world, Step::Edit(&[("a", "1")]));
    world.settle().unwrap();
    assert_eq!(world.api.writes[writes..=writes], [format!("delete {id}")]);
    assert_eq!(composite(&world).unwrap().refs.len(), 1);
}

#[test]
fn a_deletion_is_seen_before_anything_is_deleted() {
    let mut world = settled(&[TWO]);
    let writes = world.api.writes.len();
    let ids: BTreeSet<ObjectId> = composed(&world).into_values().collect();
    act(&mut world, Step::Delete);
    world.settle().unwrap();
    let deletes = ids.iter().map(|id| format!("delete {id}"));
    let expected: Vec<String> = std::iter::once("status".to_owned())
        .chain(deletes)
        .chain(std::iter::once("release".to_owned()))
        .collect();
    assert_eq!(world.api.writes[writes..], expected);
    assert_eq!((&world.api.xr, world.api.objects.len()), (&None, 0));
}

#[test]
fn a_composite_stays_while_something_it_composed_is_held() {
    let mut world = settled(&[TWO]);
    let id = composed(&world)["b"].clone();
    world.api.edit(&id, |mut object| {
        object["metadata"]["finalizers"] = json!(["test/hold"]);
        Some(object)
    });
    act(&mut world, Step::Delete);
    world.settle().unwrap();
    let xr = composite(&world).expect("it is held");
    let ready = xr.condition("Ready").unwrap();
    assert_eq!(ready["reason"], "Deleting");
    assert_eq!(
        ready["message"],
        format!(
            "1 of 2 composed resources remain: {id} (being deleted since {})",
            xr.object["metadata"]["deletionTimestamp"].as_str().unwrap()
        )
    );
    world.api.edit(&id, |_| None);
    world.settle().unwrap();
    assert_eq!(world.api.xr, None);
}

/// What its deletions leave is the garbage collector's; of what is in use nothing is sent.
#[test]
fn where_parents_vanish_a_composite_goes_once_its_deletions_are_sent() {
    let mut world = settled(&[TWO]);
    world.settings.vanishing_parents = true;
    let id = composed(&world)["b"].clone();
    world.api.edit(&id, |mut object| {
        object["metadata"]["finalizers"] = json!(["test/hold"]);
        Some(object)
    });
    let writes = world.api.writes.len();
    act(&mut world, Step::Delete);
    world.settle().unwrap();
    let sent = &world.api.writes[writes..];
    assert_eq!(
        (sent.len(), sent[0].as_str(), sent[3].as_str()),
        (4, "status", "release")
    );
    assert_eq!(world.api.xr, None);
    let left: Vec<_> = world.api.objects.iter().collect();
    assert_eq!(left.len(), 1, "{left:#?}");
    assert!(!left[0].1["metadata"]["deletionTimestamp"].is_null(), "{left:#?}");
}

fn foreign(name: &str) -> (ObjectId, serde_json::Value) {
    let id = ObjectId {
        group: String::new(),
        kind: "ConfigMap".to_owned(),
        namespace: Some(NAMESPACE.to_owned()),
        name: name.to_owned(),
    };
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE},
        "data": {"value": "theirs"},
    });
    (id, object)
}

#[test]
fn an_object_of_that_name_that_is_not_ours_is_left_alone() {
    let first = settled(&[TWO]);
    let (id, object) = foreign(&composed(&first)["b"].name);
    let mut world = world();
    // The uid, and so the names, are the same in each life.
    world.api.create_xr(
        &super::life::spec(&[("a", "1"), ("b", "1")]),
        "2026-01-01T00:00:00Z",
    );
    world.api.put_foreign(&id, object.clone());
    world.settle().unwrap();
    assert_eq!(world.api.objects[&id]["data"]["value"], "theirs");
    let xr = composite(&world).unwrap();
    let synced = xr.condition("Synced").unwrap();
    assert_eq!(
        (&synced["reason"], &synced["message"]),
        (&json!("ReconcileError"), &json!("Unsynced resources: b"))
    );
    assert!(composed(&world).contains_key("a"), "the other one is composed");
    // Its name comes free: it is composed after all.
    world.api.edit(&id, |_| None);
    world.settle().unwrap();
    assert_eq!(
        composite(&world).unwrap().condition("Synced").unwrap()["status"],
        "True"
    );
    act(&mut world, Step::Delete);
    world.settle().unwrap();
    assert_eq!(world.api.violations, [""; 0]);
}

#[test]
fn what_lost_its_owner_is_adopted_again() {
    let mut world = settled(&[TWO, Step::StripOwner("a")]);
    let id = composed(&world)["a"].clone();
    assert_eq!(
        world.api.objects[&id]["metadata"]["ownerReferences"][0]["controller"],
        true
    );
    act(&mut world, Step::Delete);
    world.settle().unwrap();
    assert_eq!(world.api.objects.len(), 0);
}
