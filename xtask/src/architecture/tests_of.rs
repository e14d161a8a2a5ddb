//! The tests of a target, each with the modules that it stands in.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::tokens::{Token, read};

/// The path of each test below a file, as `cargo test -- --list` prints it.
pub(super) fn tests_of(file: &Path) -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    let file = Module {
        file: file.to_owned(),
        folder: file.parent().unwrap().to_owned(),
        path: Vec::new(),
    };
    file.read(&mut tests);
    tests
}

/// A file, the folder of its modules, and the modules that lead to it.
struct Module {
    file: PathBuf,
    folder: PathBuf,
    path: Vec<String>,
}

impl Module {
    fn read(&self, tests: &mut BTreeSet<String>) {
        let Ok(source) = fs::read_to_string(&self.file) else {
            return;
        };
        let (found, children) = contents(&read(&source));
        let whole = |path: &[String]| [&self.path, path].concat();
        tests.extend(found.iter().map(|test| whole(test).join("::")));
        for Child { path, elsewhere } in children {
            let module = |file: PathBuf, folder: PathBuf| Module {
                file,
                folder,
                path: whole(&path),
            };
            if let Some(file) = elsewhere {
                let file = self.file.parent().unwrap().join(file);
                let folder = file.parent().unwrap().to_owned();
                module(file, folder).read(tests);
                continue;
            }
            let folder = self.folder.join(path.iter().collect::<PathBuf>());
            module(folder.with_extension("rs"), folder.clone()).read(tests);
            module(folder.join("mod.rs"), folder).read(tests);
        }
    }
}

/// `mod name;`, in the modules that are written around it.
struct Child {
    path: Vec<String>,
    /// What `#[path = "…"]` says.
    elsewhere: Option<String>,
}

/// The tests of a file, and its modules in other files.
fn contents(tokens: &[Token]) -> (Vec<Vec<String>>, Vec<Child>) {
    let (mut tests, mut children) = (Vec::new(), Vec::new());
    // The modules around, each with the depth of its braces.
    let (mut around, mut depth): (Vec<(usize, String)>, usize) = (Vec::new(), 0);
    let (mut is_test, mut elsewhere) = (false, None);
    let text = |at: usize| tokens.get(at).map_or("", |token| token.text.as_str());
    let within = |around: &[(usize, String)], name: &str| {
        let modules = around.iter().map(|(_, module)| module.as_str());
        modules.chain([name]).map(str::to_owned).collect::<Vec<_>>()
    };
    for at in 0..tokens.len() {
        match (text(at), text(at + 1), text(at + 2)) {
            ("{", ..) => depth += 1,
            ("}", ..) => {
                depth = depth.saturating_sub(1);
                around.retain(|(outside, _)| *outside < depth);
            }
            // `#[test]`, `#[tokio::test(…)]`
            ("[" | "::", "test", "]" | "(") => is_test = true,
            // `#[path = "other.rs"]`
            ("[", "path", "=") => elsewhere = Some(text(at + 3).trim_matches('"').to_owned()),
            ("mod", name, "{") => around.push((depth, name.to_owned())),
            ("mod", name, ";") => children.push(Child {
                path: within(&around, name),
                elsewhere: elsewhere.take(),
            }),
            ("fn", name, _) if is_test => {
                tests.push(within(&around, name));
                is_test = false;
            }
            _ => {}
        }
    }
    (tests, children)
}

#[test]
fn tests_are_read_with_their_modules() {
    let source = "
        mod elsewhere; mod a { fn f() { let path = f; } #[test] fn in_a() { loop {} } mod b { mod c; #[tokio::test(x = 1)] async fn in_b() {} } }
        #[cfg(test)] #[path = \"x.rs\"] mod tests; #[test] #[ignore] fn outside() {} fn no_test() {}";
    let (tests, children) = contents(&read(source));
    let joined = |paths: &[Vec<String>]| paths.iter().map(|path| path.join("::")).collect::<Vec<_>>();
    assert_eq!(joined(&tests), ["a::in_a", "a::b::in_b", "outside"]);
    let paths: Vec<_> = children.iter().map(|child| child.path.clone()).collect();
    assert_eq!(joined(&paths), ["elsewhere", "a::b::c", "tests"]);
    assert_eq!(children[2].elsewhere.as_deref(), Some("x.rs"));
}
