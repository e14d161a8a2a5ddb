//! Lives of claims: what people do, and what must have become of it each time.

use bridge_core::claim::Claim;
use serde_json::{Value, json};

use super::process::World;

/// What a person does.
#[derive(Debug, Clone, Copy)]
pub enum Step {
    Create(i64),
    Edit(i64),
    DeleteComposite,
    EditComposite(i64),
    /// The claim is made to name this composite resource, or none.
    Name(Option<&'static str>),
    Restart,
    /// Another process begins to lead, whose caches are so many changes old.
    RestartStale(usize),
    Delete,
    /// Deleted, and created anew as soon as it is gone.
    Recreate(i64),
}

/// The claim of most lives.
pub const SHOP: &str = "shop";

/// It changes; its composite resource is changed and deleted by hand; it is deleted and created again; the end.
pub const LIFE: &[Step] = &[
    Step::Create(1),
    Step::Edit(2),
    Step::EditComposite(7),
    Step::DeleteComposite,
    Step::Restart,
    Step::Edit(3),
    Step::Recreate(4),
    Step::Delete,
];

pub fn spec(size: i64) -> Value {
    // What no schema may let through.
    json!({"size": size, "resourceRefs": [{"apiVersion": "v1", "kind": "Secret", "name": "smuggled"}]})
}

/// A claim as it is stored.
pub fn claim(world: &World, name: &str) -> Option<Claim> {
    world.api.claims.get(name).cloned().map(Claim::new)
}

/// The composite resource of a claim, as it is stored.
pub fn composite(world: &World, name: &str) -> Option<Value> {
    let claim = claim(world, name)?;
    world.api.xrs.get(claim.composite()?).cloned()
}

pub fn condition(claim: &Claim, type_: &str) -> (String, String) {
    let condition = claim.condition(type_).cloned().unwrap_or_default();
    let text = |field: &str| condition[field].as_str().unwrap_or_default().to_owned();
    (text("reason"), text("message"))
}

/// Does one step.
pub fn act(world: &mut World, step: Step) {
    let time = world.time();
    let composite = claim(world, SHOP).and_then(|claim| claim.composite().map(ToOwned::to_owned));
    match step {
        Step::Create(size) => world.api.create_claim(SHOP, &spec(size), &time),
        Step::Edit(size) => world
            .api
            .edit_claim(SHOP, |claim| claim["spec"]["size"] = size.into()),
        Step::DeleteComposite => {
            if let Some(name) = composite {
                world.api.delete_xr_by_hand(&name, &time);
            }
        }
        Step::EditComposite(size) => {
            if let Some(name) = composite {
                world.api.edit_xr(&name, |xr| xr["spec"]["size"] = size.into());
            }
        }
        Step::Name(name) => world.api.edit_claim(SHOP, |claim| {
            claim["spec"]["resourceRef"] = match name {
                Some(name) => json!({"apiVersion": "example.org/v1", "kind": "XShop", "name": name}),
                None => Value::Null,
            };
        }),
        Step::Restart => world.restart(),
        Step::RestartStale(ago) => world.restart_stale(ago),
        Step::Delete => world.api.delete_claim(SHOP, &time),
        Step::Recreate(size) => {
            world.api.delete_claim(SHOP, &time);
            world.then_create = Some((SHOP, spec(size)));
        }
    }
}

/// Lives a whole life; `Err`: what was wrong.
pub fn live(world: &mut World, life: &[Step]) -> Result<(), String> {
    let mut desired: Option<i64> = None;
    for step in life {
        act(world, *step);
        world.note();
        match step {
            Step::Create(size) | Step::Edit(size) | Step::Recreate(size) => desired = Some(*size),
            Step::Delete => desired = None,
            Step::DeleteComposite
            | Step::EditComposite(_)
            | Step::Name(_)
            | Step::Restart
            | Step::RestartStale(_) => {}
        }
        world.settle().map_err(|why| format!("after {step:?}: {why}"))?;
        check(world, desired).map_err(|why| format!("after {step:?}: {why}"))?;
    }
    Ok(())
}

/// What is stored at rest.
fn check(world: &World, desired: Option<i64>) -> Result<(), String> {
    if let Some(violation) = world.api.violations.first() {
        return Err(violation.clone());
    }
    if let Some(left) = world.api.left_over().first() {
        return Err(format!("{left} is left of a claim that is gone"));
    }
    let Some(desired) = desired else {
        return match (world.api.claims.len(), world.api.xrs.len()) {
            (0, 0) => Ok(()),
            (claims, left) => Err(format!("{claims} claims and {left} composite resources are left")),
        };
    };
    let claim = claim(world, SHOP).ok_or("the claim is gone")?;
    let xr = composite(world, SHOP).ok_or("the composite resource is gone")?;
    if world.api.xrs.len() != 1 {
        return Err(format!("there are {:?}", world.api.xrs.keys()));
    }
    if xr["spec"]["size"] != desired {
        return Err(format!(
            "the composite resource is {}, desired {desired}",
            xr["spec"]
        ));
    }
    for type_ in ["Synced", "Ready"] {
        let condition = claim.condition(type_).cloned().unwrap_or_default();
        if condition["status"] != "True" {
            return Err(format!("{type_} is {condition}"));
        }
    }
    if claim.status()["size"] != desired {
        return Err(format!("the status is {}", claim.status()));
    }
    Ok(())
}
