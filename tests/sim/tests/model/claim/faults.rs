//! All schedules of a life with one fault.

use super::{
    life::{LIFE, Step, act, live},
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
