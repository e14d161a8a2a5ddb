//! What the decisions may be made of: nothing that reads a clock, draws a number, waits, or talks to anybody.

use super::metadata;

/// All that `bridge-core` may name. Whatever is added here must be as pure as these.
const CORE_MAY_USE: [&str; 7] = [
    "async-trait",
    "crossbridge-types",
    "jiff",
    "regex",
    "serde",
    "serde_json",
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
