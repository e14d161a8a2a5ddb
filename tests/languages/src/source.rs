//! Folders and files: where they are, whether they changed, copies of them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use crate::BuildError;

/// What building leaves in a plugin's folder.
const BUILD_OUTPUTS: [&str; 12] = [
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".venv",
    "_proto",
    "build",
    "contract",
    "dist",
    "node_modules",
    "__pycache__",
    "target",
    "plugin",
];

/// The root of the repository, from the manifest of this crate.
pub(crate) fn repository() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// The folder of what this binary was built with.
fn profile() -> PathBuf {
    let binary = std::env::current_exe().unwrap_or_default();
    let folder = binary.parent().unwrap_or(&binary);
    // target/PROFILE/deps/TEST, or target/PROFILE/BINARY
    let folder = if folder.ends_with("deps") {
        folder.parent()
    } else {
        Some(folder)
    };
    folder.map(Path::to_owned).unwrap_or_default()
}

/// Cargo's target folder, which holds the profiles.
pub fn target() -> PathBuf {
    profile().parent().map(Path::to_owned).unwrap_or_default()
}

/// A binary of this workspace, built beside this one: `cargo xtask test` builds them first.
///
/// # Panics
/// If it is absent.
pub fn binary(name: &str) -> PathBuf {
    let path = profile().join(name);
    assert!(
        path.exists(),
        "{} is not built; run `cargo build --bin {name}` first",
        path.display()
    );
    path
}

pub(crate) fn read(path: impl AsRef<Path>) -> Result<String, BuildError> {
    let path = path.as_ref();
    fs::read_to_string(path).map_err(BuildError::file(path))
}

/// Of the names and contents of all files.
pub(crate) fn digest(roots: &[&Path]) -> Result<String, BuildError> {
    let mut hash = Sha256::new();
    for root in roots {
        for file in files(root, &BUILD_OUTPUTS)? {
            // Joined with nothing, a file's path would end like a folder's.
            let path = if file.as_os_str().is_empty() {
                root.to_path_buf()
            } else {
                root.join(&file)
            };
            let content = fs::read(&path).map_err(BuildError::file(&path))?;
            hash.update(file.as_os_str().as_encoded_bytes());
            hash.update(content.len().to_le_bytes());
            hash.update(content);
        }
    }
    Ok(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Synchronises `to` with `from`, save for the kept entries.
pub(crate) fn mirror(from: &Path, to: &Path, kept: &[&str]) -> Result<(), BuildError> {
    for old in entries(to).unwrap_or_default() {
        let is_kept = old
            .file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| kept.contains(&name));
        if is_kept {
            continue;
        }
        let removed = if old.is_dir() {
            fs::remove_dir_all(&old)
        } else {
            fs::remove_file(&old)
        };
        removed.map_err(BuildError::file(&old))?;
    }
    for file in files(from, &BUILD_OUTPUTS)? {
        let copy = to.join(&file);
        let folder = copy.parent().unwrap_or(to);
        fs::create_dir_all(folder).map_err(BuildError::file(folder))?;
        fs::copy(from.join(&file), &copy).map_err(BuildError::file(&copy))?;
    }
    Ok(())
}

/// All files below, by their paths from there, sorted; of a file, itself.
fn files(root: &Path, but: &[&str]) -> Result<Vec<PathBuf>, BuildError> {
    if root.is_file() {
        return Ok(vec![PathBuf::new()]);
    }
    let mut found = Vec::new();
    for entry in entries(root)? {
        let name = entry.file_name().map(PathBuf::from).unwrap_or_default();
        let is_output = |name: &str| {
            // A binary has this name, and a folder of source may.
            (but.contains(&name) && !(name == "plugin" && entry.is_dir())) || name.ends_with(".egg-info")
        };
        if name.to_str().is_some_and(is_output) {
            continue;
        }
        if entry.is_dir() {
            found.extend(files(&entry, but)?.into_iter().map(|file| name.join(file)));
        } else {
            found.push(name);
        }
    }
    found.sort();
    Ok(found)
}

pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, BuildError> {
    fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .map_err(BuildError::file(folder))
}

#[cfg(test)]
mod tests {
    use bridge_control_plane::process::ScratchDir;

    use super::{digest, mirror};

    #[test]
    fn a_mirror_equals_its_source_but_for_kept_files() {
        let folder = ScratchDir::new("crossbridge-source-").expect("a folder");
        let write = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("it is created");
            std::fs::write(path, text).expect("it is written");
        };
        let read = |path: &str| std::fs::read_to_string(folder.path().join(path)).ok();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        write("from/src/a", "a");
        write("from/node_modules/x", "not ours");
        write("to/node_modules/x", "kept");
        write("to/src/old", "old");
        mirror(&from, &to, &["node_modules"]).expect("a copy");
        assert_eq!(
            [read("to/src/a"), read("to/src/old"), read("to/node_modules/x")],
            [Some("a".to_owned()), None, Some("kept".to_owned())]
        );
        let before = digest(&[&from]).expect("a digest");
        write("from/node_modules/x", "changed");
        assert_eq!(
            digest(&[&from]).expect("a digest"),
            before,
            "what is built does not count"
        );
        write("from/src/a", "b");
        assert_ne!(digest(&[&from]).expect("a digest"), before);
    }
}
