//! The copy that is changed, with what is built already.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry, File};
use std::io;
use std::path::{Path, PathBuf};

use bridge_control_plane::process::Spawn;

use crate::Failure;
use crate::run::output;

use super::failed;

/// A copy of what is edited here, always at the same place, so that it is not built anew each time. What an interrupted run left changed is put
/// right. `units`: the folders of crates whose unit tests are chosen alone.
pub(super) async fn copy(root: &Path, tree: &Path, units: &[(&str, &str)]) -> Result<(), Failure> {
    let list = Spawn::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root);
    let names = output(list).await?;
    let listed = tree.with_extension("txt");
    let before = fs::read_to_string(&listed).unwrap_or_default();
    let there: BTreeSet<&str> = names.lines().filter(|name| root.join(name).is_file()).collect();
    for gone in before.lines().filter(|name| !there.contains(name)) {
        let gone = tree.join(gone);
        fs::remove_file(&gone).map_err(|error| failed(&gone, &error))?;
    }
    for name in &there {
        let from = root.join(name);
        let mut content = fs::read(&from).map_err(|error| failed(&from, &error))?;
        if let Some((_, package)) = units.iter().find(|(folder, _)| is_manifest(name, folder)) {
            content.extend(as_target(package).into_bytes());
        }
        put(&tree.join(name), &content)?;
    }
    let names: Vec<&str> = there.into_iter().collect();
    fs::write(&listed, names.join("\n")).map_err(|error| failed(&listed, &error))
}

fn is_manifest(name: &str, folder: &str) -> bool {
    name.strip_prefix(folder) == Some("/Cargo.toml")
}

/// Unit tests as a test program with a name. Cargo gives dependencies the features that the chosen crates ask for: only with the whole workspace
/// chosen does it take what is built, and then `--lib` would choose the unit tests of every crate.
fn as_target(package: &str) -> String {
    format!(
        "\n[[test]]\nname = \"{}\"\npath = \"src/lib.rs\"\n",
        unit(package)
    )
}

/// The name of the program with the unit tests of a crate, in the copy.
pub(super) fn unit(package: &str) -> String {
    format!("{package}-unit")
}

/// What is the same stays as old as it is.
fn put(to: &Path, content: &[u8]) -> Result<(), Failure> {
    if fs::read(to).is_ok_and(|there| there == content) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    }
    fs::write(to, content).map_err(|error| failed(to, &error))
}

/// Gives the copy's new target folder the dependencies that the workspace has built: cargo takes them where compiler and features are the
/// same. Libraries are linked, as the compiler replaces and never rewrites them; what cargo rewrites is copied, as old as it is.
pub(super) fn warm(built: &Path, target: &Path) -> Result<(), Failure> {
    let (from, to) = (built.join("debug"), target.join("debug"));
    if to.exists() || !from.exists() {
        return Ok(());
    }
    // Whole or not at all.
    let new = target.join("debug.new");
    if new.exists() {
        fs::remove_dir_all(&new).map_err(|error| failed(&new, &error))?;
    }
    for folder in [".fingerprint", "build", "deps"] {
        copy_folder(&from.join(folder), &new.join(folder)).map_err(|error| failed(&from, &error))?;
    }
    fs::rename(&new, &to).map_err(|error| failed(&to, &error))
}

fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to)?;
        } else {
            copy_built(&entry, &to)?;
        }
    }
    Ok(())
}

fn copy_built(entry: &DirEntry, to: &Path) -> io::Result<()> {
    let from = entry.path();
    let kind = from
        .extension()
        .and_then(|kind| kind.to_str())
        .unwrap_or_default();
    match kind {
        "rlib" | "rmeta" | "so" | "dylib" => {
            if fs::hard_link(&from, to).is_err() {
                copy_as_old(&from, to)?;
            }
        }
        _ if is_program_of_tests(&from) => {}
        _ => copy_as_old(&from, to)?,
    }
    Ok(())
}

/// Members' programs and intermediate objects, large and of no use to the copy.
fn is_program_of_tests(path: &Path) -> bool {
    let of_deps = path.parent().is_some_and(|folder| folder.ends_with("deps"));
    of_deps && path.extension().is_none_or(|kind| kind != "d")
}

fn copy_as_old(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    let modified = fs::metadata(from)?.modified()?;
    File::options().append(true).open(to)?.set_modified(modified)
}

/// Where cargo-mutants writes its results: what is read at the end must be of this run.
pub(super) fn empty_results(folder: &Path) -> Result<PathBuf, Failure> {
    let results = folder.join("mutants.out");
    if results.exists() {
        fs::remove_dir_all(&results).map_err(|error| failed(&results, &error))?;
    }
    fs::create_dir_all(folder).map_err(|error| failed(folder, &error))?;
    Ok(results)
}
