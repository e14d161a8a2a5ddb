//! Programs that are not ours and that a fresh machine lacks: installed once into the cache, pinned.

use std::path::PathBuf;

use bridge_control_plane::cache::{self, CacheError};
use bridge_control_plane::process::{Output, ScratchDir, Spawn};

use crate::Failure;
use crate::run::{cargo, run};

const CARGO_DENY: &str = "0.20.2";
/// Its packages for each platform are of the same version, exactly.
const BUF: &str = "1.75.0";

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
    let folder = cache::entry(&format!("buf-{BUF}"), async |folder| {
        run(Spawn::new("npm")
            .args([
                "install",
                "--ignore-scripts",
                "--no-audit",
                "--no-fund",
                "--loglevel=error",
                "--prefix",
            ])
            .arg(folder)
            .arg(format!("@bufbuild/buf@{BUF}"))
            .stdout(Output::Null))
        .await
    })
    .await?;
    Ok(folder.join("node_modules/.bin/buf"))
}
