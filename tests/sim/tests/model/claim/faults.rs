//! All schedules of a life with one fault.

use serde_json::json;

use super::{
    life::{LIFE, SHOP, Step, act, live, spec},
    process::{Fault, World},
};

pub fn lived(life: &[Step], faults: &[(usize, Fault)]) -> Result<usize, String> {
    let mut world = World::new();
    world.faults = faults.iter().copied().collect();
    live(&mut world, life).map_err(|why| format!("{faults:?}: {why}; writes {:?}", world.api.writes))?;
    Ok(world.attempts())
}

fn each_fault_of(life: &[Step]) {
    let writes = lived(life, &[]).unwrap();
    let mut wrong = Vec::new();
    for at in 0..writes {
        for fault in Fault::ALL {
            wrong.extend(lived(life, &[(at, fault)]).err());
        }
    }
    let all = writes * Fault::ALL.len();
    assert!(wrong.is_empty(), "{} of {all}: {:#?}", wrong.len(), wrong.first());
}

#[test]
fn no_single_fault_leaks_or_loses_anything() {
    each_fault_of(LIFE);
}

#[test]
fn no_fault_of_a_claim_that_is_created_anew_touches_its_successor() {
    each_fault_of(&[
        Step::Create(1),
        Step::Recreate(2),
        Step::Recreate(3),
        Step::Delete,
    ]);
}

fn rivals(exists: bool, fault: (usize, Fault)) -> Result<(), String> {
    let mut world = World::new();
    world.faults = [fault].into();
    let time = world.time();
    if exists {
        world.api.create_xr("mine", &json!({"size": 9}), &time);
    }
    let mut named = spec(1);
    named["resourceRef"] = json!({"name": "mine"});
    for name in [SHOP, "rival"] {
        world.api.create_claim(name, &named, &time);
    }
    world.settle()?;
    let bound = world.api.xrs["mine"]["spec"]["claimRef"]["name"].as_str();
    let bound = bound.ok_or("nobody has it")?.to_owned();
    let loser = if bound == SHOP { "rival" } else { SHOP };
    for name in [loser, &bound] {
        if name == bound && !world.api.xrs.contains_key("mine") {
            return Err("it went with the other one".to_owned());
        }
        let time = world.time();
        world.api.delete_claim(name, &time);
        world.settle()?;
    }
    match (
        world.api.violations.first(),
        world.api.claims.len(),
        world.api.xrs.len(),
    ) {
        (None, 0, 0) => Ok(()),
        left => Err(format!("{left:?}")),
    }
}

#[test]
fn two_claims_on_one_composite_resource_survive_any_single_fault() {
    let mut wrong = Vec::new();
    for exists in [true, false] {
        for at in 0..12 {
            for fault in Fault::ALL {
                let lived = rivals(exists, (at, fault));
                wrong.extend(
                    lived
                        .map_err(|why| format!("{exists} {at} {fault:?}: {why}"))
                        .err(),
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{}: {:#?}", wrong.len(), wrong.first());
}

/// Deleted and created anew after each of its first writes, faults included.
#[test]
fn a_claim_may_be_created_anew_at_each_of_its_steps() {
    let mut wrong = Vec::new();
    for millis in [1, 5, 40, 60, 110, 160, 1100] {
        for at in 0..12 {
            for fault in Fault::ALL {
                let mut world = World::new();
                world.faults = [(at, fault)].into();
                act(&mut world, Step::Create(1));
                world
                    .settle_until(world.now + std::time::Duration::from_millis(millis))
                    .unwrap();
                let rest = [Step::Recreate(2), Step::Delete];
                let lived = live(&mut world, &rest);
                wrong.extend(
                    lived
                        .map_err(|why| {
                            format!(
                                "{millis} ms, {at} {fault:?}: {why}; writes {:?}",
                                world.api.writes
                            )
                        })
                        .err(),
                );
            }
        }
    }
    assert!(wrong.is_empty(), "{}: {:#?}", wrong.len(), wrong.first());
}
