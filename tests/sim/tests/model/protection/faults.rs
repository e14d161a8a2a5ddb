//! All schedules of lives with one fault, and many with two.

use super::{
    life::{Step, left, live_through},
    process::{Fault, World},
};

/// What is composed is decomposed; the rest goes with the composite resource.
pub const COMPOSED: &[Step] = &[
    Step::ComposedObjects,
    Step::ComposedUsage,
    Step::DeleteUsage("usage"),
    Step::ComposedUsage,
    Step::Restart,
    Step::DeleteXr,
    Step::Restart,
    Step::FreeApp,
];

/// Two usages of one object, which go one after the other and together.
pub const STANDALONE: &[Step] = &[
    Step::Objects,
    Step::Usage("usage"),
    Step::Usage("other"),
    Step::Pass(10),
    Step::DeleteUsage("other"),
    Step::Usage("other"),
    Step::DeleteBoth(true),
    Step::DeleteUsage("other"),
    Step::FreeApp,
];

/// What uses the resource is replaced under its name, while its usage waits for it.
pub const REPLACED: &[Step] = &[
    Step::ComposedObjects,
    Step::ComposedUsage,
    Step::DeleteXr,
    Step::ReplaceApp,
    Step::Restart,
];

/// The composite resource itself uses what it composed.
pub const BY_PARENT: &[Step] = &[
    Step::ComposedObjects,
    Step::UsageByParent,
    Step::DeleteXr,
    Step::FreeApp,
];

const LIVES: [&[Step]; 4] = [COMPOSED, STANDALONE, REPLACED, BY_PARENT];

fn lived(life: &[Step], faults: &[(usize, Fault)]) -> Result<usize, String> {
    let mut world = World::new();
    world.faults = faults.iter().copied().collect();
    live_through(&mut world, life).map_err(|why| format!("{faults:?}: {why}"))?;
    match left(&world).as_slice() {
        [] => Ok(world.attempts()),
        left => Err(format!(
            "{faults:?}: {left:?} are left; writes {:?}",
            world.api.writes
        )),
    }
}

#[test]
fn no_single_fault_leaks_or_loses_anything() {
    let mut wrong = Vec::new();
    for life in LIVES {
        let writes = lived(life, &[]).unwrap();
        for at in 0..writes {
            for fault in Fault::ALL {
                wrong.extend(lived(life, &[(at, fault)]).err());
            }
        }
    }
    assert!(wrong.is_empty(), "{}: {:#?}", wrong.len(), wrong.first());
}

#[test]
fn no_two_faults_leak_or_lose_anything() {
    let mut wrong = Vec::new();
    for life in LIVES {
        let writes = lived(life, &[]).unwrap();
        for first in 0..writes {
            for one in Fault::ALL {
                for second in (first + 1..writes + 3).step_by(3) {
                    let other = Fault::ALL[(first + second) % Fault::ALL.len()];
                    wrong.extend(lived(life, &[(first, one), (second, other)]).err());
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}: {:#?}", wrong.len(), wrong.first());
}
