//! What is said.

use fake_kube::fault::Request;
use serde_json::{Value, json};

use super::{CONFIG_MAPS, World, bound, claims, composites, of_bridge, orders};

/// Which do not hold once a bridge has written these conditions.
fn broken_by_report(world: &mut World, collection: &str, name: &str, conditions: &Value) -> Vec<String> {
    world.forget();
    world.patch(
        &format!("{collection}/{name}"),
        &json!({"status": {"conditions": conditions}}),
    );
    let request = Request {
        subresource: "status".into(),
        ..of_bridge("update", collection, name)
    };
    let before = world.checker.commits;
    let broken = world.broken(Some(&request));
    assert!(world.checker.commits > before, "nothing was written");
    broken
}

#[test]
fn a_claim_says_what_its_composite_resource_says() {
    let mut world = World::new(false);
    let claim = json!({"metadata": {"name": "web"}, "spec": {"resourceRef": {"name": "web-1"}}});
    let claim = world.create(&claims(), &claim);
    world.create(&composites(), &bound(&claim));
    let wrong = json!([{"type": "Synced", "status": "False", "message": "no such function"}]);
    world.patch(
        &format!("{}/web-1", composites()),
        &json!({"status": {"conditions": wrong}}),
    );
    for (says, broken) in [
        ("no such function", &[][..]),
        ("Claim is waiting for composite resource to become Ready", &[]),
        ("no such functions", &["claims_only_repeat_their_composites"]),
    ] {
        let conditions = json!([{"type": "Ready", "status": "False", "reason": "Waiting", "message": says}]);
        assert_eq!(
            broken_by_report(&mut world, &claims(), "web", &conditions),
            broken,
            "{says}"
        );
    }
}

fn blocked(reason: &str, at: &str, says: &str) -> Value {
    json!([{"type": "DeletionBlocked", "status": "True", "reason": reason, "lastTransitionTime": at, "message": says}])
}

#[test]
fn what_is_blocked_says_so_late_and_by_whom() {
    let mut world = World::new(false);
    let order = world.order("web", &["a"]);
    let map = world.config_map("a", &order);
    let theirs = world.create(CONFIG_MAPS, &json!({"metadata": {"name": "theirs"}}));
    let release = |uid: &str| {
        format!("it is held. To leave it behind: kubectl annotate web crossbridge.dev/release={uid}. More")
    };
    let (early, late) = ("1970-01-01T00:00:09Z", "1970-01-01T00:00:10Z");
    let none: [&str; 0] = [];
    assert_eq!(
        broken_by_report(
            &mut world,
            &orders(),
            "web",
            &blocked("Finalizers", late, &release(&format!("all/{order}")))
        ),
        ["blocked_says_why"],
        "it is not being deleted"
    );
    world.delete(&format!("{}/web", orders()));
    let mut broken_by = |reason: &str, at: &str, says: &str| {
        broken_by_report(&mut world, &orders(), "web", &blocked(reason, at, says))
    };
    assert_eq!(broken_by("Finalizers", late, &release(&map)), none);
    assert_eq!(
        broken_by("Finalizers", late, &release(&format!("all/{order}"))),
        none
    );
    assert_eq!(broken_by("Unreachable", late, "usages cannot be listed"), none);
    assert_eq!(
        broken_by("Finalizers", early, &release(&map)),
        ["blocked_says_why"]
    );
    assert_eq!(
        broken_by("Finalizers", late, &release(&theirs)),
        ["blocked_says_why"]
    );
    assert_eq!(broken_by("Finalizers", late, "it is held"), ["blocked_says_why"]);
}

#[test]
fn a_claim_that_is_blocked_says_so_late_and_by_whom() {
    let mut world = World::new(false);
    let claim = json!({"metadata": {"name": "web", "finalizers": ["example.org/hold"]}, "spec": {"resourceRef": {"name": "web-1"}}});
    let claim = world.create(&claims(), &claim);
    let uid = world.create(&composites(), &bound(&claim));
    let theirs = blocked("Finalizers", "1970-01-01T00:00:02Z", "web-a is held");
    world.patch(
        &format!("{}/web-1", composites()),
        &json!({"status": {"conditions": theirs}}),
    );
    let by = |uid: &str| {
        format!("composite resource \"web-1\" (uid {uid}) is in use by b. See: kubectl get xpurchases web-1")
    };
    let own = by(&uid);
    let (early, late) = ("1970-01-01T00:00:09Z", "1970-01-01T00:00:10Z");
    assert_eq!(
        broken_by_report(&mut world, &claims(), "web", &blocked("InUse", late, &own)),
        ["a_blocked_claim_says_why"],
        "it is not being deleted"
    );
    world.delete(&format!("{}/web", claims()));
    let none: [&str; 0] = [];
    let mut broken_by = |conditions: &Value| broken_by_report(&mut world, &claims(), "web", conditions);
    assert_eq!(broken_by(&theirs), none, "its composite resource says so");
    assert_eq!(broken_by(&blocked("InUse", late, &own)), none);
    for conditions in [
        blocked("InUse", early, &own),
        blocked(
            "InUse",
            late,
            "composite resource \"web-2\" is in use by b. See: kubectl get xpurchases web-2",
        ),
        blocked("InUse", late, &by("another")),
        blocked("InUse", late, "it is held"),
    ] {
        assert_eq!(
            broken_by(&conditions),
            ["a_blocked_claim_says_why"],
            "{conditions}"
        );
    }
}
