//! The crates that an author in Rust depends on, packed as they are published.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bridge_control_plane::process::Spawn;

use crate::{
    BuildError,
    build::{forget, locked, run},
    source,
};

/// Each depends on those before it.
const CRATES: [&str; 3] = ["crossbridge-types", "crossbridge-proto", "crossbridge-sdk"];

/// Packs the SDK and what it depends on, as `cargo publish` would, and unpacks them. Returns cargo's config by which a plugin that names the
/// released version is built on what was packed.
///
/// # Errors
/// What cargo said: a file that the package lacks shows only when a plugin is built on it.
pub async fn packed_crates() -> Result<String, BuildError> {
    let at = source::target().join("languages/crates");
    fs::create_dir_all(&at).map_err(BuildError::file(&at))?;
    let _guard = locked(at.with_extension("lock")).await?;
    let repository = source::repository();
    let sources = ["Cargo.toml", "proto", "sdk/rust"].map(|path| repository.join(path));
    let digest = source::digest(&sources.each_ref().map(PathBuf::as_path))?;
    let stamp = at.with_extension("packed");
    if !fs::read_to_string(&stamp).is_ok_and(|former| former == digest) {
        forget(&stamp)?;
        pack(&repository, &at).await?;
        fs::write(&stamp, digest).map_err(BuildError::file(&stamp))?;
    }
    let patches = CRATES.map(|name| format!("{name} = {{ path = \"{}\" }}\n", unpacked(&at, name).display()));
    Ok(format!("[patch.crates-io]\n{}", patches.concat()))
}

fn unpacked(at: &Path, name: &str) -> PathBuf {
    at.join(format!("{name}-{}", env!("CARGO_PKG_VERSION")))
}

async fn pack(repository: &Path, at: &Path) -> Result<(), BuildError> {
    let packed = at.with_extension("target");
    let package = Spawn::new("cargo")
        .args([
            "package",
            "--quiet",
            "--no-verify",
            "--allow-dirty",
            "--offline",
            "--target-dir",
        ])
        .arg(&packed)
        .args(CRATES.iter().flat_map(|name| ["--package", name]))
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .current_dir(repository);
    run(package).await?;
    for name in CRATES {
        let folder = unpacked(at, name);
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(BuildError::file(&folder))?;
        }
        let archive = packed
            .join("package")
            .join(format!("{name}-{}.crate", env!("CARGO_PKG_VERSION")));
        // Not of the times in the archive, which are always the same: cargo would not see what has changed.
        run(Spawn::new("tar").arg("-xzmf").arg(archive).arg("-C").arg(at)).await?;
    }
    Ok(())
}
