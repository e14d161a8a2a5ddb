//! Nominal courses, written out.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    life::{LIFE, SHOP, Step, act, claim, composite, condition, live, spec},
    process::World,
};

fn settled(steps: &[Step]) -> World {
    let mut world = World::new();
    for step in steps {
        act(&mut world, *step);
        world.note();
        world.settle().unwrap();
    }
    assert_eq!(world.api.violations, [""; 0]);
    world
}

fn name_of(world: &World) -> String {
    claim(world, SHOP).unwrap().composite().unwrap().to_owned()
}

#[test]
fn a_whole_life_leaves_nothing_behind() {
    live(&mut World::new(), LIFE).unwrap();
}

#[test]
fn a_claim_is_ready_after_three_writes() {
    let world = settled(&[Step::Create(1)]);
    let name = name_of(&world);
    assert_eq!(
        world.api.writes,
        [
            "write shop".to_owned(),
            format!("create {name}"),
            "status shop".to_owned()
        ]
    );
    assert!(name.starts_with("shop-") && name.len() == 10, "{name}");
}

#[test]
fn a_claim_at_rest_is_not_written() {
    let mut world = settled(&[Step::Create(1)]);
    let writes = world.api.writes.len();
    for _ in 0..3 {
        world.restart();
        world.settle().unwrap();
    }
    assert_eq!(world.api.writes.len(), writes, "{:?}", world.api.writes);
}

#[test]
fn a_change_of_a_claim_is_two_writes() {
    let mut world = settled(&[Step::Create(1)]);
    let writes = world.api.writes.len();
    act(&mut world, Step::Edit(2));
    world.settle().unwrap();
    let apply = format!("apply {}", name_of(&world));
    // Its generation is another one, and so is the size that the composite resource reports, which comes later.
    assert_eq!(world.api.writes[writes..][0], apply);
    assert!(world.api.writes.len() <= writes + 3, "{:?}", world.api.writes);
}

#[test]
fn what_a_claim_no_longer_has_leaves_the_composite_resource() {
    let mut world = World::new();
    let full = json!({"size": 1, "tags": {"a": "1", "b": "2"}, "list": ["x", "y"]});
    world.api.create_claim(SHOP, &full, "2026-01-01T00:00:00Z");
    world.api.edit_claim(SHOP, |claim| {
        claim["metadata"]["labels"] = json!({"one": "1", "two": "2"});
        claim["metadata"]["annotations"] = json!({"note": "x", "other": "y"});
    });
    world.settle().unwrap();
    world.api.edit_claim(SHOP, |claim| {
        claim["metadata"]["labels"] = json!({"one": "1"});
        claim["metadata"]["annotations"]
            .as_object_mut()
            .unwrap()
            .remove("note");
        claim["spec"]["tags"] = json!({"b": "2"});
        claim["spec"]["list"] = json!(["y"]);
        claim["spec"].as_object_mut().unwrap().remove("size");
    });
    world.settle().unwrap();
    let xr = composite(&world, SHOP).unwrap();
    let labels = &xr["metadata"]["labels"];
    assert_eq!((&labels["one"], &labels["two"]), (&json!("1"), &Value::Null));
    let annotations = &xr["metadata"]["annotations"];
    assert_eq!(
        (&annotations["note"], &annotations["other"]),
        (&Value::Null, &json!("y"))
    );
    assert_eq!(xr["spec"]["tags"], json!({"b": "2"}));
    assert_eq!(
        (&xr["spec"]["list"], &xr["spec"]["size"]),
        (&json!(["y"]), &Value::Null)
    );
    // What others wrote stays.
    assert_eq!(xr["spec"]["compositionRevisionRef"]["name"], "shops-1");
    assert_eq!(labels["crossplane.io/composite"], xr["metadata"]["name"]);
}

#[test]
fn an_error_of_the_composite_resource_is_the_claims_message() {
    let mut world = World::new();
    let error = "cannot compose resources: as the test wants";
    world.api.error = Some(error);
    act(&mut world, Step::Create(1));
    world.settle().unwrap();
    let ready = |world: &World| condition(&claim(world, SHOP).unwrap(), "Ready");
    assert_eq!(ready(&world), ("Waiting".to_owned(), error.to_owned()));
    world.api.error = None;
    world.settle().unwrap();
    assert_eq!(ready(&world), ("Available".to_owned(), String::new()));
}

#[test]
fn a_claim_that_waits_says_so_once() {
    let mut world = World::new();
    world.composes_within = Duration::from_secs(30);
    act(&mut world, Step::Create(1));
    world.settle_until(world.now + Duration::from_secs(20)).unwrap();
    assert_eq!(world.api.writes.len(), 3, "{:?}", world.api.writes);
    assert_eq!(
        condition(&claim(&world, SHOP).unwrap(), "Ready"),
        (
            "Waiting".to_owned(),
            "Claim is waiting for composite resource to become Ready".to_owned()
        )
    );
}

#[test]
fn a_deletion_is_seen_before_the_composite_resource_is_deleted() {
    let mut world = settled(&[Step::Create(1)]);
    let (writes, name) = (world.api.writes.len(), name_of(&world));
    act(&mut world, Step::Delete);
    world.settle().unwrap();
    assert_eq!(
        world.api.writes[writes..],
        [
            "status shop".to_owned(),
            format!("delete {name}"),
            "release shop".to_owned()
        ]
    );
    assert_eq!((world.api.claims.len(), world.api.xrs.len()), (0, 0));
}

#[test]
fn a_claim_stays_while_its_composite_resource_does() {
    let mut world = settled(&[Step::Create(1)]);
    world.api.held = true;
    act(&mut world, Step::Delete);
    world.settle().unwrap();
    let claim = claim(&world, SHOP).expect("it is held");
    assert_eq!(
        condition(&claim, "Ready"),
        (
            "Deleting".to_owned(),
            "1 of 1 composed resources remain".to_owned()
        )
    );
    world.api.held = false;
    world.settle().unwrap();
    assert_eq!((world.api.claims.len(), world.api.xrs.len()), (0, 0));
}

#[test]
fn a_paused_claim_is_left_as_it_is_deletion_included() {
    let mut world = settled(&[Step::Create(1)]);
    let pause = |value: Value| {
        move |claim: &mut Value| claim["metadata"]["annotations"]["crossplane.io/paused"] = value
    };
    world.api.edit_claim(SHOP, pause(json!("true")));
    act(&mut world, Step::Edit(2));
    act(&mut world, Step::Delete);
    world.settle().unwrap();
    assert_eq!(composite(&world, SHOP).unwrap()["spec"]["size"], 1);
    assert_eq!(
        condition(&claim(&world, SHOP).unwrap(), "Synced"),
        (
            "ReconcilePaused".to_owned(),
            "Reconciliation (including deletion) is paused via the pause annotation".to_owned()
        )
    );
    world.api.edit_claim(SHOP, pause(Value::Null));
    world.settle().unwrap();
    assert_eq!((world.api.claims.len(), world.api.xrs.len()), (0, 0));
}

const NAMED: &str = "2026-01-01T00:00:00Z";

fn named(name: &str) -> Value {
    let mut spec = spec(1);
    spec["resourceRef"] = json!({"name": name});
    spec
}

#[test]
fn a_composite_resource_of_nobody_is_bound() {
    let mut world = World::new();
    world.api.create_xr(
        "mine",
        &json!({"size": 9, "kept": true, "compositionRef": {"name": "own"}}),
        NAMED,
    );
    world.api.create_claim(SHOP, &named("mine"), NAMED);
    world.settle().unwrap();
    let xr = &world.api.xrs["mine"];
    assert_eq!(
        (world.api.xrs.len(), &xr["spec"]["size"], &xr["spec"]["kept"]),
        (1, &json!(1), &json!(true))
    );
    assert_eq!(xr["spec"]["claimRef"]["name"], SHOP);
    let claim = claim(&world, SHOP).unwrap();
    assert_eq!(claim.spec()["compositionRef"]["name"], "own");
    assert_eq!(condition(&claim, "Ready").0, "Available");
    assert_eq!(world.api.violations, [""; 0]);
}

#[test]
fn of_two_claims_on_one_composite_resource_one_has_it() {
    for exists in [true, false] {
        let mut world = World::new();
        if exists {
            world.api.create_xr("mine", &json!({"size": 9}), NAMED);
        }
        world.api.create_claim("rival", &named("mine"), NAMED);
        world.api.create_claim(SHOP, &named("mine"), NAMED);
        world.settle().unwrap();
        assert_eq!(world.api.violations, [""; 0]);
        let bound = world.api.xrs["mine"]["spec"]["claimRef"]["name"]
            .as_str()
            .unwrap()
            .to_owned();
        let loser = if bound == SHOP { "rival" } else { SHOP };
        assert_eq!(condition(&claim(&world, &bound).unwrap(), "Ready").0, "Available");
        assert_eq!(
            condition(&claim(&world, loser).unwrap(), "Synced"),
            (
                "ReconcileError".to_owned(),
                format!(
                    r#"refusing to operate on composite resource "mine" that is not bound to this claim: bound to claim "{bound}""#
                )
            )
        );
        // Its end is no end of the composite resource.
        let time = world.time();
        world.api.delete_claim(loser, &time);
        world.settle().unwrap();
        assert!(claim(&world, loser).is_none() && world.api.xrs.contains_key("mine"));
        world.api.delete_claim(&bound, &time);
        world.settle().unwrap();
        assert_eq!((world.api.claims.len(), world.api.xrs.len()), (0, 0));
        assert_eq!(world.api.violations, [""; 0]);
    }
}

#[test]
fn a_name_that_is_taken_gives_way_to_the_next() {
    let first = name_of(&settled(&[Step::Create(1)]));
    let mut world = World::new();
    // The uid, and so the names, are the same in each life.
    world.api.create_claim(SHOP, &spec(1), NAMED);
    world.api.create_xr(
        &first,
        &json!({"claimRef": {"kind": "Shop", "namespace": "other", "name": "other"}}),
        NAMED,
    );
    world.settle().unwrap();
    let name = name_of(&world);
    assert_ne!(name, first);
    assert_eq!(condition(&claim(&world, SHOP).unwrap(), "Ready").0, "Available");
    act(&mut world, Step::Delete);
    world.settle().unwrap();
    assert_eq!(world.api.xrs.keys().collect::<Vec<_>>(), [&first]);
}

#[test]
fn a_composite_resource_that_a_person_deletes_comes_again() {
    let mut world = settled(&[Step::Create(1)]);
    let (name, uid) = (
        name_of(&world),
        composite(&world, SHOP).unwrap()["metadata"]["uid"].clone(),
    );
    world.api.held = true;
    act(&mut world, Step::DeleteComposite);
    world.settle().unwrap();
    let waiting = condition(&claim(&world, SHOP).unwrap(), "Ready");
    let message =
        format!("composite resource {name:?} is being deleted, and is created anew when it is gone");
    assert_eq!(waiting, ("Waiting".to_owned(), message));
    world.api.held = false;
    world.settle().unwrap();
    let again = composite(&world, SHOP).unwrap();
    assert!(again["metadata"]["uid"] != uid && again["metadata"]["name"] == name.as_str());
    assert_eq!(condition(&claim(&world, SHOP).unwrap(), "Ready").0, "Available");
}

#[test]
fn the_conditions_that_functions_have_for_claims_are_copied() {
    let mut world = settled(&[Step::Create(1)]);
    let name = name_of(&world);
    let theirs = json!({"type": "DatabaseReady", "status": "True", "reason": "Up", "message": "", "lastTransitionTime": NAMED});
    let show = |types: Value| {
        let theirs = theirs.clone();
        move |xr: &mut Value| {
            xr["status"]["claimConditionTypes"] = types;
            xr["status"]["conditions"].as_array_mut().unwrap().push(theirs);
        }
    };
    // Until the controller of composite resources writes its own status again.
    world.api.edit_xr(&name, show(json!(["DatabaseReady"])));
    world.settle_until(world.now + Duration::from_millis(20)).unwrap();
    assert_eq!(
        claim(&world, SHOP).unwrap().condition("DatabaseReady"),
        Some(&theirs)
    );
    world.settle().unwrap();
    assert_eq!(claim(&world, SHOP).unwrap().condition("DatabaseReady"), None);
    world.api.edit_xr(&name, show(json!(["Other"])));
    world.settle_until(world.now + Duration::from_millis(20)).unwrap();
    assert_eq!(claim(&world, SHOP).unwrap().condition("DatabaseReady"), None);
}
