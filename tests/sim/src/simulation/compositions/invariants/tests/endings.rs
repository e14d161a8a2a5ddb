//! What goes.

use fake_kube::fault::Request;
use http::Method;
use serde_json::json;

use super::{
    CONFIG_MAPS, CRDS, DEFINITIONS, HELD, PROTECTION, World, bound, claims, composed, composites, of_bridge,
    orders,
};
use crate::simulation::Sender;

const CROSSED: Sender = Sender {
    crossed: true,
    successors: 0,
    is_starting: false,
};

#[test]
fn what_belongs_to_others_is_not_deleted() {
    let mut world = World::new(false);
    world.create(CONFIG_MAPS, &json!({"metadata": {"name": "theirs"}}));
    assert_eq!(
        world.broken_by_delete(CONFIG_MAPS, "theirs"),
        ["nothing_foreign_is_deleted"]
    );
    world.order("web", &[]);
    assert_eq!(
        world.broken_by_delete(&orders(), "web"),
        ["nothing_foreign_is_deleted"]
    );
    world.create(
        DEFINITIONS,
        &json!({"metadata": {"name": "orders.shop.example.org"}}),
    );
    assert_eq!(
        world.broken_by_delete(DEFINITIONS, "orders.shop.example.org"),
        ["nothing_foreign_is_deleted"]
    );
}

#[test]
fn a_deletion_names_uid_and_version() {
    for (names_uid, names_version) in [(false, true), (true, false)] {
        let mut world = World::new(false);
        let order = world.order("web", &["a"]);
        world.config_map("a", &order);
        world.forget();
        world.delete(&format!("{CONFIG_MAPS}/a"));
        let request = Request {
            names_uid,
            names_version,
            ..of_bridge("delete", CONFIG_MAPS, "a")
        };
        assert_eq!(world.broken(Some(&request)), ["deletions_are_guarded"]);
    }
}

#[test]
fn a_composite_resource_says_deleting_before_anything_goes() {
    let mut world = World::new(false);
    let order = world.order("web", &["a", "b"]);
    world.config_map("a", &order);
    world.config_map("b", &order);
    world.delete(&format!("{}/web", orders()));
    assert_eq!(
        world.broken_by_delete(CONFIG_MAPS, "a"),
        ["deleting_is_seen_first"]
    );
    world.say_deleting("web");
    assert!(world.broken_by_delete(CONFIG_MAPS, "b").is_empty());
}

#[test]
fn who_sent_a_deletion_before_could_not_know_of_that_of_the_composite_resource() {
    for (is_sent_before, broken) in [(true, &[][..]), (false, &["deleting_is_seen_first"])] {
        let mut world = World::new(false);
        let order = world.order("web", &["a"]);
        world.config_map("a", &order);
        let before = world.revision();
        // Whoever deletes it: its claim, its definition, who composes it, or a person.
        world.delete(&format!("{}/web", orders()));
        world.forget();
        let revision = if is_sent_before { before } else { world.revision() };
        world.delete(&format!("{CONFIG_MAPS}/a"));
        let request = Request {
            revision,
            ..of_bridge("delete", CONFIG_MAPS, "a")
        };
        assert_eq!(world.broken(Some(&request)), broken);
    }
}

#[test]
fn what_a_bridge_deletes_says_so_first_or_its_objects_went_for_another_reason() {
    for (is_desired, broken) in [(true, &["deleting_is_seen_first"][..]), (false, &[])] {
        let mut world = World::new(false);
        if is_desired {
            world.compose("a");
        }
        let order = world.order("web", &["a"]);
        world.config_map("a", &order);
        let definition = json!({"metadata": {"name": "orders.shop.example.org", "finalizers": [HELD]}});
        world.create(DEFINITIONS, &definition);
        world.delete(&format!("{DEFINITIONS}/orders.shop.example.org"));
        assert!(world.broken_by_delete(&orders(), "web").is_empty());
        assert_eq!(world.broken_by_delete(CONFIG_MAPS, "a"), broken);
    }
}

/// In what a case differs from a deletion that is repeated.
#[derive(Debug, PartialEq)]
enum But {
    Nothing,
    UsageIsGone,
    IsNotMarked,
    IsNotForeground,
    UsageStays,
}

#[test]
fn what_the_collector_was_refused_alone_goes_unseen_in_the_foreground() {
    let cases = [
        (But::Nothing, false),
        (But::UsageIsGone, false),
        (But::IsNotMarked, true),
        (But::IsNotForeground, true),
        (But::UsageStays, true),
    ];
    for (but, is_broken) in cases {
        let mut world = World::new(false);
        let order = world.order("web", &["a"]);
        let mut map = composed("a", &order);
        map["metadata"]["labels"]["crossplane.io/in-use"] = json!("true");
        let uid = world.create(CONFIG_MAPS, &map);
        world.usage(&order, &uid, "none");
        let unmark = || {
            let labels = json!({"metadata": {"labels": {"crossplane.io/in-use": null}}});
            world.patch(&format!("{CONFIG_MAPS}/a"), &labels);
        };
        if but != But::IsNotForeground {
            let foreground = json!({"metadata": {"finalizers": [HELD, "foregroundDeletion"]}});
            world.patch(&format!("{}/web", orders()), &foreground);
        }
        if but == But::IsNotMarked {
            unmark();
        }
        world.delete(&format!("{}/web", orders()));
        unmark();
        if but != But::UsageStays {
            world.delete(&format!("{PROTECTION}/usage"));
            if but == But::UsageIsGone {
                let free = json!({"metadata": {"finalizers": null}});
                world.patch(&format!("{PROTECTION}/usage"), &free);
            }
        }
        let broken = world.broken_by_delete(CONFIG_MAPS, "a");
        assert_eq!(
            broken.contains(&"deleting_is_seen_first".to_owned()),
            is_broken,
            "{but:?}: {broken:?}"
        );
    }
}

#[test]
fn a_definition_deletes_what_others_compose() {
    let mut world = World::new(false);
    let order = world.order("web", &[]);
    let nested = json!({"apiVersion": "shop.example.org/v1", "kind": "Order", "name": "nested"});
    world.patch(
        &format!("{}/web", orders()),
        &json!({"spec": {"crossplane": {"resourceRefs": [nested]}}}),
    );
    let definition = json!({"metadata": {"name": "orders.shop.example.org", "finalizers": [HELD]}});
    world.create(DEFINITIONS, &definition);
    let goes = |world: &mut World| {
        world.create(&orders(), &composed("nested", &order));
        world.broken_by_delete(&orders(), "nested")
    };
    world.delete(&format!("{}/web", orders()));
    assert_eq!(goes(&mut world), ["deleting_is_seen_first"]);
    world.delete(&format!("{DEFINITIONS}/orders.shop.example.org"));
    assert!(goes(&mut world).is_empty());
}

/// Seed 7000186.
#[test]
fn two_definitions_that_end_at_once_delete_without_each_others_news() {
    let mut world = World::new(false);
    world.compose("nested");
    let order = world.order("web", &[]);
    let references = [("shop.example.org/v1", "Order"), ("v1", "ConfigMap")]
        .map(|(version, kind)| json!({"apiVersion": version, "kind": kind, "name": "nested"}));
    let references = json!({"spec": {"crossplane": {"resourceRefs": references}}});
    world.patch(&format!("{}/web", orders()), &references);
    world.create(&orders(), &composed("nested", &order));
    world.config_map("nested", &order);
    let definition = json!({"metadata": {"name": "orders.shop.example.org", "finalizers": [HELD]}});
    world.create(DEFINITIONS, &definition);
    world.delete(&format!("{DEFINITIONS}/orders.shop.example.org"));
    assert!(world.broken_by_delete(&orders(), "web").is_empty());
    assert!(world.broken_by_delete(&orders(), "nested").is_empty());
    // No definition of it ends.
    assert_eq!(
        world.broken_by_delete(CONFIG_MAPS, "nested"),
        ["deleting_is_seen_first"]
    );
}

#[test]
fn a_deletion_that_crosses_a_users_is_judged_by_its_uid_alone() {
    let mut world = World::new(false);
    let order = world.order("web", &["a", "b"]);
    for (name, names_uid, broken) in [("a", true, &[][..]), ("b", false, &["deletions_are_guarded"])] {
        world.config_map(name, &order);
        if names_uid {
            world.delete(&format!("{}/web", orders()));
        }
        world.forget();
        world.delete(&format!("{CONFIG_MAPS}/{name}"));
        let request = Request {
            names_uid,
            ..of_bridge("delete", CONFIG_MAPS, name)
        };
        assert_eq!(world.broken_by(Some(&request), CROSSED), broken);
    }
}

#[test]
fn a_claim_says_deleting_before_its_composite_resource_goes() {
    for says in [true, false] {
        let mut world = World::new(false);
        let claim = json!({
            "metadata": {"name": "web", "finalizers": [HELD]}, "spec": {"resourceRef": {"name": "web-1"}},
        });
        let claim = world.create(&claims(), &claim);
        world.create(&composites(), &bound(&claim));
        world.delete(&format!("{}/web", claims()));
        if says {
            let status = json!({"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Deleting"}]}});
            world.patch(&format!("{}/web", claims()), &status);
        }
        let broken = world.broken_by_delete(&composites(), "web-1");
        assert_eq!(
            broken,
            if says {
                vec![]
            } else {
                vec!["claims_say_deleting_first"]
            }
        );
    }
}

#[test]
fn who_composes_goes_last() {
    let goes = |vanishing: bool, is_begun: bool| {
        let mut world = World::new(vanishing);
        let order = world.order("web", &["a"]);
        let mut map = composed("a", &order);
        map["metadata"]["finalizers"] = json!([HELD]);
        world.create(CONFIG_MAPS, &map);
        if is_begun {
            world.delete(&format!("{CONFIG_MAPS}/a"));
        }
        world.forget();
        world.delete(&format!("{}/web", orders()));
        world.patch(
            &format!("{}/web", orders()),
            &json!({"metadata": {"finalizers": null}}),
        );
        world.broken(None)
    };
    assert_eq!(goes(false, false), ["the_finalizer_goes_last"]);
    assert_eq!(goes(false, true), ["the_finalizer_goes_last"]);
    assert_eq!(goes(true, false), ["the_finalizer_goes_last"]);
    assert!(goes(true, true).is_empty());
}

#[test]
fn who_starts_when_a_reference_was_removed_waits_for_none_of_it() {
    for (is_starting, is_removed, broken) in [
        (true, true, &[][..]),
        (false, true, &["the_finalizer_goes_last"]),
        (true, false, &["the_finalizer_goes_last"]),
    ] {
        let mut world = World::new(false);
        let order = world.order("web", &["a"]);
        world.config_map("a", &order);
        let web = format!("{}/web", orders());
        world.patch(&web, &json!({"metadata": {"finalizers": [HELD]}}));
        world.delete(&web);
        world.forget();
        if is_removed {
            world.patch(&web, &json!({"spec": {"crossplane": {"resourceRefs": []}}}));
            world.forget();
        }
        world.patch(&web, &json!({"metadata": {"finalizers": null}}));
        let request = of_bridge("update", &orders(), "web");
        let sender = Sender {
            is_starting,
            ..Sender::default()
        };
        assert_eq!(world.broken_by(Some(&request), sender), broken);
    }
}

#[test]
fn a_claim_goes_after_its_composite_resource() {
    let goes = |vanishing: bool, is_begun: bool| {
        let mut world = World::new(vanishing);
        let claim = json!({"metadata": {"name": "web"}, "spec": {"resourceRef": {"name": "web-1"}}});
        let claim = world.create(&claims(), &claim);
        world.create(&composites(), &bound(&claim));
        if is_begun {
            world.delete(&format!("{}/web-1", composites()));
        }
        world.forget();
        world.delete(&format!("{}/web", claims()));
        world.broken(None)
    };
    assert_eq!(goes(false, true), ["a_claim_goes_last"]);
    assert_eq!(goes(true, false), ["a_claim_goes_last"]);
    assert!(goes(true, true).is_empty());
}

#[test]
fn nothing_is_let_go_that_nobody_released() {
    for is_released in [false, true] {
        let mut world = World::new(false);
        let order = world.order("web", &["a"]);
        let uid = world.config_map("a", &order);
        if is_released {
            let release = json!({"metadata": {"annotations": {"crossbridge.dev/release": uid}}});
            world.patch(&format!("{}/web", orders()), &release);
        }
        world.forget();
        let owners = json!({"metadata": {"ownerReferences": null}});
        world.patch(&format!("{CONFIG_MAPS}/a"), &owners);
        let broken = world.broken(Some(&of_bridge("patch", CONFIG_MAPS, "a")));
        assert_eq!(
            broken,
            if is_released {
                vec![]
            } else {
                vec!["nothing_is_abandoned"]
            }
        );
    }
}

#[test]
fn what_is_orphaned_is_not_deleted() {
    let mut world = World::new(false);
    world.compose("a");
    let order = world.order("web", &["a", "b"]);
    world.config_map("a", &order);
    world.config_map("b", &order);
    let orphan = json!({"metadata": {"finalizers": [HELD, "orphan"]}});
    world.patch(&format!("{}/web", orders()), &orphan);
    world.delete(&format!("{}/web", orders()));
    world.say_deleting("web");
    // It is composed no more, which may have been found out before.
    assert!(world.broken_by_delete(CONFIG_MAPS, "b").is_empty());
    assert_eq!(
        world.broken_by_delete(CONFIG_MAPS, "a"),
        ["nothing_is_deleted_that_is_orphaned"]
    );
}

/// Seed 9000255.
#[test]
fn what_was_sent_before_a_person_orphans_it_may_still_go() {
    for (is_sent_before, broken) in [(true, &[][..]), (false, &["nothing_is_deleted_that_is_orphaned"])] {
        let mut world = World::new(false);
        world.compose("a");
        let order = world.order("web", &["a"]);
        world.config_map("a", &order);
        world.delete(&format!("{}/web", orders()));
        world.say_deleting("web");
        let before = world.revision();
        let orphan = json!({"propagationPolicy": "Orphan"});
        world.ask(&Method::DELETE, &format!("{}/web", orders()), &orphan);
        world.forget();
        let revision = if is_sent_before { before } else { world.revision() };
        world.delete(&format!("{CONFIG_MAPS}/a"));
        let request = Request {
            revision,
            ..of_bridge("delete", CONFIG_MAPS, "a")
        };
        assert_eq!(world.broken(Some(&request)), broken);
    }
}

#[test]
fn a_definition_goes_after_what_it_defines() {
    let mut world = World::new(false);
    let definition = json!({
        "metadata": {"name": "orders.shop.example.org"},
        "spec": {"group": "shop.example.org", "names": {"plural": "orders"}},
    });
    let path = format!("{DEFINITIONS}/orders.shop.example.org");
    let crd = format!("{CRDS}/orders.shop.example.org");
    world.create(DEFINITIONS, &definition);
    world.delete(&path);
    assert!(world.broken(None).is_empty());

    let uid = world.create(DEFINITIONS, &definition);
    let owners = json!({"metadata": {"ownerReferences": [{
        "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition", "name": "it", "uid": uid,
        "controller": true,
    }]}});
    world.patch(&crd, &owners);
    world.delete(&path);
    assert_eq!(world.broken(None), ["a_definition_goes_last"]);

    world.create(DEFINITIONS, &definition);
    world.order("web", &[]);
    world.delete(&path);
    assert_eq!(world.broken(None), ["a_definition_goes_last"]);
}
