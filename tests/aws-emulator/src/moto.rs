//! moto itself: its Python environment in the cache, and its process.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bridge_control_plane::cache::{self, CacheError};
use bridge_control_plane::process::{Process, ScratchDir, Spawn, SpawnError};
use sha2::{Digest, Sha256};

/// Every Python package of moto, each with its version.
const PINS: &str = include_str!("../requirements.txt");

/// The program by which it is started.
const START: &str = include_str!("moto/start.py");

/// Moto listens well under a second after it was started; a busy machine may need longer.
const START_LIMIT: Duration = Duration::from_mins(1);

/// Why moto does not run.
#[derive(Debug, thiserror::Error)]
pub enum MotoError {
    /// The cache cannot be used.
    #[error(transparent)]
    Cache(#[from] CacheError),
    /// A step of the installation failed.
    #[error("cannot {step}: {said}")]
    Install {
        /// What was being done.
        step: &'static str,
        /// What the program said.
        said: String,
    },
    /// A process cannot be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The system rejected something.
    #[error("cannot {step}: {cause}")]
    Io {
        /// What was being done.
        step: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// It ended instead of listening.
    #[error("moto ended instead of listening: {said}")]
    Ended {
        /// The end of its output.
        said: String,
    },
    /// It did not listen in time.
    #[error("moto does not listen after {START_LIMIT:?}: {said}")]
    Silent {
        /// The end of its output.
        said: String,
    },
}

/// A running moto, ended when dropped.
#[derive(Debug)]
pub(crate) struct Moto {
    pub(crate) address: SocketAddr,
    // Dropped before the folder that it writes to.
    _process: Process,
    _log: ScratchDir,
}

impl Moto {
    /// Starts one on a loopback port that the system chooses. The first `unchecked_calls` calls need no credentials; `None`: no call does.
    pub(crate) async fn start(unchecked_calls: Option<u32>) -> Result<Self, MotoError> {
        let python = environment().await?;
        let log = ScratchDir::new("aws-emulator-").map_err(|cause| MotoError::Io {
            step: "create a folder for moto's log",
            cause,
        })?;
        let log_file = log.path().join("moto.log");
        let address_file = log.path().join("address");
        let mut spawn = Spawn::new(&python)
            .args(["-c", START])
            .arg(&address_file)
            .log_to(&log_file);
        if let Some(calls) = unchecked_calls {
            spawn = spawn.env("INITIAL_NO_AUTH_ACTION_COUNT", calls.to_string());
        }
        let process = spawn.spawn()?;
        let listens = async {
            loop {
                if let Some(address) = read_address(&address_file) {
                    return address;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let said = || std::fs::read_to_string(&log_file).unwrap_or_default();
        let address = tokio::select! {
            address = listens => address,
            _ = process.wait() => return Err(MotoError::Ended { said: said() }),
            () = tokio::time::sleep(START_LIMIT) => return Err(MotoError::Silent { said: said() }),
        };
        Ok(Self {
            address,
            _process: process,
            _log: log,
        })
    }
}

/// Where it listens; nothing before it does.
fn read_address(file: &Path) -> Option<SocketAddr> {
    std::fs::read_to_string(file).ok()?.parse().ok()
}

/// The interpreter of an environment that has moto.
async fn environment() -> Result<PathBuf, MotoError> {
    let python = std::env::var("CROSSBRIDGE_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    // An environment is bound to the interpreter that created it.
    let interpreter = run(
        "ask python3 for its version",
        &python,
        &["-c", "import sys; print(sys.version, sys.base_prefix)"],
    )
    .await?;
    let digest = Sha256::new()
        .chain_update(PINS)
        .chain_update(interpreter)
        .finalize();
    let key = base16(&digest[..8]);
    let folder = cache::entry(&format!("moto-{key}"), async |folder| {
        install(&python, folder).await
    })
    .await?;
    Ok(folder.join("bin/python"))
}

fn base16(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// Programs of the environment hold its path and break when it is moved; its interpreter does not, and nothing else is used.
async fn install(python: &str, folder: &Path) -> Result<(), MotoError> {
    eprintln!("aws-emulator: installing moto into the cache, once; this takes about half a minute");
    let folder_text = folder.to_string_lossy();
    run(
        "create a Python environment",
        python,
        &["-m", "venv", &folder_text],
    )
    .await?;
    let pins = folder.join("requirements.txt");
    std::fs::write(&pins, PINS).map_err(|cause| MotoError::Io {
        step: "write the list of packages",
        cause,
    })?;
    let pip = folder.join("bin/python");
    let arguments = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-input",
        "--disable-pip-version-check",
        "--require-hashes",
        "--requirement",
    ];
    let pins = pins.to_string_lossy();
    let arguments: Vec<&str> = arguments.into_iter().chain([pins.as_ref()]).collect();
    run("install moto with pip", &pip.to_string_lossy(), &arguments).await?;
    eprintln!("aws-emulator: moto is installed");
    Ok(())
}

/// Runs a program to its end, and returns what it said.
async fn run(step: &'static str, program: &str, arguments: &[&str]) -> Result<String, MotoError> {
    let io = |cause| MotoError::Io { step, cause };
    let scratch = ScratchDir::new("aws-emulator-").map_err(io)?;
    let said = scratch.path().join("said");
    let process = Spawn::new(program).args(arguments).log_to(&said).spawn()?;
    let status = process.wait().await;
    let said = std::fs::read_to_string(&said).map_err(io)?;
    if status.success() {
        Ok(said)
    } else {
        Err(MotoError::Install { step, said })
    }
}
