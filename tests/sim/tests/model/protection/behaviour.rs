//! Nominal courses, written out, and what each rule is for.

use std::time::Duration;

use bridge_core::protection::{Mark, UsageView, names};
use serde_json::{Value, json};

use super::{
    api::{id, live},
    faults::{BY_PARENT, COMPOSED, REPLACED, STANDALONE},
    life::{Step, act, left, live_through},
    process::World,
};

fn lived(life: &[Step]) -> World {
    let mut world = World::new();
    live_through(&mut world, life).unwrap();
    world
}

fn writes(life: &[Step]) -> Vec<String> {
    lived(life).api.writes
}

fn labelled(world: &World) -> bool {
    world
        .api
        .get("Db", "db")
        .is_some_and(|db| Mark::of(&live(db)).label)
}

#[test]
fn whole_lives_leave_nothing_behind() {
    for life in [COMPOSED, STANDALONE, REPLACED, BY_PARENT] {
        let world = lived(life);
        assert_eq!((left(&world).len(), labelled(&world)), (0, false), "{life:?}");
    }
}

/// A former process may have sent a write of the label that is still on its way.
#[test]
fn an_object_gets_another_version_before_a_usage_goes_that_does_not_know_its_writes() {
    let mut world = lived(&[Step::ComposedObjects, Step::ComposedUsage]);
    world.api.edit(&id("Db", "db"), |db| {
        db["metadata"]["labels"] = Value::Null;
        db["metadata"]["annotations"] = Value::Null;
    });
    let before = world.api.writes.len();
    world.restart();
    live_through(&mut world, &[Step::DeleteUsage("usage")]).unwrap();
    let expected = ["leave Db db", "leave Db db", "release Usage usage"];
    assert_eq!(world.api.writes[before..], expected);
    assert_eq!(
        Mark::of(&live(world.api.get("Db", "db").unwrap())),
        Mark::default()
    );
}

#[test]
fn a_usage_protects_nothing_composed_with_it_that_was_being_deleted_before() {
    let world = lived(&[Step::ComposedObjects, Step::ComposedUsage]);
    let usage = UsageView::of(&world.api.usages().next().unwrap());
    let of = usage.of.clone().unwrap().id;
    let mut db = world.api.get("Db", "db").unwrap().clone();
    for (deleted, protects) in [("2025-12-31T23:59:59Z", false), ("2026-12-31T23:59:59Z", true)] {
        db["metadata"]["deletionTimestamp"] = deleted.into();
        assert_eq!(usage.protects(&of, &live(&db)), protects, "{deleted}");
    }
}

#[test]
fn three_writes_to_ready_two_to_go_and_none_at_rest() {
    let begun = [Step::Objects, Step::Usage("usage")];
    let expected = ["write Usage usage", "mark Db db", "status Usage usage"];
    assert_eq!(writes(&begun), expected);
    let rested = [
        Step::Objects,
        Step::Usage("usage"),
        Step::Restart,
        Step::Pass(100),
        Step::Restart,
    ];
    assert_eq!(writes(&rested), expected);
    let gone = [
        Step::ComposedObjects,
        Step::ComposedUsage,
        Step::DeleteUsage("usage"),
    ];
    let expected: Vec<&str> = expected
        .into_iter()
        .chain(["leave Db db", "release Usage usage"])
        .collect();
    assert_eq!(writes(&gone), expected);
}

#[test]
fn a_decomposed_usage_goes_though_what_uses_the_resource_lives() {
    let world = lived(&[
        Step::ComposedObjects,
        Step::ComposedUsage,
        Step::DeleteUsage("usage"),
    ]);
    assert_eq!((left(&world).len(), labelled(&world)), (0, false));
    assert!(world.api.get("App", "app").is_some());
}

#[test]
fn under_the_deletion_of_its_controller_a_usage_outlives_what_uses() {
    let mut world = lived(&[Step::ComposedObjects, Step::ComposedUsage, Step::DeleteXr]);
    assert_eq!((left(&world), labelled(&world)), (vec!["usage".to_owned()], true));
    live_through(&mut world, &[Step::Restart, Step::FreeApp]).unwrap();
    assert_eq!((left(&world).len(), world.api.objects.len()), (0, 0));
}

#[test]
fn a_usage_by_its_composite_resource_does_not_wait_for_it() {
    let world = lived(&[
        Step::ComposedObjects,
        Step::UsageByParent,
        Step::DeleteXr,
        Step::FreeApp,
    ]);
    assert_eq!(world.api.objects.len(), 0);
}

#[test]
fn a_successor_of_the_using_object_is_not_waited_for() {
    let world = lived(REPLACED);
    assert_eq!(left(&world).len(), 0);
    assert!(world.api.get("App", "app").is_some());
}

#[test]
fn what_is_deleted_together_goes_in_order() {
    for usage_first in [true, false] {
        let mut world = lived(&[
            Step::Objects,
            Step::Usage("usage"),
            Step::Pass(5),
            Step::DeleteBoth(usage_first),
        ]);
        assert!(labelled(&world), "{usage_first}");
        live_through(&mut world, &[Step::FreeApp]).unwrap();
        assert_eq!((left(&world).len(), labelled(&world)), (0, false));
    }
}

/// The watch of composite resources lags behind that of usages.
#[test]
fn a_controller_that_is_being_deleted_is_not_taken_for_alive() {
    for ago in 1..4 {
        let mut world = lived(&[Step::ComposedObjects, Step::ComposedUsage]);
        act(&mut world, Step::DeleteXr);
        act(&mut world, Step::DeleteUsage("usage"));
        world.note();
        world.restart_stale(ago + 1, &["Xr"]);
        world.settle().unwrap();
        assert_eq!(world.api.violations, [""; 0], "{ago}");
        assert!(labelled(&world), "{ago}");
    }
}

/// Watches that are older than the objects show none of them.
#[test]
fn what_a_cache_does_not_show_is_not_taken_for_gone() {
    for kinds in [&["App"][..], &["Db"], &["App", "Db"]] {
        let mut world = lived(&[Step::ComposedObjects, Step::ComposedUsage]);
        act(&mut world, Step::DeleteXr);
        act(&mut world, Step::DeleteUsage("usage"));
        world.restart_stale(usize::MAX, kinds);
        world.settle().unwrap();
        assert_eq!(world.api.violations, [""; 0], "{kinds:?}");
        live_through(&mut world, &[Step::FreeApp]).unwrap();
        assert_eq!(world.api.objects.len(), 0, "{kinds:?}");
    }
    let mut world = lived(&[Step::ComposedObjects, Step::ComposedUsage]);
    act(&mut world, Step::DeleteUsage("usage"));
    world.restart_stale(usize::MAX, &["Db"]);
    world.settle().unwrap();
    assert_eq!((left(&world).len(), labelled(&world)), (0, false));
}

/// A cache may show a usage that is gone.
#[test]
fn a_usage_that_is_gone_marks_nothing() {
    for ago in 1..12 {
        let mut world = lived(&[
            Step::ComposedObjects,
            Step::ComposedUsage,
            Step::DeleteUsage("usage"),
        ]);
        world.restart_stale(ago, &["Usage"]);
        world.settle().unwrap();
        assert_eq!(world.api.violations, [""; 0], "{ago}");
        assert!(!labelled(&world), "{ago}");
    }
}

#[test]
fn the_label_stays_while_another_usage_holds_it() {
    let mut world = lived(&[
        Step::Objects,
        Step::Usage("usage"),
        Step::Usage("other"),
        Step::Pass(5),
    ]);
    live_through(&mut world, &[Step::DeleteUsage("other")]).unwrap();
    assert_eq!((left(&world), labelled(&world)), (vec!["usage".to_owned()], true));
    // Both at once.
    let mut world = lived(&[
        Step::Objects,
        Step::Usage("usage"),
        Step::Usage("other"),
        Step::Pass(5),
    ]);
    act(&mut world, Step::DeleteUsage("other"));
    live_through(&mut world, &[Step::DeleteUsage("usage")]).unwrap();
    assert_eq!((left(&world).len(), labelled(&world)), (0, false));
}

#[test]
fn a_usage_is_not_ready_before_the_guard_is_proved() {
    let mut world = World::new();
    world.unguarded = Some("not yet".to_owned());
    act(&mut world, Step::Objects);
    act(&mut world, Step::Usage("usage"));
    world.settle().unwrap();
    assert_eq!(world.api.violations, [""; 0]);
    let ready = |world: &World| {
        world
            .api
            .usages()
            .next()
            .unwrap()
            .condition("Ready")
            .cloned()
            .unwrap()
    };
    assert_eq!(ready(&world)["reason"], "GuardNotProved");
    assert!(labelled(&world), "it is marked all the same");
    world.unguarded = None;
    world.settle().unwrap();
    assert_eq!(ready(&world)["reason"], "Available");
}

#[test]
fn a_controller_that_cannot_be_read_is_waited_for() {
    let mut world = lived(&[Step::ComposedObjects, Step::ComposedUsage]);
    act(&mut world, Step::DeleteUsage("usage"));
    world.unreadable = vec!["Xr"];
    world.settle_until(world.now + Duration::from_mins(1)).unwrap();
    assert!(labelled(&world));
    let usage = world.api.usages().next().unwrap();
    let message = usage.condition("Ready").unwrap()["message"].clone();
    assert_eq!(message, "cannot read what it waits for: as the test wants");
    world.unreadable.clear();
    world.settle().unwrap();
    assert_eq!(left(&world).len(), 0);
}

#[test]
fn the_first_that_a_selector_matches_is_marked() {
    let mut world = World::new();
    act(&mut world, Step::Objects);
    for name in ["c", "b"] {
        let time = world.time();
        world.api.create(
            "Db",
            name,
            json!({"metadata": {"labels": {"app": "shop"}}}),
            &time,
        );
    }
    act(&mut world, Step::Usage("usage"));
    world.api.edit(&id("Usage", "usage"), |usage| {
        let of = usage["spec"]["of"].as_object_mut().unwrap();
        of.remove("resourceRef");
        of.insert(
            "resourceSelector".to_owned(),
            json!({"matchLabels": {"app": "shop"}}),
        );
    });
    world.settle().unwrap();
    let marked = |name| Mark::of(&live(world.api.get("Db", name).unwrap())).label;
    assert_eq!(["b", "c", "db"].map(marked), [true, false, false]);
}

fn replays(edit: impl FnOnce(&mut World)) -> bool {
    let mut world = World::new();
    for step in [Step::ComposedObjects, Step::Usage("usage")] {
        act(&mut world, step);
        world.api.edit(&id("Usage", "usage"), |usage| {
            usage["spec"]["replayDeletion"] = true.into();
        });
        world.settle().unwrap();
    }
    world.advance(Duration::from_secs(100));
    edit(&mut world);
    act(&mut world, Step::DeleteUsage("usage"));
    world.settle().unwrap();
    assert_eq!((left(&world).len(), world.api.violations.len()), (0, 0));
    world.api.writes.contains(&"delete Db db".to_owned())
}

fn attempted(seconds_ago: u64) -> impl FnOnce(&mut World) {
    move |world: &mut World| {
        let at = world.now - Duration::from_secs(seconds_ago);
        let annotations: Value = json!({names::ATTEMPT: "Background", names::ATTEMPTED_AT: at.to_string()});
        world.api.edit(&id("Db", "db"), |db| {
            for (name, value) in annotations.as_object().unwrap() {
                db["metadata"]["annotations"][name] = value.clone();
            }
        });
    }
}

#[test]
fn a_refused_deletion_is_repeated_only_by_the_teardown_that_asked() {
    assert!(!replays(|_| {}), "its owner lives, and nobody tried");
    assert!(replays(attempted(10)));
    assert!(!replays(attempted(1000)), "before the usage existed");
    // As the owner of the used object goes, it would go with it in any case; whoever is first.
    let gone = |world: &mut World| {
        world.api.edit(&id("Db", "db"), |db| {
            db["metadata"]["ownerReferences"][0]["uid"] = "gone".into();
        });
    };
    assert!(replays(gone));
}

/// The watch of composite resources is older than the composite resource.
#[test]
fn an_owner_that_a_cache_does_not_show_is_not_taken_for_gone() {
    assert!(!replays(|world| world.restart_stale(usize::MAX, &["Xr"])));
}

/// Both were made anew by it, and have other uids than the usage has recorded.
#[test]
fn a_usage_that_a_backup_brings_back_protects_what_is_there_now() {
    let mut world = lived(&[Step::Objects, Step::Usage("usage"), Step::Pass(5)]);
    for (kind, name) in [("Db", "db"), ("App", "app"), ("Usage", "usage")] {
        world.api.edit(&id(kind, name), |object| {
            object["metadata"]["uid"] = format!("restored-{name}").into();
        });
    }
    world.restart();
    world.settle().unwrap();
    act(&mut world, Step::DeleteBoth(true));
    world.settle().unwrap();
    assert_eq!(left(&world), ["usage"], "what uses it is still there");
    act(&mut world, Step::FreeApp);
    world.settle().unwrap();
    // Of who held it before, nobody knows what became.
    assert_eq!((left(&world).len(), labelled(&world)), (0, true));
}

#[test]
fn a_finalizer_that_a_person_takes_off_ends_the_usage() {
    let mut world = lived(&[Step::Objects, Step::Usage("usage"), Step::Pass(5)]);
    act(&mut world, Step::DeleteApp);
    act(&mut world, Step::DeleteUsage("usage"));
    world.api.edit(&id("Usage", "usage"), |usage| {
        usage["metadata"]["finalizers"] = json!([]);
    });
    world.settle().unwrap();
    // Its label stays, as nobody but a person knows what else happened there.
    assert_eq!((left(&world).len(), labelled(&world)), (0, true));
    // The next usage does not mind, and leaves what is not its own.
    live_through(&mut world, &[]).unwrap();
}
