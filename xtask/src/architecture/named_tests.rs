//! Tables that name tests: each test that they name exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use super::root;
use super::targets::sources;

const PAGES: [&str; 2] = ["SECURITY.md", "docs/usability.md"];

/// Where the tests of the workspace are.
const FOLDERS: [&str; 7] = [
    "examples",
    "proto",
    "provider-aws-example",
    "runtime-bridge",
    "sdk/rust",
    "tests",
    "xtask",
];

/// What a table names between backticks as `program module::test` or `program test`; behind an ellipsis its end alone.
fn named(page: &str) -> BTreeSet<String> {
    let quoted = page
        .lines()
        .filter(|line| line.starts_with('|'))
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    let mut names = BTreeSet::new();
    for text in quoted {
        // The first word names the program; where it is left out, it is that of the line before.
        let test = text.rsplit(' ').next().unwrap_or(text);
        let is_test = test.contains("::") || text.split(' ').count() == 2 && test.matches('_').count() > 2;
        let name = test.rsplit("::").next().unwrap_or(test).trim_start_matches('…');
        let is_name = name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte.is_ascii_digit());
        if is_test && is_name && !name.is_empty() {
            names.insert(name.to_owned());
        }
    }
    names
}

fn functions(source: &Path) -> Vec<String> {
    let text = fs::read_to_string(source).unwrap();
    let after = text.split("fn ").skip(1);
    let name = |rest: &str| rest.split(['(', '<']).next().unwrap_or_default().to_owned();
    after.map(name).collect()
}

#[test]
fn every_test_that_a_document_names_exists() {
    let root = root();
    let mut files = BTreeSet::new();
    for folder in FOLDERS {
        sources(&root.join(folder), &mut files);
    }
    let functions: BTreeSet<String> = files.iter().flat_map(|file| functions(file)).collect();
    for page in PAGES {
        let names = named(&fs::read_to_string(root.join(page)).unwrap());
        assert!(names.len() > 40, "{page} names {} tests", names.len());
        let missing: Vec<&String> = names
            .iter()
            .filter(|name| !functions.iter().any(|function| function.ends_with(name.as_str())))
            .collect();
        assert!(
            missing.is_empty(),
            "{page} names tests that do not exist: {missing:?}"
        );
    }
}
