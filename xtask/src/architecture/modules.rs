//! The modules of a crate, and what each of them names of the others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

use super::tokens::{Token, tokens};

/// A path that stands in a module, as it is written: `["super", "record", "Record"]`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Written {
    path: Vec<String>,
    line: usize,
}

/// One source file: its child modules, and what it imports from where.
#[derive(Debug, Default, PartialEq, Eq)]
struct Module {
    children: BTreeSet<String>,
    /// What a name that is imported stands for.
    imports: BTreeMap<String, Vec<String>>,
    written: Vec<Written>,
}

/// The modules of a crate by their paths; the first has none: it is the crate.
#[derive(Debug, Default)]
pub(super) struct Modules(BTreeMap<Vec<String>, Module>);

/// Which modules a module names, and in which line first.
pub(super) type Imports = BTreeMap<String, BTreeMap<String, usize>>;

/// A re-export of a re-export of a re-export: more are not followed.
const FOLLOWED: usize = 8;

impl Modules {
    /// Reads the source of a crate, from its `lib.rs` on.
    pub(super) fn read(folder: &Path) -> io::Result<Self> {
        let mut modules = Self::default();
        modules.read_file(&folder.join("lib.rs"), folder, Vec::new())?;
        Ok(modules)
    }

    /// `folder` is where the children are.
    fn read_file(&mut self, file: &Path, folder: &Path, path: Vec<String>) -> io::Result<()> {
        let source = fs::read_to_string(file)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display())))?;
        let module = parse(&source);
        for child in &module.children {
            let within = folder.join(child);
            let alone = folder.join(format!("{child}.rs"));
            let file = if alone.exists() {
                alone
            } else {
                within.join("mod.rs")
            };
            let path = [path.as_slice(), std::slice::from_ref(child)].concat();
            self.read_file(&file, &within, path)?;
        }
        self.0.insert(path, module);
        Ok(())
    }

    #[cfg(test)]
    fn of(sources: &[(&str, &str)]) -> Self {
        let path = |name: &str| {
            name.split("::")
                .filter(|part| !part.is_empty())
                .map(str::to_owned)
                .collect()
        };
        Self(
            sources
                .iter()
                .map(|(name, source)| (path(name), parse(source)))
                .collect(),
        )
    }

    /// What each names of the others. That a module holds another is no import, and neither is that it shows what the other has.
    pub(super) fn imports(&self) -> Imports {
        let mut imports = Imports::new();
        for (from, module) in &self.0 {
            let named = imports.entry(name(from)).or_default();
            for written in &module.written {
                if let Some(to) = self
                    .resolve(from, &written.path, FOLLOWED)
                    .filter(|to| to != from)
                {
                    named.entry(name(&to)).or_insert(written.line);
                }
            }
        }
        imports
    }

    /// The module that holds what is meant; `None`: it is of another crate.
    fn resolve(&self, from: &[String], path: &[String], follow: usize) -> Option<Vec<String>> {
        let (mut at, mut rest) = match path.first()?.as_str() {
            "crate" => (Vec::new(), &path[1..]),
            "self" => (from.to_vec(), &path[1..]),
            "super" => (from[..from.len().checked_sub(1)?].to_vec(), &path[1..]),
            first if self.0.get(from)?.children.contains(first) => (from.to_vec(), path),
            _ => return None,
        };
        while rest.first().is_some_and(|first| first == "super") {
            at.pop()?;
            rest = &rest[1..];
        }
        while let Some(next) = rest.first() {
            let module = self.0.get(&at)?;
            if module.children.contains(next) {
                at.push(next.clone());
                rest = &rest[1..];
            } else if let Some(meant) = module.imports.get(next).filter(|_| follow > 0) {
                let path = [meant.as_slice(), &rest[1..]].concat();
                // What is of another crate is not followed further, but here it is shown.
                return Some(self.resolve(&at, &path, follow - 1).unwrap_or(at));
            } else {
                break;
            }
        }
        Some(at)
    }
}

fn name(path: &[String]) -> String {
    if path.is_empty() {
        "crate".to_owned()
    } else {
        path.join("::")
    }
}

fn parse(source: &str) -> Module {
    let tokens = tokens(source);
    let mut module = Module::default();
    let mut at = 0;
    while at < tokens.len() {
        let text = |place: usize| tokens.get(place).map_or("", |token| token.text.as_str());
        let follows_path = at > 0 && matches!(text(at - 1), "::" | "." | "in");
        match text(at) {
            "mod" if text(at + 2) == ";" => {
                module.children.insert(text(at + 1).to_owned());
                at += 3;
            }
            "use" => {
                let shown = at > 0 && matches!(text(at - 1), "pub" | ")");
                at = read_import(&tokens, at + 1, Vec::new(), shown, &mut module);
            }
            _ if tokens[at].is_word() && text(at + 1) == "::" && !follows_path => {
                let line = tokens[at].line;
                let mut path = vec![text(at).to_owned()];
                at += 1;
                while text(at) == "::" && tokens.get(at + 1).is_some_and(Token::is_word) {
                    path.push(text(at + 1).to_owned());
                    at += 2;
                }
                module.written.push(Written { path, line });
            }
            _ => at += 1,
        }
    }
    module
}

/// One tree of an import, from its first word on; gives the place after it. What is only shown to others (`pub use`) is no import of ours.
fn read_import(
    tokens: &[Token],
    mut at: usize,
    mut path: Vec<String>,
    shown: bool,
    module: &mut Module,
) -> usize {
    let text = |place: usize| tokens.get(place).map_or("", |token| token.text.as_str());
    let line = tokens.get(at).map_or(0, |token| token.line);
    loop {
        match text(at) {
            "{" => {
                at += 1;
                while !matches!(text(at), "}" | "") {
                    at = read_import(tokens, at, path.clone(), shown, module);
                    at += usize::from(text(at) == ",");
                }
                return at + 1;
            }
            "*" | "" => {
                at += 1;
                break;
            }
            "::" => at += 1,
            word => {
                path.push(word.to_owned());
                at += 1;
                if text(at) != "::" {
                    break;
                }
            }
        }
    }
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let mut known_as = path.last().cloned().unwrap_or_default();
    if text(at) == "as" {
        text(at + 1).clone_into(&mut known_as);
        at += 2;
    }
    if !shown {
        module.written.push(Written {
            path: path.clone(),
            line,
        });
    }
    module.imports.insert(known_as, path);
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imported(sources: &[(&str, &str)], from: &str) -> Vec<String> {
        Modules::of(sources).imports()[from].keys().cloned().collect()
    }

    #[test]
    fn imports_are_resolved_to_the_module_that_holds_the_item() {
        let sources = [
            ("", "mod a; mod b; mod c;"),
            (
                "a",
                "use crate::b::{self, Item}; use super::c::Other as Mine; use std::fmt;",
            ),
            ("b", "pub(crate) struct Item;"),
            ("c", "fn f() -> crate::b::Item { g() }"),
        ];
        assert_eq!(imported(&sources, "a"), ["b", "c"]);
        assert_eq!(imported(&sources, "c"), ["b"]);
        assert!(imported(&sources, "b").is_empty());
    }

    #[test]
    fn what_a_parent_only_shows_is_its_childs() {
        let sources = [
            ("", "mod a;"),
            ("a", "mod b; mod c; pub use b::Item; pub(crate) use c::f;"),
            ("a::b", "struct Item;"),
            ("a::c", "use super::Item; fn f() { super::g() }"),
        ];
        assert_eq!(imported(&sources, "a::c"), ["a", "a::b"]);
        assert!(imported(&sources, "a").is_empty());
    }

    #[test]
    fn a_child_that_is_named_by_its_parent_is_imported() {
        let sources = [("", "mod a; fn f() { a::g() }"), ("a", "")];
        assert_eq!(imported(&sources, "crate"), ["a"]);
    }

    #[test]
    fn the_reach_of_an_item_is_no_import() {
        let sources = [
            ("", "mod a;"),
            ("a", "mod b;"),
            ("a::b", "pub(in crate::a) struct Item; pub(super) fn f() {}"),
        ];
        assert!(imported(&sources, "a::b").is_empty());
    }
}
