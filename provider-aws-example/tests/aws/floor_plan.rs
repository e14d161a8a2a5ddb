//! The floor plan of the plugin: the same files for each kind, no import circles, and few files to touch for a new service.

mod imports;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crossbridge_proto::v1alpha1::ListResourceKindsRequest;
use provider_aws_example::services;
use serde::Deserialize;
use serde_yaml_ng::Value;

use crate::fixture::Fixture;

/// The files that every kind has.
const KIND_FILES: [&str; 5] = ["create", "kind", "model", "read", "write"];

/// The file that kinds with operations have besides.
const OPERATION_FILE: &str = "operation";

/// How many files a new service may add, and how many it may edit.
const MAX_NEW_FILES: usize = 8;
const MAX_EDITED_FILES: usize = 5;

fn plugin_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn repository() -> PathBuf {
    plugin_folder().join("..")
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn documents(path: &Path) -> Vec<Value> {
    let text = text(path);
    serde_yaml_ng::Deserializer::from_str(&text)
        .map(|document| {
            Value::deserialize(document).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        })
        .collect()
}

/// Every object in the manifests of `examples/aws`.
fn examples() -> Vec<Value> {
    let folder = fs::read_dir(repository().join("examples/aws")).expect("a folder of examples");
    folder
        .flat_map(|entry| documents(&entry.expect("an entry").path()))
        .collect()
}

/// Group and kind of everything that the plugin serves.
async fn served_kinds() -> Vec<(String, String)> {
    let fixture = Fixture::new().await;
    let response = fixture
        .plugin()
        .list_resource_kinds(ListResourceKindsRequest::default())
        .await
        .expect("the kinds are listed")
        .into_inner();
    let types = response.kinds.into_iter();
    types
        .map(|kind| kind.resource_type.expect("a type"))
        .map(|kind| (kind.group, kind.kind))
        .collect()
}

#[test]
fn every_service_has_the_files_of_the_floor_plan() {
    for service in services::NAMES {
        let folder = plugin_folder().join("src/services").join(service);
        assert!(folder.with_extension("rs").is_file(), "{service}.rs");
        let stems: BTreeSet<String> = fs::read_dir(&folder)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").path())
            .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
            .collect();
        for file in KIND_FILES {
            assert!(
                folder.join(format!("{file}.rs")).is_file(),
                "{service} lacks {file}.rs"
            );
        }
        let known = |stem: &String| KIND_FILES.contains(&stem.as_str()) || stem == OPERATION_FILE;
        let unknown: Vec<&String> = stems.iter().filter(|stem| !known(stem)).collect();
        assert!(
            unknown.is_empty(),
            "{service}: {unknown:?} belong below one of {KIND_FILES:?} or {OPERATION_FILE:?}"
        );
    }
}

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let circles = imports::circles(&plugin_folder().join("src"));
    assert!(circles.is_empty(), "{circles:#?}");
}

#[tokio::test]
async fn every_served_group_is_deployed_and_has_an_example() {
    let served = served_kinds().await;
    assert!(served.len() >= services::NAMES.len(), "{served:?}");
    let deployed: Vec<String> = documents(&repository().join("deploy/bridge.yaml"))
        .iter()
        .filter(|document| document["kind"] == "ClusterRole")
        .flat_map(|role| role["rules"].as_sequence().cloned().unwrap_or_default())
        .flat_map(|rule| rule["apiGroups"].as_sequence().cloned().unwrap_or_default())
        .filter_map(|group| group.as_str().map(ToOwned::to_owned))
        .collect();
    let examples = examples();
    for (group, kind) in served {
        assert!(
            deployed.contains(&group),
            "deploy/bridge.yaml grants nothing on {group}"
        );
        let is_example = |object: &Value| {
            let version = object["apiVersion"].as_str().unwrap_or_default();
            version.split('/').next() == Some(group.as_str()) && object["kind"] == kind.as_str()
        };
        assert!(
            examples.iter().any(is_example),
            "examples/aws has no {kind} of {group}"
        );
    }
    // It runs every example, and fails for a served kind without one.
    let scenario = repository().join("tests/e2e/tests/scenarios/aws_examples.rs");
    assert!(text(&scenario).contains("examples/aws"), "{}", scenario.display());
}

/// The paths in the checklist of the README that follow this word.
fn checklist(word: &str) -> Vec<String> {
    let readme = text(&plugin_folder().join("README.md"));
    let prefix = format!("- [ ] {word} `");
    readme
        .lines()
        .filter_map(|line| line.strip_prefix(&prefix)?.split_once('`'))
        .map(|(path, _)| path.to_owned())
        .collect()
}

#[tokio::test]
async fn a_new_service_adds_eight_files_and_edits_five() {
    let (added, edited) = (checklist("add"), checklist("edit"));
    assert!(!added.is_empty() && added.len() <= MAX_NEW_FILES, "{added:?}");
    assert!(
        !edited.is_empty() && edited.len() <= MAX_EDITED_FILES,
        "{edited:?}"
    );
    for (group, kind) in served_kinds().await {
        let service = group.split('.').next().expect("a service").to_owned();
        let kind = kind.to_lowercase();
        for path in &added {
            let path = path.replace("SERVICE", &service).replace("KIND", &kind);
            assert!(
                repository().join(&path).is_file(),
                "{path} of the checklist does not exist"
            );
        }
        for path in &edited {
            let text = text(&repository().join(path));
            assert!(
                text.contains(&service),
                "{path} of the checklist does not mention {service}"
            );
        }
    }
}

#[test]
fn shared_code_mentions_no_service() {
    let source = plugin_folder().join("src");
    for path in imports::sources(&source) {
        let is_of_service = path.starts_with(source.join("services")) || path.ends_with("services.rs");
        let text = text(&path);
        for service in services::NAMES.iter().filter(|_| !is_of_service) {
            for word in [format!("aws_sdk_{service}"), format!("feature = \"{service}\"")] {
                assert!(!text.contains(&word), "{} contains {word}", path.display());
            }
        }
    }
}

#[test]
fn examples_hold_no_config_that_would_be_deleted_with_them() {
    for object in examples() {
        let version = object["apiVersion"].as_str().unwrap_or_default();
        let (group, _) = version.split_once('/').unwrap_or_default();
        let service = group.strip_suffix(".aws.crossbridge.dev");
        assert!(
            service.is_some_and(|service| services::NAMES.contains(&service)),
            "{group} {:?} belongs into examples/aws-config",
            object["kind"]
        );
    }
}

/// Words that YAML 1.1, and thus kubectl, reads as booleans, and YAML 1.2 as texts.
const BOOLEANS: [&str; 6] = ["y", "n", "yes", "no", "on", "off"];

#[test]
fn no_text_of_an_example_reads_as_a_boolean() {
    let folder = fs::read_dir(repository().join("examples/aws")).expect("a folder of examples");
    for entry in folder {
        let path = entry.expect("an entry").path();
        for line in text(&path).lines() {
            let value = line.split('#').next().unwrap_or_default().trim();
            let value = value.rsplit([' ', '[', ',', ']']).next().unwrap_or_default();
            let is_boolean = BOOLEANS.contains(&value.to_ascii_lowercase().as_str());
            assert!(!is_boolean, "{}: quote {value:?} in {line:?}", path.display());
        }
    }
}
