//! Every life with few departures from the plain course, one after the other: nothing is left to chance.

use std::time::Duration;

use crate::{
    choose::{Choices, Plan},
    course::{Setting, live},
    kinds::{self, Pace, Subject},
    random::{shrink, told},
};

/// What is tried where nobody asks for more (`MODEL_DEPTH`).
const DEPTH: u32 = 1;

/// The lives that were tried.
#[derive(Default)]
struct Tried {
    lives: u64,
    steps: u64,
}

/// Tries every continuation of a plan that departs `left` times more, after its last departure.
fn explore(setting: &Setting, plan: &Plan, left: u32, stride: usize, tried: &mut Tried) {
    let went = live(setting, Choices::by_plan(plan.clone()));
    tried.lives += 1;
    tried.steps += u64::from(went.steps);
    if !went.violations.is_empty() {
        let (plan, went) = shrink(setting, plan.clone());
        panic!("{}", told(setting, &plan, &went));
    }
    if left == 0 {
        return;
    }
    let from = plan.last().map_or(0, |(point, _)| point + 1);
    for (point, options) in went.points.iter().enumerate().skip(from).step_by(stride) {
        for option in 1..*options {
            let mut longer = plan.clone();
            longer.push((point, option));
            explore(setting, &longer, left - 1, stride, tried);
        }
    }
}

fn search(subjects: &[Subject]) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let depth = number("MODEL_DEPTH").unwrap_or(DEPTH);
    let stride = number("MODEL_STRIDE").unwrap_or(1) as usize;
    let only = std::env::var("MODEL_KIND").ok();
    let wanted = |subject: &&Subject| only.as_ref().is_none_or(|only| *only == subject.name);
    for subject in subjects.iter().filter(wanted) {
        let setting = Setting {
            short: true,
            ..Setting::of(subject.clone())
        };
        let mut tried = Tried::default();
        explore(&setting, &Plan::new(), depth, stride, &mut tried);
        println!(
            "{} {:?}: {} lives of at most {depth} departures, {} steps",
            subject.name, subject.manners, tried.lives, tried.steps
        );
    }
}

fn window(subject: Subject) -> Subject {
    subject.can(|can| can.consistency_window = Duration::from_secs(20))
}

#[test]
fn names_given_beforehand_at_once() {
    search(&[kinds::named(), kinds::bucket(), kinds::named_with_token()]);
}

#[test]
fn names_given_beforehand_long() {
    let driven = kinds::named().paced(Pace::Driven, Pace::Driven);
    search(&[kinds::queue(), window(kinds::table()), driven]);
}

#[test]
fn names_of_the_cloud_at_once() {
    search(&[kinds::token(), window(kinds::marked()), kinds::nothing()]);
}

#[test]
fn names_of_the_cloud_long() {
    let late = kinds::token()
        .paced(Pace::Long, Pace::AtOnce)
        .with(|manners| manners.name_at_end = true);
    search(&[kinds::distribution(), late]);
}
