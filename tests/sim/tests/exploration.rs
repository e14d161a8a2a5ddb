//! The explorer notices what a rule keeps from happening: a program without it is run beside one with it.
#![allow(missing_docs, clippy::unwrap_used)]

use std::process::Command;

use bridge_sim::{
    composition_scenario::CompositionScenario, exploration::Exploration, simulation::WriteFault,
};

/// Says which rule is off.
const SWITCH: &str = "CROSSBRIDGE_RULE_OFF";

#[test]
#[ignore = "a part of the other test, which runs it with a rule switched off and without"]
fn no_late_create_of_a_dead_bridge_breaks_anything() {
    let mut scenarios = CompositionScenario::explored().unwrap();
    scenarios.retain(|scenario| scenario.name == "visible-deletion");
    let exploration = Exploration::begin(scenarios).unwrap();
    let cases = exploration.each(WriteFault::DiesAndLandsLate);
    assert!(cases.len() > 20, "{}", cases.len());
    let explored: Vec<_> = cases.iter().map(|case| exploration.run(case)).collect();
    assert!(explored.iter().all(|one| one.fired));
    let failed: Vec<String> = explored
        .iter()
        .filter_map(|one| one.failed.as_ref().map(ToString::to_string))
        .collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// Whether the other test passes, and what it prints.
fn passes(rule: Option<&str>) -> (bool, String) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args([
        "--exact",
        "--ignored",
        "--nocapture",
        "no_late_create_of_a_dead_bridge_breaks_anything",
    ]);
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

#[test]
fn a_rule_that_is_off_is_noticed() {
    let (passed, said) = passes(None);
    assert!(passed, "{said}");
    let (passed, said) = passes(Some("ReferenceOutlivesCreates"));
    assert!(!passed && said.contains("references_come_first"), "{said}");
}
