//! What each rule keeps from happening.

use std::time::Duration;

use serde_json::json;

use super::{
    life::{SHOP, Step, act, claim, condition, live, spec},
    process::{Fault, World},
};

const CREATE: usize = 1;

fn worked(life: &[Step], fault: (usize, Fault)) {
    let mut world = World::new();
    world.faults = [fault].into();
    act(&mut world, Step::Create(1));
    world.settle_until(world.now + Duration::from_millis(20)).unwrap();
    live(&mut world, life).unwrap();
}

#[test]
fn a_late_create_of_a_claim_that_goes_is_found() {
    for fault in [Fault::LandsLate, Fault::DiesAndLandsLate] {
        worked(&[Step::Delete], (CREATE, fault));
        worked(&[Step::Recreate(2), Step::Delete], (CREATE, fault));
    }
}

/// A leader whose cache does not show the composite resource yet, and who dies: what it sent lands when all is gone.
#[test]
fn a_create_is_not_repeated_beside_what_exists() {
    let mut world = World::new();
    act(&mut world, Step::Create(1));
    world.settle().unwrap();
    world.advance(Duration::from_mins(10));
    world.faults = [(world.attempts(), Fault::DiesAndLandsLate)].into();
    world.restart();
    world.hides_composites = 6;
    world.settle_until(world.now + Duration::from_millis(20)).unwrap();
    world.hides_composites = 0;
    live(&mut world, &[Step::Delete]).unwrap();
}

#[test]
fn a_stale_cache_at_any_time_leaks_nothing() {
    for ago in 1..14 {
        let life = [
            Step::Create(1),
            Step::Edit(2),
            Step::RestartStale(ago),
            Step::Recreate(3),
            Step::RestartStale(ago),
            Step::Delete,
            Step::RestartStale(ago),
        ];
        live(&mut World::new(), &life).unwrap_or_else(|why| panic!("{ago}: {why}"));
    }
}

/// The cache still shows the deletion of a claim whose successor took its composite resource over, as after a restore.
#[test]
fn a_successor_keeps_the_composite_resource_that_it_took_over() {
    for ago in 1..12 {
        let mut world = World::new();
        act(&mut world, Step::Create(1));
        world.note();
        world.settle().unwrap();
        let name = claim(&world, SHOP).unwrap().composite().unwrap().to_owned();
        let time = world.time();
        world.api.delete_claim(SHOP, &time);
        // Everybody sees that it goes.
        world.api.edit_claim(SHOP, |claim| {
            claim["status"]["conditions"] = json!([
                {"type": "Ready", "status": "False", "reason": "Deleting", "observedGeneration": claim["metadata"]["generation"]},
            ]);
        });
        world.note();
        // By force.
        world
            .api
            .edit_claim(SHOP, |claim| claim["metadata"]["finalizers"] = json!([]));
        world.note();
        let mut again = spec(2);
        again["resourceRef"] = json!({"apiVersion": "example.org/v1", "kind": "XShop", "name": name});
        world.api.create_claim(SHOP, &again, &time);
        world.note();
        world.restart_stale(ago);
        world.settle().unwrap();
        assert_eq!(world.api.violations, [""; 0], "{ago}");
        assert_eq!(world.api.xrs[&name]["spec"]["size"], 2, "{ago}");
        assert!(
            world.api.xrs[&name]["metadata"]["deletionTimestamp"].is_null(),
            "{ago}"
        );
        live(&mut world, &[Step::Delete]).unwrap();
    }
}

/// A deletion that was refused is tried again from a cache that shows the former claim once more.
#[test]
fn a_repeated_deletion_leaves_what_a_successor_has_bound() {
    let mut world = World::new();
    act(&mut world, Step::Create(1));
    world.settle().unwrap();
    let name = claim(&world, SHOP).unwrap().composite().unwrap().to_owned();
    act(&mut world, Step::Delete);
    world.faults = [(world.attempts() + 1, Fault::Refused)].into();
    world.settle_until(world.now + Duration::from_secs(1)).unwrap();
    assert!(world.api.xrs[&name]["metadata"]["deletionTimestamp"].is_null());
    world.note();
    let shown = world.changes();
    // By force.
    world
        .api
        .edit_claim(SHOP, |claim| claim["metadata"]["finalizers"] = json!([]));
    let (time, mut again) = (world.time(), spec(2));
    again["resourceRef"] = json!({"apiVersion": "example.org/v1", "kind": "XShop", "name": name});
    world.api.create_claim(SHOP, &again, &time);
    world.settle_until(world.now + Duration::from_secs(5)).unwrap();
    assert_eq!(world.api.xrs[&name]["spec"]["size"], 2);
    world.advance(Duration::from_mins(5));
    world.show_stale(world.changes() + 1 - shown);
    world.settle().unwrap();
    assert_eq!(world.api.violations, [""; 0]);
    assert!(world.api.xrs[&name]["metadata"]["deletionTimestamp"].is_null());
    live(&mut world, &[Step::Delete]).unwrap();
}

/// A second one would be nobody's once the claim is gone.
#[test]
fn a_claim_keeps_its_composite_resource_whatever_a_person_makes_it_name() {
    for name in [Some("another"), None] {
        let life = [
            Step::Create(1),
            Step::Name(name),
            Step::Edit(2),
            Step::Name(name),
            Step::Restart,
            Step::Name(name),
            Step::Delete,
        ];
        live(&mut World::new(), &life).unwrap();
    }
}

#[test]
fn a_claim_that_goes_takes_its_composite_resource_along_whatever_it_names() {
    for name in [Some("another"), None] {
        let mut world = World::new();
        act(&mut world, Step::Create(1));
        world.settle().unwrap();
        act(&mut world, Step::Name(name));
        live(&mut world, &[Step::Delete]).unwrap();
    }
}

#[test]
fn of_a_composite_resource_in_use_nothing_is_deleted_until_nothing_uses_it() {
    let mut world = World::new();
    act(&mut world, Step::Create(1));
    world.settle().unwrap();
    let name = claim(&world, SHOP).unwrap().composite().unwrap().to_owned();
    world.used_by = Some("ClusterUsage keep: why");
    act(&mut world, Step::Delete);
    let since = world.time();
    // It is looked at again as long as it is in use.
    world.settle_until(world.now + Duration::from_secs(15)).unwrap();
    assert!(world.api.xrs[&name]["metadata"]["deletionTimestamp"].is_null());
    let of = |kind| condition(&claim(&world, SHOP).unwrap(), kind);
    assert_eq!(
        of("Ready"),
        (
            "Deleting".to_owned(),
            format!(
                "composite resource {name:?} is in use by ClusterUsage keep: why (being deleted since {since})"
            )
        )
    );
    assert_eq!(of("DeletionBlocked").0, "InUse");
    world.used_by = None;
    live(&mut world, &[Step::Delete]).unwrap();
}

#[test]
fn while_usages_are_unknown_no_composite_resource_is_deleted() {
    let mut world = World::new();
    act(&mut world, Step::Create(1));
    world.settle().unwrap();
    let name = claim(&world, SHOP).unwrap().composite().unwrap().to_owned();
    world.unlisted = Some("the list fails");
    act(&mut world, Step::Delete);
    world.settle_until(world.now + Duration::from_secs(15)).unwrap();
    assert!(world.api.xrs[&name]["metadata"]["deletionTimestamp"].is_null());
    let blocked = condition(&claim(&world, SHOP).unwrap(), "DeletionBlocked");
    assert_eq!(blocked.0, "Unreachable");
    world.unlisted = None;
    live(&mut world, &[Step::Delete]).unwrap();
}

#[test]
fn a_refused_write_of_a_claim_is_reported_and_tried_again() {
    let mut world = World::new();
    act(&mut world, Step::Create(1));
    world.faults = [(0, Fault::Refused)].into();
    world.settle_until(world.now + Duration::from_secs(1)).unwrap();
    let (reason, message) = condition(&claim(&world, SHOP).unwrap(), "Synced");
    assert_eq!(
        (reason.as_str(), message.as_str()),
        (
            "ReconcileError",
            "cannot bind and sync claim with composite resource: cannot update the claim: as the test wants"
        )
    );
    assert_eq!(world.api.xrs.len(), 0);
    live(&mut world, &[Step::Edit(2), Step::Delete]).unwrap();
}

#[test]
fn what_another_claim_has_bound_survives_the_end_of_this_one() {
    let mut world = World::new();
    act(&mut world, Step::Create(1));
    world.settle().unwrap();
    let name = claim(&world, SHOP).unwrap().composite().unwrap().to_owned();
    let mut rival = spec(2);
    rival["resourceRef"] = json!({"name": name});
    let time = world.time();
    world.api.create_claim("rival", &rival, &time);
    world.settle().unwrap();
    assert_eq!(world.api.xrs[&name]["spec"]["size"], 1);
    world.api.delete_claim("rival", &time);
    world.settle().unwrap();
    assert!(claim(&world, "rival").is_none());
    assert_eq!(world.api.violations, [""; 0]);
    live(&mut world, &[Step::Delete]).unwrap();
}

#[test]
fn no_claim_brings_machinery_into_its_composite_resource() {
    let mut world = World::new();
    live(&mut world, &[Step::Create(1), Step::Edit(2), Step::Delete]).unwrap();
}

/// A claim that was never bound goes at once, without a create that may land.
#[test]
fn a_claim_that_goes_before_it_was_bound_leaves_nothing() {
    for fault in Fault::ALL {
        for at in 0..3 {
            worked(&[Step::Delete], (at, fault));
        }
    }
}

#[test]
fn a_composite_resource_that_somebody_else_changes_each_time_is_applied_with_a_back_off() {
    let mut world = World::new();
    act(&mut world, Step::Create(1));
    world.settle().unwrap();
    let name = claim(&world, SHOP).unwrap().composite().unwrap().to_owned();
    world.api.writes.clear();
    let end = world.now + Duration::from_mins(5);
    while world.now < end {
        world.api.edit_xr(&name, |xr| xr["spec"]["size"] = 7.into());
        let soon = world.now + Duration::from_secs(1);
        world.settle_until(soon).unwrap();
        world.now = world.now.max(soon);
    }
    let applied = world
        .api
        .writes
        .iter()
        .filter(|write| **write == format!("apply {name}"));
    let applied = applied.count();
    assert!((8..25).contains(&applied), "{applied}");
    let (reason, message) = condition(&claim(&world, SHOP).unwrap(), "Synced");
    assert_eq!(reason, "ReconcileError");
    assert!(
        message.contains("is changed by somebody else each time it is applied"),
        "{message}"
    );
    world.settle().unwrap();
    assert_eq!(world.api.xrs[&name]["spec"]["size"], 1, "it is not given up");
    let (reason, _) = condition(&claim(&world, SHOP).unwrap(), "Synced");
    assert_eq!(reason, "ReconcileSuccess");
    live(&mut world, &[Step::Delete]).unwrap();
}

/// As of a type whose schema requires a field that no function has set.
#[test]
fn a_deletion_does_not_wait_for_a_status_that_is_refused() {
    let mut world = World::new();
    act(&mut world, Step::Create(1));
    world.settle().unwrap();
    world.refuses_status = true;
    act(&mut world, Step::Delete);
    world.settle_until(world.now + Duration::from_mins(10)).unwrap();
    assert!(world.api.claims.is_empty() && world.api.xrs.is_empty());
}
