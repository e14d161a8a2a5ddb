//! Programs that are not ours and that a fresh machine lacks: installed once into the cache, pinned.

use std::fs;
use std::path::{Path, PathBuf};

use bridge_control_plane::cache::{self, CacheError};
use bridge_control_plane::process::{Output, ScratchDir, Spawn};

use crate::Failure;
use crate::run::{cargo, run};

const CARGO_DENY: &str = "0.20.2";
/// The version of buf is in the package file, its digests are in the lock file.
const BUF_PACKAGE: &str = include_str!("../tools/buf/package.json");
const BUF_LOCK: &str = include_str!("../tools/buf/package-lock.json");
const BUF_VERSION: &str = "1.75.0";

impl From<CacheError> for Failure {
    fn from(error: CacheError) -> Self {
        Self::new(error.to_string())
    }
}

/// `cargo-deny`, which looks at licences, bans and sources. Its build takes a minute or two, the first time.
pub(crate) async fn cargo_deny() -> Result<PathBuf, Failure> {
    let folder = cache::entry(&format!("cargo-deny-{CARGO_DENY}"), async |folder| {
        let scratch =
            ScratchDir::new("crossbridge-cargo-deny-").map_err(|error| Failure::new(error.to_string()))?;
        eprintln!("building cargo-deny {CARGO_DENY}: once, a minute or two");
        // Not optimised: it runs for a second, and builds in a third of the time.
        run(cargo(folder)
            .args(["install", "--quiet", "--locked", "--debug", "--root"])
            .arg(folder)
            .arg(format!("cargo-deny@{CARGO_DENY}"))
            .env("CARGO_TARGET_DIR", scratch.path()))
        .await
    })
    .await?;
    Ok(folder.join("bin/cargo-deny"))
}

/// `buf`, which looks at the contract.
pub(crate) async fn buf() -> Result<PathBuf, Failure> {
    let folder = cache::entry(&format!("buf-{BUF_VERSION}"), install_buf).await?;
    Ok(folder.join("node_modules/.bin/buf"))
}

async fn install_buf(folder: &Path) -> Result<(), Failure> {
    let write = |name: &str, content: &str| {
        fs::write(folder.join(name), content)
            .map_err(|error| Failure::new(format!("cannot write {name}: {error}")))
    };
    write("package.json", BUF_PACKAGE)?;
    write("package-lock.json", BUF_LOCK)?;
    run(Spawn::new("npm")
        .args([
            "ci",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        ])
        .current_dir(folder)
        .stdout(Output::Null))
    .await
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_pinned_buf_is_the_one_that_is_locked() {
        let package: Value = serde_json::from_str(BUF_PACKAGE).unwrap();
        assert_eq!(package["dependencies"]["@bufbuild/buf"], BUF_VERSION);
        let lock: Value = serde_json::from_str(BUF_LOCK).unwrap();
        assert_eq!(
            lock["packages"]["node_modules/@bufbuild/buf"]["version"],
            BUF_VERSION
        );
        assert!(
            !BUF_LOCK.contains("resolved"),
            "the lock must not name a registry"
        );
    }
}
