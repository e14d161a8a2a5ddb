//! What a merged suite of tests can lose without a word: a file that no `mod` names, and a test in a target that runs none.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::metadata;
use super::tokens::{Token, read};

pub(super) struct Target {
    /// As a Rust name: the library's crate, the folder of tests.
    pub(super) name: String,
    pub(super) file: PathBuf,
    pub(super) is_tested: bool,
    shows_examples: bool,
}

/// The folder of each crate of the workspace, and what is built of it.
pub(super) fn crates() -> Vec<(PathBuf, Vec<Target>)> {
    let text = |value: &Value| PathBuf::from(value.as_str().unwrap());
    let target = |target: &Value| Target {
        name: target["name"].as_str().unwrap().replace('-', "_"),
        file: text(&target["src_path"]),
        is_tested: target["test"] == true || target["kind"][0] == "custom-build",
        shows_examples: target["doctest"] == true,
    };
    let packages = metadata();
    let packages = packages["packages"].as_array().unwrap().iter();
    packages
        .map(|package| {
            let targets = package["targets"].as_array().unwrap().iter().map(target);
            let manifest = text(&package["manifest_path"]);
            (manifest.parent().unwrap().to_owned(), targets.collect())
        })
        .collect()
}

/// The file and those of its modules, on and on.
fn read_with_modules(file: &Path, folder: &Path, files: &mut BTreeSet<PathBuf>) {
    if !file.exists() || !files.insert(file.to_owned()) {
        return;
    }
    let tokens = tokens_of(file);
    for child in children(&tokens) {
        let within = folder.join(&child);
        read_with_modules(&folder.join(format!("{child}.rs")), &within, files);
        read_with_modules(&within.join("mod.rs"), &within, files);
    }
    let here = file.parent().unwrap();
    for path in elsewhere(&tokens) {
        let file = here.join(path);
        read_with_modules(&file, file.parent().unwrap(), files);
    }
}

fn tokens_of(file: &Path) -> Vec<Token> {
    read(&fs::read_to_string(file).unwrap())
}

fn children(tokens: &[Token]) -> Vec<String> {
    let children = tokens
        .windows(3)
        .filter(|three| three[0].text == "mod" && three[2].text == ";");
    children.map(|three| three[1].text.clone()).collect()
}

/// `#[path = "other.rs"] mod tests;`
fn elsewhere(tokens: &[Token]) -> Vec<String> {
    let paths = tokens
        .windows(3)
        .filter(|three| three[0].text == "path" && three[1].text == "=");
    paths
        .map(|three| three[2].text.trim_matches('"').to_owned())
        .collect()
}

/// Templates of other programs: what `new-plugin` makes of them is built by tests of `bridge-languages`.
const TEMPLATES: &str = "src/new_plugin/scaffold";

fn sources(folder: &Path, files: &mut BTreeSet<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with(TEMPLATES) {
                sources(&path, files);
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.insert(path);
        }
    }
}

#[test]
fn every_source_file_is_part_of_a_target() {
    let (mut all, mut named) = (BTreeSet::new(), BTreeSet::new());
    for (folder, targets) in crates() {
        sources(&folder.join("src"), &mut all);
        sources(&folder.join("tests"), &mut all);
        for target in &targets {
            read_with_modules(&target.file, target.file.parent().unwrap(), &mut named);
        }
    }
    let lost: Vec<_> = all.difference(&named).collect();
    assert!(lost.is_empty(), "no module names these files: {lost:#?}");
}

#[test]
fn a_target_without_tests_has_none() {
    let mut lost = Vec::new();
    for (_, targets) in crates() {
        let mut tested = BTreeSet::new();
        for target in targets.iter().filter(|target| target.is_tested) {
            read_with_modules(&target.file, target.file.parent().unwrap(), &mut tested);
        }
        for target in targets.iter().filter(|target| !target.is_tested) {
            let mut files = BTreeSet::new();
            read_with_modules(&target.file, target.file.parent().unwrap(), &mut files);
            lost.extend(
                files
                    .into_iter()
                    .filter(|file| !tested.contains(file) && has_tests(file)),
            );
        }
    }
    assert!(
        lost.is_empty(),
        "`test = false` leaves out the tests of {lost:#?}"
    );
}

#[test]
fn a_library_without_doc_tests_has_no_examples() {
    let mut lost = Vec::new();
    for (_, targets) in crates() {
        for target in targets
            .iter()
            .filter(|target| target.file.ends_with("src/lib.rs") && !target.shows_examples)
        {
            let mut files = BTreeSet::new();
            read_with_modules(&target.file, target.file.parent().unwrap(), &mut files);
            lost.extend(
                files
                    .into_iter()
                    .filter(|file| has_examples(&fs::read_to_string(file).unwrap())),
            );
        }
    }
    assert!(
        lost.is_empty(),
        "`doctest = false` leaves out the examples of {lost:#?}"
    );
}

/// Code that rustdoc would run: in a fence of a comment that names no other language.
fn has_examples(source: &str) -> bool {
    let fences = source.lines().filter_map(|line| {
        let line = line.trim_start();
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
        comment.trim_start().strip_prefix("```")
    });
    // Every other fence ends what the one before begins.
    let mut begun = fences.step_by(2);
    begun.any(|language| {
        let first = language.split(',').next().unwrap_or_default().trim();
        ["", "rust", "no_run", "should_panic", "compile_fail"].contains(&first)
    })
}

#[test]
fn examples_of_other_languages_are_none() {
    assert!(has_examples("/// ```\n/// f();\n/// ```"));
    assert!(has_examples("//! ```no_run\n//! ```"));
    assert!(!has_examples("//! ```yaml\n//! ```\nfn f() {}"));
}

fn has_tests(file: &Path) -> bool {
    let tokens = tokens_of(file);
    tokens.windows(3).any(|three| {
        matches!(three[0].text.as_str(), "[" | "::")
            && three[1].text == "test"
            && matches!(three[2].text.as_str(), "]" | "(")
    })
}
