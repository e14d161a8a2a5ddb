//! The imports between the modules of a crate, read off its sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A module by its path from the root of the crate; the root is empty.
type Module = Vec<String>;

/// Every source file below `folder`, unit tests left out.
pub fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if !path.ends_with("tests.rs") && !path.ends_with("main.rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The groups of modules below `source` that import each other, directly or through others.
pub fn circles(source: &Path) -> Vec<BTreeSet<Module>> {
    let texts: BTreeMap<Module, String> = sources(source)
        .into_iter()
        .map(|path| (module_of(source, &path), code_of(&path)))
        .collect();
    let modules: BTreeSet<Module> = texts.keys().cloned().collect();
    let imports: BTreeMap<Module, BTreeSet<Module>> = texts
        .iter()
        .map(|(module, code)| (module.clone(), imports_of(module, code, &modules)))
        .collect();
    let reachable: BTreeMap<&Module, BTreeSet<Module>> = imports
        .keys()
        .map(|module| (module, reachable_from(module, &imports)))
        .collect();
    let mut circles = BTreeSet::new();
    for (module, targets) in &reachable {
        if targets.contains(*module) {
            let members = targets
                .iter()
                .filter(|target| reachable[target].contains(*module));
            circles.insert(members.cloned().collect::<BTreeSet<Module>>());
        }
    }
    circles.into_iter().collect()
}

fn module_of(source: &Path, path: &Path) -> Module {
    let path = path
        .strip_prefix(source)
        .expect("below the source")
        .with_extension("");
    let parts = path.iter().map(|part| part.to_string_lossy().into_owned());
    parts.filter(|part| part != "lib").collect()
}

/// The code of a file without comments, visibilities and unit tests.
fn code_of(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a source");
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.map(without_visibility).collect::<Vec<String>>().join("\n")
}

fn without_visibility(line: &str) -> String {
    match line
        .split_once("pub(in ")
        .and_then(|(before, rest)| Some((before, rest.split_once(')')?.1)))
    {
        Some((before, after)) => format!("{before}{after}"),
        None => line.to_owned(),
    }
}

fn imports_of(module: &Module, code: &str, modules: &BTreeSet<Module>) -> BTreeSet<Module> {
    let children = modules
        .iter()
        .filter(|other| other.len() == module.len() + 1 && other.starts_with(module))
        .filter_map(|child| child.last());
    let mut paths = Vec::new();
    for start in children.map(String::as_str).chain(["crate", "super"]) {
        for (at, _) in code.match_indices(&format!("{start}::")) {
            let before = code[..at].chars().next_back();
            if before.is_none_or(|before| !before.is_alphanumeric() && !['_', ':'].contains(&before)) {
                expand(&mut Vec::new(), &code[at..], &mut paths);
            }
        }
    }
    let targets = paths
        .into_iter()
        .filter_map(|path| resolve(module, &path, modules));
    targets.filter(|target| target != module).collect()
}

/// Reads a path with nested braces, and adds every path that it stands for. Returns what follows it.
fn expand<'a>(prefix: &mut Module, text: &'a str, paths: &mut Vec<Module>) -> &'a str {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_alphanumeric() && c != '_')
        .unwrap_or(text.len());
    let (segment, mut rest) = text.split_at(end);
    prefix.push(segment.to_owned());
    if let Some(after) = rest.strip_prefix("::") {
        if let Some(mut list) = after.trim_start().strip_prefix('{') {
            loop {
                list = expand(prefix, list, paths).trim_start();
                list = list.strip_prefix(',').unwrap_or(list).trim_start();
                if let Some(after) = list.strip_prefix('}') {
                    rest = after;
                    break;
                }
                if list.is_empty() || !list.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
                    rest = list;
                    break;
                }
            }
        } else {
            rest = expand(prefix, after, paths);
        }
    } else {
        paths.push(prefix.clone());
    }
    prefix.pop();
    rest
}

/// The module that a path leads to: the longest one that it begins with.
fn resolve(module: &Module, path: &[String], modules: &BTreeSet<Module>) -> Option<Module> {
    let mut target = match path.first()?.as_str() {
        "crate" => Vec::new(),
        _ => module.clone(),
    };
    for segment in path.iter().skip_while(|segment| *segment == "crate") {
        if segment == "super" {
            target.pop();
        } else {
            target.push(segment.clone());
        }
    }
    while !modules.contains(&target) {
        target.pop()?;
    }
    Some(target)
}

fn reachable_from(module: &Module, imports: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<Module> {
    let mut reached = BTreeSet::new();
    let mut next: Vec<Module> = imports[module].iter().cloned().collect();
    while let Some(target) = next.pop() {
        if reached.insert(target.clone()) {
            next.extend(imports[&target].iter().cloned());
        }
    }
    reached
}

#[test]
fn a_circle_through_a_parent_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    fs::create_dir(folder.path().join("a")).expect("a folder");
    write("lib.rs", "mod a;\nmod b;\nuse a::{x::X, Y};\n");
    write("a.rs", "mod x;\nuse x::X;\n");
    write("a/x.rs", "use crate::b::Z;\n");
    write("b.rs", "struct Z;\n");
    assert!(circles(folder.path()).is_empty());
    write("b.rs", "use super::a::{\n    x::{X, W},\n};\n");
    let path = |text: &str| text.split("::").map(ToOwned::to_owned).collect::<Module>();
    assert_eq!(
        circles(folder.path()),
        [BTreeSet::from([path("a::x"), path("b")])]
    );
}
