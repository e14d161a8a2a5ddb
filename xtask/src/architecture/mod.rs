//! What of the architecture a test can check: no module imports one that imports it, the decisions depend on nothing that acts, and no test is left out.

mod chance;
mod circles;
mod dependencies;
mod modules;
mod named_tests;
mod reasons;
mod targets;
mod tests_of;
mod tokens;

use std::path::{Path, PathBuf};
use std::process::Command;

use circles::{circles, way_round};
use modules::Modules;
use serde_json::Value;
pub(crate) use tokens::literals;

/// Crates whose modules must not import each other in circles.
const CRATES: [(&str, &str); 7] = [
    ("bridge-core", "runtime-bridge/core"),
    ("bridge-engine", "runtime-bridge/engine"),
    ("bridge-function", "runtime-bridge/function"),
    ("bridge-plugin", "runtime-bridge/plugin"),
    ("bridge-transport", "runtime-bridge/transport"),
    ("crossbridge-sdk", "sdk/rust"),
    ("provider-aws-example", "provider-aws-example"),
];
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The workspace as `cargo metadata` reports it.
fn metadata() -> Value {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--format-version=1",
            "--no-deps",
            "--locked",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let mut found = String::new();
    for (of, folder) in CRATES {
        let imports = Modules::read(&root().join(folder).join("src")).unwrap().imports();
        for circle in circles(&imports) {
            let modules: Vec<&str> = circle.iter().map(String::as_str).collect();
            found += &format!("  {of}: {}\n{}", modules.join(" "), way_round(&imports, &circle));
        }
    }
    assert!(found.is_empty(), "modules import each other in circles:\n{found}");
}

#[test]
fn steps_of_the_machine_call_no_other_step() {
    const STEPS: &str = "managed::steps::";
    let imports = Modules::read(&root().join("runtime-bridge/core/src"))
        .unwrap()
        .imports();
    let steps: Vec<&String> = imports
        .keys()
        .filter(|module| module.starts_with(STEPS))
        .collect();
    assert!(!steps.is_empty(), "the steps are somewhere else now");
    for step in steps {
        let called = imports[step].keys().find(|other| other.starts_with(STEPS));
        assert_eq!(called, None, "{step} calls another step");
    }
    let list = |module: &&String| imports[*module].keys().any(|other| other.starts_with(STEPS));
    let lists: Vec<&String> = imports.keys().filter(list).collect();
    assert_eq!(lists, ["managed::decide"], "what else puts steps in an order?");
}
