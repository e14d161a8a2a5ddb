//! What comes into being.

use fake_kube::fault::Request;
use serde_json::{Value, json};

use super::{CONFIG_MAPS, HELD, TABLES, World, bound, claims, composed, composites, of_bridge, orders};
use crate::simulation::Sender;

#[test]
fn what_is_composed_needs_a_reference() {
    let mut world = World::new(false);
    let order = world.order("web", &["a"]);
    world.config_map("a", &order);
    assert!(world.broken(None).is_empty());
    world.config_map("b", &order);
    assert_eq!(
        world.broken(None),
        ["references_come_first", "all_that_exists_is_referenced"]
    );
}

/// Seed 8000137.
#[test]
fn what_lands_late_is_the_collectors_where_parents_vanish() {
    for (vanishing_parents, is_sent_before, listed, broken) in [
        (true, true, "a", &[][..]),
        (true, false, "a", &["references_come_first"]),
        (false, true, "a", &["references_come_first"]),
        (true, true, "b", &["references_come_first"]),
    ] {
        let mut world = World::new(vanishing_parents);
        let order = world.order("web", &[listed]);
        let before = world.revision();
        world.delete(&format!("{}/web", orders()));
        world.patch(
            &format!("{}/web", orders()),
            &json!({"metadata": {"finalizers": null}}),
        );
        world.forget();
        let revision = if is_sent_before { before } else { world.revision() };
        world.config_map("a", &order);
        let request = Request {
            revision,
            ..of_bridge("create", CONFIG_MAPS, "a")
        };
        let found = world.broken(Some(&request));
        assert_eq!(found, broken, "{vanishing_parents} {is_sent_before} {listed}");
    }
}

#[test]
fn what_nobody_waits_for_may_land_late() {
    for (successors, existed, is_taken, broken) in [
        (2, true, false, &[][..]),
        (1, true, false, &["references_come_first"]),
        (2, false, false, &["references_come_first"]),
        (0, false, true, &[]),
    ] {
        let mut world = World::new(false);
        let order = world.order("web", &["a"]);
        let revision = world.revision();
        if existed {
            world.config_map("a", &order);
            world.delete(&format!("{CONFIG_MAPS}/a"));
        }
        if is_taken {
            world.create(CONFIG_MAPS, &json!({"metadata": {"name": "a"}}));
            world.delete(&format!("{CONFIG_MAPS}/a"));
        }
        world.delete(&format!("{}/web", orders()));
        world.patch(
            &format!("{}/web", orders()),
            &json!({"metadata": {"finalizers": null}}),
        );
        world.forget();
        world.config_map("a", &order);
        let request = Request {
            revision,
            ..of_bridge("create", CONFIG_MAPS, "a")
        };
        let sender = Sender {
            successors,
            ..Sender::default()
        };
        let found = world.broken_by(Some(&request), sender);
        assert_eq!(found, broken, "{successors} {existed} {is_taken}");
    }
}

#[test]
fn a_reference_to_another_group_is_not_it() {
    let mut world = World::new(false);
    let order = world.order("web", &[]);
    let other = json!({"apiVersion": "other.example.org/v1", "kind": "ConfigMap", "name": "a"});
    let references = json!({"spec": {"crossplane": {"resourceRefs": [other]}}});
    world.patch(&format!("{}/web", orders()), &references);
    world.forget();
    world.config_map("a", &order);
    assert_eq!(
        world.broken(None),
        ["references_come_first", "all_that_exists_is_referenced"]
    );
}

#[test]
fn a_reference_that_a_user_removed_is_missing_until_the_next_write() {
    let mut world = World::new(false);
    let order = world.order("web", &["a"]);
    world.config_map("a", &order);
    world.forget();
    let web = format!("{}/web", orders());
    world.patch(&web, &json!({"spec": {"crossplane": {"resourceRefs": []}}}));
    assert!(world.broken(None).is_empty());
    world.patch(&web, &json!({"spec": {"size": 2}}));
    let mut request = of_bridge("update", &orders(), "web");
    request.subresource = "status".to_owned();
    assert!(world.broken(Some(&request)).is_empty());
    world.patch(&web, &json!({"spec": {"size": 3}}));
    let request = of_bridge("update", &orders(), "web");
    assert_eq!(world.broken(Some(&request)), ["all_that_exists_is_referenced"]);
}

#[test]
fn a_composite_resource_needs_a_claim_that_refers_to_it() {
    for (reference, broken) in [("web-1", None), ("web-2", Some("claims_refer_first"))] {
        let mut world = World::new(false);
        let claim = json!({"metadata": {"name": "web"}, "spec": {"resourceRef": {"name": reference}}});
        let claim = world.create(&claims(), &claim);
        world.create(&composites(), &bound(&claim));
        assert_eq!(world.broken(None), broken.into_iter().collect::<Vec<_>>());
    }
    let mut world = World::new(false);
    world.create(&composites(), &bound("gone"));
    assert_eq!(world.broken(None), ["claims_refer_first"]);
}

#[test]
fn machinery_of_a_claim_stays_there() {
    for change in [
        json!({"metadata": {"annotations": {"crossbridge.dev/applied": "meddled"}}}),
        json!({"metadata": {"labels": {"crossplane.io/composite": "meddled"}}}),
        json!({"spec": {"resourceRefs": [{"name": "meddled"}]}}),
    ] {
        let mut world = World::new(false);
        let claim = json!({"metadata": {"name": "web"}, "spec": {"resourceRef": {"name": "web-1"}}});
        let claim = world.create(&claims(), &claim);
        world.create(&composites(), &bound(&claim));
        world.forget();
        let request = of_bridge("patch", &composites(), "web-1");
        world.patch(&format!("{}/web-1", composites()), &json!({"spec": {"size": 2}}));
        assert!(world.broken(Some(&request)).is_empty());
        world.patch(&format!("{}/web-1", composites()), &change);
        assert_eq!(world.broken(Some(&request)), ["machinery_does_not_cross"]);
    }
}

/// A table of the order of this uid, and of the one external name.
fn table(name: &str, order: &str) -> Value {
    let mut table = composed(name, order);
    table["metadata"]["annotations"]["crossplane.io/external-name"] = "till".into();
    table["metadata"]["finalizers"] = json!([HELD]);
    table
}

#[test]
fn a_successor_waits_for_what_has_its_external_name() {
    for is_deleted in [true, false] {
        let mut world = World::new(true);
        let (former, next) = (world.order("former", &[]), "next");
        world.create(TABLES, &table("one", &former));
        if is_deleted {
            world.delete(&format!("{TABLES}/one"));
        }
        let next = world.order(next, &[]);
        world.forget();
        world.create(TABLES, &table("two", &next));
        let broken = world.broken(None);
        assert_eq!(
            broken.contains(&"successors_wait".to_owned()),
            is_deleted,
            "{broken:?}"
        );
    }
}

#[test]
fn one_resource_name_has_one_object() {
    let mut world = World::new(false);
    let order = world.order("web", &["a", "b"]);
    let mut twin = composed("b", &order);
    twin["metadata"]["annotations"]["crossplane.io/composition-resource-name"] = "a".into();
    world.config_map("a", &order);
    world.create(CONFIG_MAPS, &twin);
    assert_eq!(world.broken(None), ["one_per_resource_name"]);
}

#[test]
fn one_claim_has_one_composite_resource() {
    let mut world = World::new(false);
    let claim = json!({"metadata": {"name": "web"}, "spec": {"resourceRef": {"name": "web-1"}}});
    let claim = world.create(&claims(), &claim);
    world.create(&composites(), &bound(&claim));
    let mut other = bound(&claim);
    other["metadata"]["name"] = "web-2".into();
    world.create(&composites(), &other);
    assert_eq!(
        world.broken(None),
        ["claims_refer_first", "one_composite_per_claim"]
    );
}
