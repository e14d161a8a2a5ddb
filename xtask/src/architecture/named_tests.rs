//! Tables that name tests: each test that they name exists, in the program and the module that they say.

use std::collections::BTreeSet;
use std::fs;

use super::root;
use super::targets::crates;
use super::tests_of::tests_of;

const SECURITY: &str = "SECURITY.md";
const USABILITY: &str = "docs/usability.md";

/// A library's crate for its unit tests, else the folder or file in `tests`; and the paths of its tests.
type Program = (String, BTreeSet<String>);

fn programs() -> Vec<Program> {
    let targets = crates().into_iter().flat_map(|(_, targets)| targets);
    targets
        .filter(|target| target.is_tested)
        .map(|target| {
            let tests = tests_of(&target.file);
            (target.name, tests)
        })
        .collect()
}

/// What stands between backticks in the last cell of a row.
fn quoted(row: &str) -> impl Iterator<Item = &str> {
    let last = row.trim_end().trim_end_matches('|').rsplit('|').next();
    last.unwrap_or_default().split('`').skip(1).step_by(2)
}

/// `program module::test`, `program test` or `program module::*`; `module::test` where one program alone has it.
fn as_test(quoted: &str) -> Option<(Option<&str>, &str)> {
    let (program, test) = match quoted.split_once(' ') {
        Some((program, test)) => (Some(program), test),
        None => (None, quoted),
    };
    let is_name = |text: &str, marks: &str| {
        text.chars()
            .all(|one| one.is_ascii_lowercase() || one.is_ascii_digit() || marks.contains(one))
    };
    let is_path = test.contains("::") || program.is_some() && test.contains('_');
    (is_path && is_name(program.unwrap_or_default(), "_") && is_name(test, "_:*")).then_some((program, test))
}

/// The outermost modules may be left out, and those that hold nothing but tests.
fn is_meant(path: &str, named: &str) -> bool {
    let path: Vec<&str> = path.split("::").filter(|module| *module != "tests").collect();
    if let Some(modules) = named.strip_suffix("::*") {
        let modules: Vec<&str> = modules.split("::").collect();
        return path[..path.len() - 1].ends_with(&modules);
    }
    let named: Vec<&str> = named.split("::").collect();
    path == named || named.len() > 1 && path.ends_with(&named)
}

/// What is wrong with a test that a document names.
fn mistake(programs: &[Program], quoted: &str) -> Option<String> {
    let Some((program, test)) = as_test(quoted) else {
        let looks_like_one = quoted.contains("::") || quoted.contains('…');
        return looks_like_one.then(|| format!("`{quoted}` is no `program module::test`"));
    };
    let has_it = |(name, tests): &&Program| {
        program.is_none_or(|program| name == program) && tests.iter().any(|path| is_meant(path, test))
    };
    match programs.iter().filter(has_it).count() {
        1 => None,
        0 => Some(format!("`{quoted}` does not exist")),
        several => Some(format!("`{quoted}` is in {several} programs")),
    }
}

#[test]
fn every_test_that_a_document_names_exists() {
    let programs = programs();
    for page in [SECURITY, USABILITY] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let rows = text.lines().filter(|line| line.starts_with('|'));
        let quoted: Vec<&str> = rows.flat_map(quoted).collect();
        let named = quoted.iter().filter_map(|text| as_test(text)).count();
        assert!(named > 40, "{page} names {named} tests");
        let mistakes: Vec<String> = quoted
            .iter()
            .filter_map(|text| mistake(&programs, text))
            .collect();
        assert!(mistakes.is_empty(), "{page}: {mistakes:#?}");
    }
}

#[test]
fn every_finding_of_users_has_a_test() {
    let text = fs::read_to_string(root().join(USABILITY)).unwrap();
    let is_row = |line: &&str| line.starts_with("| ") && !line.contains("shown by");
    let rows: Vec<&str> = text.lines().filter(is_row).collect();
    let has_test = |row: &str| quoted(row).any(|text| as_test(text).is_some());
    let bare: Vec<&&str> = rows.iter().filter(|row| !has_test(row)).collect();
    assert!(bare.is_empty(), "{USABILITY} names no test beside {bare:#?}");
}

#[test]
fn a_wrong_program_or_module_is_a_mistake() {
    let tests = ["a::b::tests::it_holds", "on_top", "c::it_does"].map(str::to_owned);
    let program = |name: &str, tests: &[String]| (name.to_owned(), tests.iter().cloned().collect());
    let programs = [
        program("one", &tests[..2]),
        program("two", &[]),
        program("two", &tests[1..2]),
        program("three", &tests[2..]),
        program("twice", &tests[..2]),
        program("twice", &tests[..2]),
    ];
    for right in [
        "one b::it_holds",
        "one a::b::it_holds",
        "one on_top",
        "two on_top",
        "one a::b::*",
        "c::it_does",
        "dev --watch",
        "examples/",
    ] {
        assert_eq!(mistake(&programs, right), None, "{right}");
    }
    for wrong in [
        "two b::it_holds",
        "one a::it_holds",
        "one it_holds",
        "one holds_it",
        "one b::…it_holds",
        "b::it_holds",
        "three on_top",
        "four on_top",
        "one a_b::*",
        "twice on_top",
    ] {
        assert!(mistake(&programs, wrong).is_some(), "{wrong}");
    }
}
