//! What a blocked deletion names, whatever the reason: object, uid, since when, and what to do, ready to be pasted.

use bridge_core::composite::{InUse, ObjectId};
use serde_json::json;

use super::{
    in_use::{blocked, pass, stuck, two, usage, usage_id},
    life::{Step, act, composed},
    process::{World, composite},
};

/// What keeps the object `a` of a composite resource that is deleted afterwards, beside `b`.
type Obstacle = fn(&mut World, &ObjectId, &ObjectId);

const OBSTACLES: [(&str, Obstacle); 8] = [
    ("Finalizers", |world, a, _| stuck(world, a, &json!([]))),
    ("ExternalDeletion", |world, a, _| {
        stuck(
            world,
            a,
            &json!([{"type": "Ready", "status": "False", "reason": "Deleting", "message": ""}]),
        );
    }),
    ("ExternalError", |world, a, _| {
        stuck(
            world,
            a,
            &json!([{"type": "Synced", "status": "False", "reason": "ReconcileError", "message": "not empty"}]),
        );
    }),
    ("Forbidden", |world, _, b| {
        world.api.edit(b, |_| None);
        world.refuses_deletions = true;
    }),
    ("InUse", |world, a, _| {
        world
            .api
            .put_foreign(&usage_id("protect"), usage("protect", a, None));
    }),
    // Its guard refuses, and no usage is known.
    ("InUse", |world, a, b| {
        world.api.edit(b, |_| None);
        world.api.edit(a, |mut object| {
            object["metadata"]["labels"]["crossplane.io/in-use"] = json!("true");
            Some(object)
        });
        world.refuses_deletions = true;
    }),
    ("Cycle", |world, a, b| {
        for (name, of, by) in [("one", a, b), ("two", b, a)] {
            world.api.put_foreign(&usage_id(name), usage(name, of, Some(by)));
        }
    }),
    ("Unreachable", |world, _, b| {
        world.api.edit(b, |_| None);
        world.in_use = |_| InUse {
            usages: Vec::new(),
            unknown: Some("the list fails".to_owned()),
            ancestors: [].into(),
        };
    }),
];

#[test]
fn each_blocker_names_object_uid_time_and_what_to_do() {
    for (expected, obstacle) in OBSTACLES {
        let mut world = two();
        let (a, b) = (composed(&world)["a"].clone(), composed(&world)["b"].clone());
        obstacle(&mut world, &a, &b);
        act(&mut world, Step::Delete);
        pass(&mut world, 12);
        let (reason, message) = blocked(&world);
        assert_eq!(reason, expected, "{message}");
        // Of a cycle either may be named.
        let named = [&a, &b]
            .into_iter()
            .find(|id| message.starts_with(&id.to_string()))
            .unwrap();
        let object = &world.api.objects[named]["metadata"];
        let own = object["deletionTimestamp"].as_str().map(ToOwned::to_owned);
        let xr = composite(&world).unwrap();
        let since = own.unwrap_or_else(|| xr.deletion_time().unwrap().to_string());
        let uid = object["uid"].as_str().unwrap();
        // One that is not even known to be in use is not to be let go by a uid in a message.
        let asks_to_release = expected != "Unreachable";
        for part in [
            format!("is being deleted since {since}"),
            "kubectl get".to_owned(),
            format!("crossbridge.dev/release={uid}"),
        ] {
            let is_wanted = asks_to_release || !part.starts_with("crossbridge");
            assert_eq!(
                message.contains(&part),
                is_wanted,
                "{expected}: {message} and {part}"
            );
        }
        // The next process says the same all the time.
        act(&mut world, Step::Restart);
        for _ in 0..30 {
            pass(&mut world, 1);
            assert_eq!(blocked(&world), (reason.clone(), message.clone()));
        }
    }
}
