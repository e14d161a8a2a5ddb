//! Random lives: any order of steps, with faults at any write.

use super::{
    life::{Step, act, check, left},
    process::{Fault, World},
};
use crate::choose::Random;

const STEPS: [Step; 18] = [
    Step::Objects,
    Step::ComposedObjects,
    Step::Usage("usage"),
    Step::Usage("other"),
    Step::ComposedUsage,
    Step::UsageByParent,
    Step::DeleteUsage("usage"),
    Step::DeleteUsage("other"),
    Step::DeleteXr,
    Step::DeleteApp,
    Step::DeleteBoth(true),
    Step::DeleteBoth(false),
    Step::FreeApp,
    Step::ReplaceApp,
    Step::Restart,
    Step::RestartStale(1, &["Usage", "Db"]),
    Step::RestartStale(2, &["Xr", "App"]),
    Step::Pass(3),
];

fn life(seed: u64) -> Result<(), String> {
    let mut random = Random::new(seed);
    let mut world = World::new();
    for at in 0..60 {
        if random.below(12) == 0 {
            let fault = Fault::ALL[random.below(Fault::ALL.len())];
            world.faults.insert(at, fault);
        }
    }
    let mut steps = Vec::new();
    for _ in 0..12 {
        let step = STEPS[random.below(STEPS.len())];
        steps.push(step);
        act(&mut world, step);
        world.note();
        // Often the next step comes before all is done.
        let settled = if random.below(2) == 0 {
            let soon = world.now + std::time::Duration::from_millis(random.below(4000) as u64 + 1);
            world.settle_until(soon)
        } else {
            world.settle()
        };
        settled.map_err(|why| format!("{steps:?}: {why}"))?;
        if let Some(violation) = world.api.violations.first() {
            return Err(format!("{steps:?}: {violation}; writes {:?}", world.api.writes));
        }
    }
    world.faults.clear();
    // Everything goes in the end.
    for step in [
        Step::Pass(60),
        Step::DeleteUsage("usage"),
        Step::DeleteUsage("other"),
        Step::DeleteXr,
        Step::DeleteApp,
        Step::FreeApp,
        Step::Pass(60),
    ] {
        act(&mut world, step);
        world.note();
        world.settle().map_err(|why| format!("{steps:?}: {why}"))?;
    }
    check(&world).map_err(|why| format!("{steps:?}: {why}; writes {:?}", world.api.writes))?;
    match left(&world).as_slice() {
        [] => Ok(()),
        left => Err(format!(
            "{steps:?}: {left:?} are left; writes {:?}",
            world.api.writes
        )),
    }
}

#[test]
fn every_usage_keeps_its_order_and_ends() {
    let wrong: Vec<String> = (0..400)
        .filter_map(|seed| life(seed).err().map(|why| format!("{seed}: {why}")))
        .collect();
    assert!(wrong.is_empty(), "{}: {:#?}", wrong.len(), wrong.first());
}
