//! Random schedules: one seed, one life.

use std::time::Duration;

use bridge_core::kind::CreateRecovery;
use jiff::SignedDuration;
use serde_json::json;

use crate::{
    choose::{Choices, Plan, Random},
    counts, kinds,
    nominal_schedule::{REPLACED, Setting, TWO_LIVES, Went, live},
};

/// Lives that are tried where nobody asks for more (`MODEL_SEEDS`).
const SEEDS: u64 = 1500;

fn setting(random: &mut Random) -> Setting {
    let all = kinds::all();
    let subject = all[random.below(all.len())].clone();
    let window = random.pick(&[0, 20]);
    let late = random.pick(&[0, 4]);
    let retention = random.pick(&[Duration::MAX, Duration::from_secs(75)]);
    let subject = subject.can(|can| {
        can.consistency_window = Duration::from_secs(window);
        can.late_margin = Duration::from_secs(late);
        if can.create_recovery.contains(&CreateRecovery::ClientToken) {
            can.token_retention = retention;
        }
        can.delete_during_create = random.below(2) == 0;
    });
    let subject = subject.with(|manners| {
        manners.name_at_end = random.below(3) == 0;
        manners.frees_tokens = random.below(2) == 0;
        manners.bare = random.below(2) == 0;
        manners.update = random.pick(&[kinds::Pace::AtOnce, kinds::Pace::Long]);
    });
    let subject = match random.below(4) {
        0 => subject.undeclared(Duration::from_mins(2)).shown_at_end(),
        1 => subject.undeclared(Duration::from_mins(2)),
        _ => subject,
    };
    let foreigners = random.below(3) == 0;
    let actions = random.pick(&[TWO_LIVES, TWO_LIVES, REPLACED]);
    Setting {
        actions,
        offset: SignedDuration::from_secs(random.pick(&[0, 0, 5, -5])),
        visibility: Duration::from_secs(random.pick(&[0, window / 2, window])),
        foreigners,
        ..Setting::of(subject)
    }
}

fn of_seed(seed: u64) -> (Setting, Choices) {
    let mut random = Random::new(seed);
    let setting = setting(&mut random);
    let per_mille = random.pick(&[10, 30, 100]);
    let left = random.pick(&[2, 4, 9]);
    (setting, Choices::by_chance(random, per_mille, left))
}

/// The fewest departures from the plain course that still go wrong.
pub fn shrink(setting: &Setting, mut plan: Plan) -> (Plan, Went) {
    loop {
        let smaller = (0..plan.len()).find_map(|at| {
            let mut plan = plan.clone();
            plan.remove(at);
            let went = live(setting, Choices::by_plan(plan.clone()));
            (!went.violations.is_empty()).then_some(plan)
        });
        if let Some(smaller) = smaller {
            plan = smaller;
        } else {
            let setting = Setting {
                logs: true,
                ..setting.clone()
            };
            return (plan.clone(), live(&setting, Choices::by_plan(plan)));
        }
    }
}

/// What went wrong, where, and how.
pub fn reported(setting: &Setting, plan: &Plan, went: &Went) -> String {
    format!(
        "{} {:?} window {:?} late {:?} retention {:?} offset {} visibility {:?} foreigners {}\nplan {plan:?}\n{}\n{}",
        setting.subject.name,
        setting.subject.manners,
        setting.subject.window(),
        setting.subject.late(),
        setting.subject.kind.capabilities.token_retention,
        setting.offset,
        setting.visibility,
        setting.foreigners,
        went.log.join("\n"),
        went.violations.join("\n"),
    )
}

#[test]
fn every_random_run_converges() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("MODEL_FIRST_SEED").unwrap_or(0);
    let count = number("MODEL_SEEDS").unwrap_or(SEEDS);
    let (mut steps, mut faults) = (0_u64, 0);
    for seed in first..first + count {
        let (setting, choices) = of_seed(seed);
        let went = live(&setting, choices);
        steps += u64::from(went.steps);
        faults += went.taken.len();
        if !went.violations.is_empty() {
            let (plan, went) = shrink(&setting, went.taken);
            panic!("seed {seed}: {}", reported(&setting, &plan, &went));
        }
    }
    counts::tell(&json!({
        "what": "seeds",
        "first": first,
        "seeds": count,
        "steps": steps,
        "departures": faults,
    }));
}
