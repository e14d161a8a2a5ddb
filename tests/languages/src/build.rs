//! Building beside the workspace's own binaries, and only what changed.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::mpsc::channel,
};

use bridge_control_plane::process::{Output, Spawn, SpawnError};

use crate::{Language, source};

/// Why a plugin cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A file cannot be read or written.
    #[error("cannot use {}: {cause}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The error of the system.
        cause: io::Error,
    },
    /// A tool is missing.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// A tool ended with an error.
    #[error("a step ended with {status}: {said}")]
    Step {
        /// Its exit status, or the signal that ended it.
        status: String,
        /// Its output.
        said: String,
    },
}

impl BuildError {
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |cause| Self::File { path, cause }
    }
}

/// Builds the plugin of a folder in a copy below `target/languages`; the command line that starts it.
///
/// Of several processes one builds and the others wait. Nothing is done where no file of the plugin or of the contract has changed.
///
/// # Errors
/// The output of the tool that failed.
pub async fn build_in_copy(
    language: Language,
    from: &Path,
    name: impl AsRef<Path>,
) -> Result<String, BuildError> {
    let root = source::target().join("languages");
    let at = root.join(name);
    fs::create_dir_all(&at).map_err(BuildError::file(&at))?;
    let _guard = locked(at.with_extension("lock")).await?;

    let contract = source::repository().join("proto/crossbridge");
    let digest = source::digest(&[from, &contract])?;
    let stamp = at.with_extension("built");
    if fs::read_to_string(&stamp).is_ok_and(|former| former == digest) {
        return language.command(&at);
    }
    let installed = at.with_extension("installed");
    source::mirror(from, &at, language.kept())?;
    copy_contract(&contract, &root).await?;
    let pins = match language.lock() {
        Some(lock) => source::digest(&[&at.join(lock)])?,
        None => String::new(),
    };
    if fs::read_to_string(&installed).map_or(true, |before| before != pins) {
        language.install(&at).await?;
        fs::write(&installed, pins).map_err(BuildError::file(&installed))?;
    }
    language.compile(&at).await?;
    fs::write(&stamp, digest).map_err(BuildError::file(&stamp))?;
    language.command(&at)
}

/// The plugins find it where it is in the repository. They share it, so that it is copied by one of them, and only when it has changed: the
/// others may be reading it.
async fn copy_contract(contract: &Path, root: &Path) -> Result<(), BuildError> {
    let _guard = locked(root.join("proto.lock")).await?;
    let digest = source::digest(&[contract])?;
    let stamp = root.join("proto.copied");
    if fs::read_to_string(&stamp).is_ok_and(|copied| copied == digest) {
        return Ok(());
    }
    source::mirror(contract, &root.join("proto/crossbridge"), &[])?;
    fs::write(&stamp, digest).map_err(BuildError::file(&stamp))
}

/// Released by the system when the file is closed, also when we are killed.
async fn locked(path: PathBuf) -> Result<fs::File, BuildError> {
    let file = fs::File::create(&path).map_err(BuildError::file(&path))?;
    let waited = tokio::task::spawn_blocking(move || file.lock().map(|()| file)).await;
    waited
        .map_err(io::Error::other)
        .flatten()
        .map_err(BuildError::file(path))
}

/// Runs a tool to its end.
pub(crate) async fn run(tool: Spawn) -> Result<(), BuildError> {
    output(tool).await.map(drop)
}

/// Runs a tool to its end, and returns its output.
pub(crate) async fn output(tool: Spawn) -> Result<String, BuildError> {
    let (say, said) = channel();
    let errors = say.clone();
    let tool = tool
        .stdout(Output::lines(move |line| drop(say.send(line.to_owned()))))
        .stderr(Output::lines(move |line| drop(errors.send(line.to_owned()))));
    let status = tool.spawn()?.wait().await;
    let said: Vec<String> = said.iter().collect();
    let said = said.join("\n");
    if status.success() {
        return Ok(said);
    }
    Err(BuildError::Step {
        status: status.to_string(),
        said,
    })
}
