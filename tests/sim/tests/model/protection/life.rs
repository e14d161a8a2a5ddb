//! Lives of usages: what people do, and what must have become of it each time.

use bridge_core::protection::{Mark, names};
use serde_json::{Value, json};

use super::{
    api::{Refusal, held, id, live},
    process::World,
};

/// What a person, or the controller of a composite resource, does.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    /// The two objects, which stay until [`Step::FreeApp`] and for ever.
    Objects,
    /// Controlled by a composite resource, which then exists.
    ComposedObjects,
    /// A usage of the one by the other.
    Usage(&'static str),
    /// One that the composite resource controls.
    ComposedUsage,
    /// One that it controls, and that is used by itself.
    UsageByParent,
    DeleteUsage(&'static str),
    DeleteXr,
    DeleteApp,
    /// What uses the resource, and its usage, in this order or the other.
    DeleteBoth(bool),
    /// What holds the using object lets it go.
    FreeApp,
    /// And another one gets its name at once.
    ReplaceApp,
    Restart,
    /// Another process begins to lead, whose watches of these kinds are so many changes old.
    RestartStale(usize, &'static [&'static str]),
    /// So many seconds pass.
    Pass(u64),
}

fn body(world: &World, controlled: bool, finalizers: &Value) -> Value {
    let mut body = json!({"metadata": {"finalizers": finalizers}});
    if controlled && let Some(xr) = world.api.get("Xr", "xr") {
        body["metadata"]["ownerReferences"] = json!([
            {"apiVersion": "example.org/v1", "kind": "Xr", "name": "xr", "uid": xr["metadata"]["uid"], "controller": true},
        ]);
    }
    body
}

fn usage(world: &World, controlled: bool, by: &str) -> Value {
    let named = |kind: &str, name: &str| json!({"apiVersion": "example.org/v1", "kind": kind, "resourceRef": {"name": name}});
    let mut usage = body(world, controlled, &json!([]));
    let by = if by == "Xr" {
        named("Xr", "xr")
    } else {
        named("App", "app")
    };
    usage["spec"] = json!({"of": named("Db", "db"), "by": by});
    usage
}

/// What is refused stays.
fn discard(_: Result<(), Refusal>) {}

/// Does one step.
pub fn act(world: &mut World, step: Step) {
    let time = world.time();
    match step {
        Step::Objects | Step::ComposedObjects => {
            let composed = matches!(step, Step::ComposedObjects);
            if composed {
                world
                    .api
                    .create("Xr", "xr", body(world, false, &json!(["xr"])), &time);
            }
            world
                .api
                .create("App", "app", body(world, composed, &held()), &time);
            world
                .api
                .create("Db", "db", body(world, composed, &json!([])), &time);
        }
        Step::Usage(name) => world.api.create("Usage", name, usage(world, false, "App"), &time),
        Step::ComposedUsage => world
            .api
            .create("Usage", "usage", usage(world, true, "App"), &time),
        Step::UsageByParent => world
            .api
            .create("Usage", "usage", usage(world, true, "Xr"), &time),
        Step::DeleteUsage(name) => discard(world.api.delete(&id("Usage", name), &time)),
        Step::DeleteXr => discard(world.api.delete(&id("Xr", "xr"), &time)),
        Step::DeleteApp => discard(world.api.delete(&id("App", "app"), &time)),
        Step::DeleteBoth(usage_first) => {
            let mut both = [id("App", "app"), id("Usage", "usage")];
            if usage_first {
                both.reverse();
            }
            for one in both {
                discard(world.api.delete(&one, &time));
            }
        }
        Step::FreeApp => world
            .api
            .edit(&id("App", "app"), |app| app["metadata"]["finalizers"] = json!([])),
        Step::ReplaceApp => {
            world
                .api
                .edit(&id("App", "app"), |app| app["metadata"]["finalizers"] = json!([]));
            world.api.create("App", "app", body(world, false, &held()), &time);
        }
        Step::Restart => world.restart(),
        Step::RestartStale(ago, kinds) => world.restart_stale(ago, kinds),
        Step::Pass(seconds) => world.advance(std::time::Duration::from_secs(seconds)),
    }
}

/// Lives a whole life; `Err`: what was wrong.
pub fn live_through(world: &mut World, life: &[Step]) -> Result<(), String> {
    for step in life {
        act(world, *step);
        world.note();
        let settled = world.settle();
        settled.map_err(|why| format!("after {step:?}: {why}"))?;
        check(world).map_err(|why| format!("after {step:?}: {why}; writes {:?}", world.api.writes))?;
    }
    Ok(())
}

/// What is stored at rest.
pub fn check(world: &World) -> Result<(), String> {
    if let Some(violation) = world.api.violations.first() {
        return Err(violation.clone());
    }
    let Some(db) = world.api.get("Db", "db") else {
        return Ok(());
    };
    let mark = Mark::of(&live(db));
    let usages: Vec<_> = world.api.usages().collect();
    let expected = usages.iter().map(|usage| usage.uid().to_owned()).collect();
    if mark.held_by != expected || mark.label == usages.is_empty() {
        return Err(format!("{mark:?} of usages {expected:?}"));
    }
    for usage in usages.iter().filter(|usage| !usage.is_deleting()) {
        let ready = usage.condition("Ready").cloned().unwrap_or_default();
        if ready["status"] != "True" || !usage.has_finalizer() || usage.annotation(names::RECORD).is_none() {
            return Err(format!("{} is {ready}", usage.title()));
        }
    }
    Ok(())
}

/// The usages that are stored.
pub fn left(world: &World) -> Vec<String> {
    world.api.usages().map(|usage| usage.name().to_owned()).collect()
}
