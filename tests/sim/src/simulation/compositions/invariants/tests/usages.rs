//! What is in use.

use serde_json::json;

use super::{CONFIG_MAPS, HELD, PROTECTION, World, of_bridge, orders};

#[test]
fn what_is_used_goes_after_what_uses_it() {
    let mut world = World::new(false);
    let order = world.order("web", &["used", "using"]);
    let (used, using) = (
        world.config_map("used", &order),
        world.config_map("using", &order),
    );
    world.usage(&order, &used, &using);
    world.delete(&format!("{}/web", orders()));
    world.say_deleting("web");
    world.delete(&format!("{PROTECTION}/usage"));
    assert!(world.broken_by_delete(CONFIG_MAPS, "using").is_empty());
    assert!(world.broken_by_delete(CONFIG_MAPS, "used").is_empty());

    let mut world = World::new(false);
    let order = world.order("web", &["used", "using"]);
    let (used, using) = (
        world.config_map("used", &order),
        world.config_map("using", &order),
    );
    world.usage(&order, &used, &using);
    world.delete(&format!("{}/web", orders()));
    world.say_deleting("web");
    world.delete(&format!("{PROTECTION}/usage"));
    assert_eq!(world.broken_by_delete(CONFIG_MAPS, "used"), ["leaves_go_first"]);
}

#[test]
fn what_is_desired_goes_with_its_composite_resource_alone() {
    let mut world = World::new(false);
    world.compose("a");
    let order = world.order("web", &["a", "b"]);
    world.config_map("a", &order);
    world.config_map("b", &order);
    assert!(world.broken_by_delete(CONFIG_MAPS, "b").is_empty());
    assert_eq!(
        world.broken_by_delete(CONFIG_MAPS, "a"),
        ["decomposed_alone_goes_early"]
    );
}

#[test]
fn a_usage_goes_after_what_uses_its_resource() {
    let goes = |is_decomposed: bool| {
        let mut world = World::new(false);
        let order = world.order("web", &["used", "using"]);
        let (used, using) = (
            world.config_map("used", &order),
            world.config_map("using", &order),
        );
        world.usage(&order, &used, &using);
        let (web, usage) = (format!("{}/web", orders()), format!("{PROTECTION}/usage"));
        let order = if is_decomposed {
            [&usage, &web]
        } else {
            [&web, &usage]
        };
        for path in order {
            world.delete(path);
        }
        world.forget();
        world.patch(&usage, &json!({"metadata": {"finalizers": null}}));
        world.broken(None)
    };
    assert_eq!(goes(false), ["usages_outlive_their_users"]);
    assert!(goes(true).is_empty());
}

#[test]
fn what_a_ready_usage_is_about_is_deleted_by_nobody() {
    let mut world = World::new(false);
    let order = world.order("web", &["used", "using"]);
    let (used, using) = (
        world.config_map("used", &order),
        world.config_map("using", &order),
    );
    world.usage(&order, &used, &using);
    world.forget();
    world.delete(&format!("{CONFIG_MAPS}/using"));
    assert!(world.broken(None).is_empty());
    world.delete(&format!("{CONFIG_MAPS}/used"));
    assert_eq!(world.broken(None), ["what_is_in_use_stays"]);
}

#[test]
fn what_is_deleted_together_goes_in_order() {
    let stand = || {
        let world = World::new(false);
        let config_map = |name: &str| {
            let held = json!({"metadata": {"name": name, "finalizers": [HELD]}});
            world.create(CONFIG_MAPS, &held)
        };
        let (used, using) = (config_map("used"), config_map("using"));
        world.usage("none", &used, &using);
        let usage = format!("{PROTECTION}/usage");
        world.patch(&usage, &json!({"metadata": {"ownerReferences": null}}));
        world.delete(&usage);
        world
    };
    let let_go = json!({"metadata": {"finalizers": null}});
    let (usage, using) = (format!("{PROTECTION}/usage"), format!("{CONFIG_MAPS}/using"));

    let mut world = stand();
    world.delete(&using);
    world.forget();
    world.delete(&format!("{CONFIG_MAPS}/used"));
    assert_eq!(world.broken(None), ["bulk_deletions_keep_order"]);
    world.patch(&usage, &let_go);
    assert_eq!(world.broken(None), ["bulk_deletions_keep_order"]);

    let mut world = stand();
    world.delete(&using);
    world.patch(&using, &let_go);
    world.forget();
    world.patch(&usage, &let_go);
    assert!(world.broken(None).is_empty());
}

#[test]
fn a_usage_is_ready_after_the_mark() {
    for is_marked in [true, false] {
        let mut world = World::new(false);
        let order = world.order("web", &["used", "using"]);
        let (used, using) = (
            world.config_map("used", &order),
            world.config_map("using", &order),
        );
        if is_marked {
            let label = json!({"metadata": {"labels": {"crossplane.io/in-use": "true"}}});
            world.patch(&format!("{CONFIG_MAPS}/used"), &label);
        }
        world.usage(&order, &used, &using);
        let broken = world.broken(None);
        let refers = broken
            .iter()
            .filter(|name| *name == "usages_are_ready_with_a_mark")
            .count();
        assert_eq!(refers, usize::from(!is_marked), "{broken:?}");
    }
}

#[test]
fn a_refusal_tells_of_what_was_asked() {
    let world = World::new(false);
    let order = world.order("web", &["a"]);
    world.config_map("a", &order);
    let request = of_bridge("delete", CONFIG_MAPS, "a");
    let asked =
        |code| super::super::usages::nothing_in_use_is_asked_to_go(&world.kube.state(), &request, code);
    assert_eq!(asked(403), None);
    let label = json!({"metadata": {"labels": {"crossplane.io/in-use": "true"}}});
    world.patch(&format!("{CONFIG_MAPS}/a"), &label);
    assert_eq!(asked(409), None);
    assert!(asked(403).is_some());
}
