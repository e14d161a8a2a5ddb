//! Variables and files of the place where the bridge runs.

use std::{
    collections::BTreeMap,
    env, fs,
    io::{self, Read},
    path::Path,
};

use bridge_core::reasons::ProblemReason;

/// No credential is longer.
const MOST_BYTES: u64 = 1 << 20;

/// Folders of which no file is read.
const OWN: [&str; 4] = [
    "/proc",
    "/sys",
    "/run/secrets/kubernetes.io",
    "/var/run/secrets/kubernetes.io",
];

/// Why a variable or file gives no credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// There is no such variable.
    #[error("the environment variable {name} is not set")]
    VariableMissing {
        /// Its name.
        name: String,
    },
    /// There is no such file or directory.
    #[error("the file {path} does not exist")]
    FileMissing {
        /// Its path.
        path: String,
    },
    /// It is there, and cannot be read.
    #[error("the file {path} cannot be read: {why}")]
    FileNotRead {
        /// Its path.
        path: String,
        /// Why not.
        why: String,
    },
}

impl HostError {
    /// A stable word.
    pub fn reason(&self) -> ProblemReason {
        match self {
            Self::VariableMissing { .. } => ProblemReason::EnvironmentVariableMissing,
            Self::FileMissing { .. } => ProblemReason::CredentialsFileMissing,
            Self::FileNotRead { .. } => ProblemReason::CredentialsFileNotRead,
        }
    }
}

/// What a path leads to.
#[derive(Clone, PartialEq, Eq)]
pub enum Content {
    /// A file.
    File(Vec<u8>),
    /// A directory: its files by name.
    Directory(BTreeMap<String, Vec<u8>>),
}

/// Reads variables and files. A file may block, if it lies on a mount that hangs.
pub trait Host: Send + Sync + 'static {
    /// Value of a variable.
    fn variable(&self, name: &str) -> Result<Vec<u8>, HostError>;

    /// What lies at a path.
    fn content(&self, path: &str) -> Result<Content, HostError>;
}

/// The process's own environment and files.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalHost;

impl Host for LocalHost {
    fn variable(&self, name: &str) -> Result<Vec<u8>, HostError> {
        use std::os::unix::ffi::OsStringExt;
        env::var_os(name)
            .map(OsStringExt::into_vec)
            .ok_or_else(|| HostError::VariableMissing {
                name: name.to_owned(),
            })
    }

    fn content(&self, path: &str) -> Result<Content, HostError> {
        let read = || -> io::Result<Content> {
            reject_own(Path::new(path))?;
            if fs::metadata(path)?.is_dir() {
                directory(path)
            } else {
                file(Path::new(path)).map(Content::File)
            }
        };
        read().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => HostError::FileMissing {
                path: path.to_owned(),
            },
            _ => HostError::FileNotRead {
                path: path.to_owned(),
                why: error.to_string(),
            },
        })
    }
}

/// Wherever links lead: the bridge's token and what the kernel tells of processes are nobody's credentials.
fn reject_own(path: &Path) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    if OWN.iter().any(|own| path.starts_with(own)) {
        let why = "it belongs to the bridge itself";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(())
}

/// Names that begin with a dot are the mount's own affairs: `..data` of a projected Secret.
fn directory(path: &str) -> io::Result<Content> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') && fs::metadata(entry.path())?.is_file() {
            files.insert(name, file(&entry.path())?);
        }
    }
    Ok(Content::Directory(files))
}

/// Not a pipe, which would be waited for.
fn file(path: &Path) -> io::Result<Vec<u8>> {
    reject_own(path)?;
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is no regular file",
        ));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "longer than 1 MiB"));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_the_bridge_is_not_read_by_any_path() {
        let folder = std::env::temp_dir().join(format!("crossbridge-host-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let link = folder.join("link");
        std::os::unix::fs::symlink("/proc/self/environ", &link).unwrap();
        let link = link.to_string_lossy().into_owned();
        let own = "it belongs to the bridge itself";
        for path in [
            "/proc/self/environ",
            "/tmp/../proc/self/environ",
            &link,
            &folder.to_string_lossy(),
        ] {
            let error = LocalHost.content(path).err().map(|error| error.to_string());
            assert!(
                error.as_ref().is_some_and(|error| error.contains(own)),
                "{path}: {error:?}"
            );
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        let error = LocalHost.content("/dev/zero").err().expect("it is refused");
        let expected = "the file /dev/zero cannot be read: it is no regular file";
        assert_eq!(error.to_string(), expected);
    }
}
