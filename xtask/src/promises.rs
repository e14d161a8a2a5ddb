//! What the documents promise a newcomer, held against the files that decide it.

use std::fs;
use std::path::Path;

use serde_json::Value;

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What stands behind the name in the first line that begins with it: `go 1.26.0`, `requires-python = ">=3.11"`.
fn version(path: &str, name: &str) -> String {
    let text = text(path);
    let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
    let line = line.unwrap_or_else(|| panic!("{path} has no {name}"));
    let mut parts = line.trim_matches(|one: char| !one.is_ascii_digit()).split('.');
    let major = parts.next().unwrap_or_default();
    parts
        .next()
        .map_or(major.to_owned(), |minor| format!("{major}.{minor}"))
}

#[test]
fn the_readme_says_what_the_first_run_takes() {
    let readme = text("README.md");
    let (_, try_it) = readme.split_once("## Try it").unwrap();
    let (try_it, _) = try_it.split_once("\n## ").unwrap();
    let promised = [
        format!("Rust {}", version("Cargo.toml", "rust-version")),
        format!("Go {}", version("runtime-bridge/control-plane/go/go.mod", "go ")),
        format!(
            "Python {}",
            version("examples/python-plugin/pyproject.toml", "requires-python")
        ),
        format!("Node {}", version("sdk/typescript/package.json", "\"node\":")),
        // How long, how much, and what saves half of it.
        " minutes".to_owned(),
        " GB of disk".to_owned(),
        "`KUBEBUILDER_ASSETS`".to_owned(),
        "no kubectl".to_owned(),
    ];
    for promise in promised {
        assert!(try_it.contains(&promise), "no {promise:?} in:{try_it}");
    }
}

#[test]
fn no_rule_is_called_missed_that_a_test_detects() {
    for path in ["docs/reliability.md", "xtask/src/reliability.rs"] {
        let text = text(path);
        assert!(!text.contains("missed by a test"), "{path}");
        assert!(text.contains("of them detected by a test"), "{path}");
    }
}

/// Those of the function alone: they ask for 22 and run on 20, on which it is tested.
const ASKS_FOR_MORE: [&str; 2] = [
    "node_modules/@kubernetes-models/",
    "node_modules/kubernetes-models",
];

#[test]
fn what_is_installed_for_typescript_accepts_the_promised_node() {
    let promised = ">=20";
    for package in [
        "sdk/typescript/package.json",
        "examples/typescript-plugin/package.json",
        "examples/typescript-function/package.json",
        "runtime-bridge/src/new_plugin/scaffold/typescript/package.json",
    ] {
        let package: Value = serde_json::from_str(&text(package)).unwrap();
        assert_eq!(package["engines"]["node"], promised, "{}", package["name"]);
    }
    for lock in [
        "sdk/typescript",
        "examples/typescript-plugin",
        "examples/typescript-function",
    ] {
        let lock: Value = serde_json::from_str(&text(&format!("{lock}/package-lock.json"))).unwrap();
        for (name, package) in lock["packages"].as_object().unwrap() {
            let asked = package["engines"]["node"].as_str().unwrap_or_default();
            let is_known = ASKS_FOR_MORE.iter().any(|known| name.starts_with(known));
            assert!(is_known || accepts_20(asked), "{name} asks for Node {asked}");
        }
    }
}

/// Whether one of the ranges holds version 20: `>=18`, `^20.19.0`, `6.* || >= 10.*`, `18 || 20`.
fn accepts_20(ranges: &str) -> bool {
    ranges.split("||").any(|range| {
        let is_open = range.contains(">=") || range.trim().is_empty();
        let first = range.trim_matches(|one: char| !one.is_ascii_digit());
        let major: u32 = first.split('.').next().unwrap_or_default().parse().unwrap_or(0);
        major == 20 || is_open && major < 20
    })
}

#[test]
fn ranges_of_versions_are_understood() {
    for range in [
        "",
        ">=18",
        "^18.18.0 || ^20.9.0",
        "6.* || >= 10.*",
        "18 || 20 || >=22",
    ] {
        assert!(accepts_20(range), "{range}");
    }
    for range in [">=22", "^18.0.0", "^22.13.0 || >=24"] {
        assert!(!accepts_20(range), "{range}");
    }
}

#[test]
fn the_contract_says_who_limits_a_call_and_what_is_deleted() {
    let kind = text("proto/crossbridge/provider/v1alpha1/kind.proto");
    let (_, timeouts) = kind.split_once("\nmessage Timeouts {").unwrap();
    let (timeouts, _) = timeouts.split_once("\n}").unwrap();
    assert!(!timeouts.contains("override"), "no user can: {timeouts}");
    let service = text("proto/crossbridge/provider/v1alpha1/resource_service.proto");
    let (before, _) = service.split_once("\n  rpc Delete(").unwrap();
    let said = before
        .rsplit('}')
        .next()
        .unwrap_or_default()
        .replace("\n  //", "");
    assert!(
        said.contains("an unmarked one is deleted unless the kind has MARKER recovery"),
        "{said}"
    );
}

#[test]
fn no_scaffold_checks_what_its_sdk_checks() {
    // A copy of such a check in the scaffold had two limits of one length, of which one was dead.
    let folder = "runtime-bridge/src/new_plugin/scaffold";
    for kind in [
        "python/plugin.py",
        "go/plugin.go",
        "typescript/src/plugin.ts",
        "asynchronous/python/plugin.py",
        "asynchronous/go/plugin.go",
        "asynchronous/typescript/src/plugin.ts",
        "asynchronous/rust/src/main.rs",
    ] {
        let code = text(&format!("{folder}/{kind}")).to_lowercase();
        for check in [
            "check_name",
            "checkname",
            "max_length",
            "maxlength",
            "bytes at most",
        ] {
            assert!(!code.contains(check), "{kind} has {check}");
        }
    }
}
