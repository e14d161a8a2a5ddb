//! Collects scaffolds, an example and a manifest as templates for `new-plugin`: what is tested is what is given out.

use std::{
    env,
    error::Error,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

const SOURCES: [&str; 3] = [
    "deploy/bridge.yaml",
    "examples/files-plugin",
    "runtime-bridge/src/new_plugin/scaffold",
];

/// What building leaves in a plugin's folder.
const MADE: [&str; 8] = [
    ".venv",
    "build",
    "contract",
    "dist",
    "node_modules",
    "__pycache__",
    "target",
    "plugin",
];

fn main() -> Result<(), Box<dyn Error>> {
    let repository = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?).join("..");
    let mut table = String::from("pub(super) const FILES: &[(&str, &str)] = &[\n");
    for source in SOURCES {
        let mut files = Vec::new();
        let source = repository.join(source);
        if source.is_dir() {
            collect(&source, &mut files)?;
        } else {
            println!("cargo:rerun-if-changed={}", source.display());
            files.push(source);
        }
        files.sort();
        for file in files {
            let name = file.strip_prefix(&repository)?.to_string_lossy().into_owned();
            let path = file.canonicalize()?.to_string_lossy().into_owned();
            writeln!(table, "    ({name:?}, include_str!({path:?})),")?;
        }
    }
    table.push_str("];\n");
    fs::write(PathBuf::from(env::var("OUT_DIR")?).join("templates.rs"), table)?;
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    entries.retain(|entry| {
        let name = entry.file_name().unwrap_or_default().to_string_lossy();
        !MADE.contains(&name.as_ref()) && !name.ends_with(".egg-info")
    });
    for entry in entries {
        if entry.is_dir() {
            collect(&entry, files)?;
        } else {
            println!("cargo:rerun-if-changed={}", entry.display());
            files.push(entry);
        }
    }
    Ok(())
}
