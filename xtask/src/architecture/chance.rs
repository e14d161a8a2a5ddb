//! Chance has one source in each crate that acts: what a simulation seeds is then all that it has to seed. `select!` draws which branch is asked
//! first unless it is `biased`, and draws it from nothing that can be seeded.

use std::fs;
use std::path::{Path, PathBuf};

use super::root;
use super::tokens::tokens;

const ACTING: [&str; 3] = [
    "runtime-bridge/engine/src",
    "runtime-bridge/function/src",
    "runtime-bridge/plugin/src",
];
/// What else the simulation runs.
const SERVING: [&str; 3] = [
    "runtime-bridge/src/compositions",
    "runtime-bridge/src/plugins",
    "runtime-bridge/src/serve",
];
/// The module of each crate that may name them.
const SOURCE: &str = "random";
const GENERATORS: [&str; 3] = ["fastrand", "rand", "uuid"];

fn files_in(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if name == SOURCE || name == "tests" || name.ends_with("_tests") {
            continue;
        }
        if path.is_dir() {
            files_in(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// The files of these folders in which such tokens are found.
fn files_with(folders: &[&str], found: impl Fn(&[&str]) -> bool) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in folders {
        files_in(&root().join(folder), &mut files);
    }
    assert!(files.len() > 100, "the sources are somewhere else now");
    files.retain(|file| {
        let tokens = tokens(&fs::read_to_string(file).unwrap());
        let tokens: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
        found(&tokens)
    });
    files
}

#[test]
fn chance_is_drawn_in_one_module_of_each_crate() {
    let files = files_with(&ACTING, |tokens| {
        let draws = |two: &[&str]| GENERATORS.contains(&two[0]) && two[1] == "::";
        tokens.windows(2).any(draws)
    });
    assert!(files.is_empty(), "draw it in the module {SOURCE}: {files:?}");
}

#[test]
fn the_branches_of_a_select_are_asked_in_a_fixed_order() {
    let files = files_with(&[ACTING, SERVING].concat(), |tokens| {
        let is_drawn = |four: &[&str]| four[..3] == ["select", "!", "{"] && four[3] != "biased";
        tokens.windows(4).any(is_drawn)
    });
    assert!(files.is_empty(), "say `biased;` first: {files:?}");
}
