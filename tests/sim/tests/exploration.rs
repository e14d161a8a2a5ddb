//! The explorer notices what a rule keeps from happening: a program without it is run beside one with it.
#![allow(missing_docs, clippy::unwrap_used)]

use std::process::Command;

use bridge_sim::{
    composition_scenario::CompositionScenario,
    exploration::Exploration,
    simulation::{UserStep, WriteFault},
};

/// Says which rule is off.
const SWITCH: &str = "CROSSBRIDGE_RULE_OFF";

/// Every case of this fault in a scenario holds.
fn holds(scenario: &str, fault: WriteFault, at_least: usize) {
    let mut scenarios = CompositionScenario::explored().unwrap();
    scenarios.retain(|one| one.name == scenario);
    let exploration = Exploration::begin(scenarios).unwrap();
    let cases = exploration.each(fault);
    assert!(cases.len() > at_least, "{}", cases.len());
    let explored: Vec<_> = cases.iter().map(|case| exploration.run(case)).collect();
    assert!(explored.iter().all(|one| one.fired));
    let failed: Vec<String> = explored
        .iter()
        .filter_map(|one| one.failed.as_ref().map(ToString::to_string))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
#[ignore = "a part of another test, which runs it with a rule switched off and without"]
fn no_late_create_of_a_dead_bridge_breaks_anything() {
    holds("visible-deletion", WriteFault::DiesAndLandsLate, 20);
}

#[test]
#[ignore = "a part of another test, which runs it with a rule switched off and without"]
fn no_reference_that_a_user_removes_breaks_anything() {
    holds(
        "blocked-deletion",
        WriteFault::User(UserStep::RemovesReference),
        10,
    );
}

/// Whether another test passes, and what it prints.
fn passes(test: &str, rule: Option<&str>) -> (bool, String) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "--ignored", "--nocapture", test]);
    match rule {
        Some(rule) => child.env(SWITCH, rule),
        None => child.env_remove(SWITCH),
    };
    let ended = child.output().unwrap();
    let said = [ended.stdout, ended.stderr].concat();
    (
        ended.status.success(),
        String::from_utf8_lossy(&said).into_owned(),
    )
}

/// With the rule switched off this invariant breaks, or another end comes.
fn notices(test: &str, rule: &str, broken: &str) {
    let (passed, said) = passes(test, None);
    assert!(passed, "{said}");
    let (passed, said) = passes(test, Some(rule));
    assert!(!passed && said.contains(broken), "{said}");
}

#[test]
fn a_rule_that_is_off_is_noticed() {
    notices(
        "no_late_create_of_a_dead_bridge_breaks_anything",
        "ReferenceOutlivesCreates",
        "references_come_first",
    );
}

#[test]
fn a_reference_that_is_not_put_back_is_noticed() {
    notices(
        "no_reference_that_a_user_removes_breaks_anything",
        "StraysAreReferred",
        "the_finalizer_goes_last",
    );
}
