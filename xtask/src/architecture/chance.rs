//! Chance has one source in each crate that acts: what a simulation seeds is then all that it has to seed.

use std::fs;
use std::path::{Path, PathBuf};

use super::root;
use super::tokens::tokens;

const SOURCES: [&str; 3] = [
    "runtime-bridge/engine/src",
    "runtime-bridge/function/src",
    "runtime-bridge/plugin/src",
];
/// The module of each crate that may name them.
const SOURCE: &str = "random";
const GENERATORS: [&str; 3] = ["fastrand", "rand", "uuid"];

fn drawn_in(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if name == SOURCE || name == "tests" || name.ends_with("_tests") {
            continue;
        }
        if path.is_dir() {
            drawn_in(&path, files);
            continue;
        }
        let tokens = tokens(&fs::read_to_string(&path).unwrap());
        let is_drawn = tokens
            .windows(2)
            .any(|two| GENERATORS.contains(&two[0].text.as_str()) && two[1].text == "::");
        files.extend(is_drawn.then_some(path));
    }
}

#[test]
fn chance_is_drawn_in_one_module_of_each_crate() {
    let mut files = Vec::new();
    for folder in SOURCES {
        drawn_in(&root().join(folder), &mut files);
    }
    assert!(files.is_empty(), "draw it in the module {SOURCE}: {files:?}");
}
