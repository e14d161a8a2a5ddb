//! Every scenario in virtual time. `tests/crash-matrix` runs the same files with real processes.
#![allow(missing_docs, clippy::unwrap_used)]

use bridge_sim::{
    composition_scenario::{CompositionScenario, simulate_compositions},
    scenario::{Scenario, simulate},
};

#[test]
fn every_scenario_holds_in_virtual_time() {
    let scenarios = Scenario::all().unwrap();
    assert!(scenarios.len() >= 10, "{}", scenarios.len());
    let mut failed = Vec::new();
    for scenario in scenarios {
        if let Err((unexpected, journal)) = simulate(&scenario) {
            println!("{}\n", journal.join("\n"));
            failed.push(unexpected.to_string());
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn every_scenario_of_compositions_holds_in_virtual_time() {
    let scenarios = CompositionScenario::all().unwrap();
    assert!(scenarios.len() >= 8, "{}", scenarios.len());
    let mut failed = Vec::new();
    for scenario in scenarios {
        if let Err((unexpected, journal)) = simulate_compositions(&scenario) {
            println!("{}\n", journal.join("\n"));
            failed.push(unexpected.to_string());
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
