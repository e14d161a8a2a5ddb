//! Interpreters of Python, and environments with pinned packages in the cache.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use bridge_control_plane::{
    cache,
    process::{ScratchDir, Spawn},
};
use sha2::{Digest, Sha256};

use crate::{
    BuildError,
    build::{self, output, run},
};

/// Where version managers keep interpreters, below the home folder.
const MANAGED: [&str; 4] = [
    ".pyenv/versions",
    ".local/share/uv/python",
    ".local/share/mise/installs/python",
    ".asdf/installs/python",
];

/// The interpreter that builds use: `CROSSBRIDGE_PYTHON`, else `python3`.
pub(crate) fn usual() -> PathBuf {
    env::var_os("CROSSBRIDGE_PYTHON").map_or_else(|| "python3".into(), PathBuf::from)
}

/// The newest of these minor versions of Python 3 that is at hand, version managers' too; if there is none, the usual one.
pub(crate) async fn newest(minors: &[u32]) -> PathBuf {
    let by_name = minors
        .iter()
        .map(|minor| PathBuf::from(format!("python3.{minor}")));
    let mut newest = None;
    for python in [usual()].into_iter().chain(by_name).chain(managed()) {
        let minor = minor_of(&python).await.filter(|minor| minors.contains(minor));
        if minor > newest.as_ref().map(|(minor, _)| *minor) {
            newest = minor.map(|minor| (minor, python));
        }
    }
    newest.map_or_else(usual, |(_, python)| python)
}

fn managed() -> Vec<PathBuf> {
    let home = PathBuf::from(env::var_os("HOME").unwrap_or_default());
    let folders = MANAGED
        .iter()
        .filter_map(|folder| fs::read_dir(home.join(folder)).ok());
    let mut found: Vec<PathBuf> = folders
        .flatten()
        .filter_map(|version| Some(version.ok()?.path().join("bin/python3")))
        .filter(|python| python.is_file())
        .collect();
    found.sort();
    found
}

/// `None`: it does not run; a version manager's stand-in for what is not chosen ends with an error.
async fn minor_of(python: &Path) -> Option<u32> {
    let asked = "import sys; print(sys.version_info.major, sys.version_info.minor)";
    let said = output(Spawn::new(python).args(["-c", asked])).await.ok()?;
    said.trim().strip_prefix("3 ")?.parse().ok()
}

/// The interpreter of an environment that has these packages. Installed once into the cache, by their hashes.
pub(crate) async fn environment(
    name: &str,
    python: &Path,
    pins: &str,
    flags: &[&str],
) -> Result<PathBuf, BuildError> {
    // An environment is bound to the interpreter that created it.
    let asked = "import sys; print(sys.version, sys.base_prefix)";
    let interpreter = output(Spawn::new(python).args(["-c", asked])).await?;
    let digest = Sha256::new()
        .chain_update(pins)
        .chain_update(interpreter)
        .finalize();
    let key: String = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
    let folder = cache::entry(&format!("{name}-{key}"), async |folder| {
        install(folder, python, pins, flags).await
    })
    .await?;
    // Programs of an environment hold its path and break when it is moved into the cache; its interpreter does not.
    Ok(folder.join("bin/python"))
}

async fn install(folder: &Path, python: &Path, pins: &str, flags: &[&str]) -> Result<(), BuildError> {
    let scratch = ScratchDir::new("crossbridge-pins-").map_err(BuildError::file(folder))?;
    let file = scratch.path().join("requirements.lock");
    fs::write(&file, pins).map_err(BuildError::file(&file))?;
    run(Spawn::new(python).args(["-m", "venv"]).arg(folder)).await?;
    let words = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
        "--require-hashes",
    ];
    let pip = || Spawn::new(folder.join("bin/python")).args(words);
    build::install(|| pip().args(flags).arg("--requirement").arg(&file)).await
}
