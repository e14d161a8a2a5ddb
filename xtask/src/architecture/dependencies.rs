//! What the decisions may be made of: nothing that reads a clock, draws a number, waits, or does I/O.

use std::process::Command;

use super::{metadata, root};

/// All that `bridge-core` may name. Whatever is added here must be as pure as these.
const CORE_MAY_USE: [&str; 10] = [
    "async-trait",
    "base64",
    "crossbridge-types",
    "jiff",
    "regex",
    "serde",
    "serde_json",
    "serde_path_to_error",
    "sha2",
    "thiserror",
];

#[test]
fn the_core_depends_on_nothing_that_acts() {
    let metadata = metadata();
    let core = metadata["packages"].as_array().unwrap();
    let core = core
        .iter()
        .find(|package| package["name"] == "bridge-core")
        .unwrap();
    let dependencies = core["dependencies"].as_array().unwrap().iter();
    let used: Vec<&str> = dependencies
        .filter(|dependency| dependency["kind"].is_null())
        .map(|dependency| dependency["name"].as_str().unwrap())
        .collect();
    assert!(!used.is_empty());
    let too_much: Vec<&&str> = used.iter().filter(|name| !CORE_MAY_USE.contains(name)).collect();
    assert!(too_much.is_empty(), "the core must not depend on {too_much:?}");
    let unused: Vec<&&str> = CORE_MAY_USE.iter().filter(|name| !used.contains(name)).collect();
    assert!(
        unused.is_empty(),
        "the core no longer depends on {unused:?}: take it off the list"
    );
}

/// What cargo would build of a crate, a line for each crate and feature.
fn features(package: &str, edges: &str) -> String {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--locked", "--offline", "--prefix=none", "--format={p}"])
        .args(["--package", package, "--edges", edges])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn switches_of_the_rules_are_built_for_tests_alone() {
    let switches = "bridge-core feature \"rule-switches\"";
    for shipped in ["runtime-bridge", "bridge-sim"] {
        let features = features(shipped, "features,normal,build");
        assert!(features.contains("bridge-core feature"), "{features}");
        assert!(!features.contains(switches), "{shipped} is built with switches");
    }
    assert!(features("bridge-sim", "features,normal,build,dev").contains(switches));
}
