//! Building beside the workspace's own binaries, and only what changed.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::mpsc::channel,
    time::Duration,
};

use bridge_control_plane::process::{Output, Spawn, SpawnError};

use crate::{Language, sdk, source};

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
    #[error("{tool} ended with {status}: {said}")]
    Step {
        /// The tool, with its arguments.
        tool: String,
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

/// Builds the plugin of a folder in a copy below `target/languages`, on the SDK of this repository as authors get it; the command line that
/// starts it.
///
/// Of several processes one builds and the others wait. Nothing is done where no file of the plugin, the SDK or the contract has changed.
///
/// # Errors
/// The output of the tool that failed.
pub async fn build_in_copy(
    language: Language,
    from: &Path,
    name: impl AsRef<Path>,
) -> Result<String, BuildError> {
    in_copy(language, from, name.as_ref(), true).await
}

/// Likewise a composition function, which stands on an SDK from elsewhere.
pub(crate) async fn build_function_in_copy(
    language: Language,
    from: &Path,
    name: impl AsRef<Path>,
) -> Result<String, BuildError> {
    in_copy(language, from, name.as_ref(), false).await
}

async fn in_copy(
    language: Language,
    from: &Path,
    name: &Path,
    is_plugin: bool,
) -> Result<String, BuildError> {
    let root = source::target().join("languages");
    let at = root.join(name);
    fs::create_dir_all(&at).map_err(BuildError::file(&at))?;
    let _guard = locked(at.with_extension("lock")).await?;

    let digest = source::digest(&[from])? + &sdk::digest(language)?;
    let stamp = at.with_extension("built");
    if fs::read_to_string(&stamp).is_ok_and(|former| former == digest) {
        return language.command(&at);
    }
    forget(&stamp)?;
    // Its tools judge a function, too.
    let sdk = sdk::package(language).await?;
    source::mirror(from, &at, language.kept())?;
    install_if_changed(language, &at).await?;
    if is_plugin {
        language.install_sdk(&at, &sdk).await?;
    }
    language.compile(&at).await?;
    fs::write(&stamp, digest).map_err(BuildError::file(&stamp))?;
    language.command(&at)
}

/// Installs what the folder's lock file pins, once.
pub(crate) async fn install_if_changed(language: Language, at: &Path) -> Result<(), BuildError> {
    let installed = at.with_extension("installed");
    let pins = match language.lock() {
        Some(lock) => source::digest(&[&at.join(lock)])?,
        None => String::new(),
    };
    if fs::read_to_string(&installed).map_or(true, |before| before != pins) {
        forget(&installed)?;
        language.install(at).await?;
        fs::write(&installed, pins).map_err(BuildError::file(&installed))?;
    }
    Ok(())
}

/// A folder of the repository, copied below `root`: the SDKs find it where it is in the repository. They share it, so that it is copied by one
/// of them, and only when it has changed: the others may be reading it.
pub(crate) async fn synchronized(shared: &str, root: &Path) -> Result<(), BuildError> {
    let (from, to) = (source::repository().join(shared), root.join(shared));
    fs::create_dir_all(&to).map_err(BuildError::file(&to))?;
    let _guard = locked(to.with_extension("lock")).await?;
    let digest = source::digest(&[&from])?;
    let stamp = to.with_extension("copied");
    if fs::read_to_string(&stamp).is_ok_and(|copied| copied == digest) {
        return Ok(());
    }
    forget(&stamp)?;
    source::mirror(&from, &to, &[])?;
    fs::write(&stamp, digest).map_err(BuildError::file(&stamp))
}

/// What was built is changed from here on: should that fail, it is none of what the stamp says.
pub(crate) fn forget(stamp: &Path) -> Result<(), BuildError> {
    match fs::remove_file(stamp) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(BuildError::file(stamp)(error)),
        _ => Ok(()),
    }
}

/// Released by the system when the file is closed, also when we are killed.
pub(crate) async fn locked(path: PathBuf) -> Result<fs::File, BuildError> {
    let file = fs::File::create(&path).map_err(BuildError::file(&path))?;
    let waited = tokio::task::spawn_blocking(move || file.lock().map(|()| file)).await;
    waited
        .map_err(io::Error::other)
        .flatten()
        .map_err(BuildError::file(path))
}

/// A tool in a folder. A path with a slash is one in the folder.
pub(crate) fn program(at: &Path, program: &str, arguments: &[&str]) -> Spawn {
    let program = if program.contains('/') {
        at.join(program)
    } else {
        program.into()
    };
    Spawn::new(program).args(arguments).current_dir(at)
}

/// Runs a tool to its end.
pub(crate) async fn run(tool: Spawn) -> Result<(), BuildError> {
    output(tool).await.map(drop)
}

/// How often an installation is tried, and how much longer is waited before each of the next ones.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(2);

/// Runs a tool that installs over the network to its end. What it installs is pinned by hashes; that a registry did not answer says nothing of
/// it, so that the tool is tried again. Each failure is printed.
pub(crate) async fn install(tool: impl Fn() -> Spawn) -> Result<(), BuildError> {
    for attempt in 1..ATTEMPTS {
        match run(tool()).await {
            Err(error @ BuildError::Step { .. }) => eprintln!("will try again: {error}"),
            other => return other,
        }
        tokio::time::sleep(PAUSE * attempt).await;
    }
    run(tool()).await
}

/// Runs a tool to its end, and returns its output.
pub(crate) async fn output(tool: Spawn) -> Result<String, BuildError> {
    let (say, said) = channel();
    let errors = say.clone();
    let name = tool.to_string();
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
        tool: name,
        status: status.to_string(),
        said,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use bridge_control_plane::process::{ScratchDir, Spawn};

    use super::install;

    #[tokio::test]
    async fn an_installation_that_fails_is_tried_three_times() {
        for (failures, is_installed) in [(2, true), (3, false)] {
            let scratch = ScratchDir::new("crossbridge-attempts-").unwrap();
            let script = format!("echo it fails >> said; test $(wc -l < said) -gt {failures}");
            let tool = || Spawn::new("sh").args(["-c", &script]).current_dir(scratch.path());
            let installed = install(tool).await;
            assert_eq!(installed.is_ok(), is_installed, "{installed:?}");
            let said = fs::read_to_string(scratch.path().join("said")).unwrap();
            assert_eq!(said.lines().count(), 3);
        }
    }
}
