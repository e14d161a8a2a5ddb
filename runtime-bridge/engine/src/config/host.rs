//! Variables and files of the place where the bridge runs.

use std::{
    collections::BTreeMap,
    env, fs,
    io::{self, Read},
    path::{Path, PathBuf},
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalHost {
    /// The folders below which files are read; `None`: anywhere.
    folders: Option<Vec<PathBuf>>,
}

impl LocalHost {
    /// For a person, who reads what they may read anyway.
    pub fn anywhere() -> Self {
        Self { folders: None }
    }

    /// Files below these folders, wherever links lead. Without any, no file is read.
    pub fn below(folders: Vec<PathBuf>) -> Self {
        Self {
            folders: Some(folders),
        }
    }

    /// The bridge's token and what the kernel tells of processes are nobody's credentials.
    fn reject_foreign(&self, path: &Path) -> io::Result<()> {
        let refused = |why: &str| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        let Some(folders) = &self.folders else {
            return reject_own(&fs::canonicalize(path)?);
        };
        // Before it is known whether there is such a file: that, too, is not told.
        if !folders.iter().any(|folder| path.starts_with(folder)) {
            return refused(NOT_BELOW);
        }
        let path = fs::canonicalize(path)?;
        reject_own(&path)?;
        let mut folders = folders.iter().filter_map(|folder| fs::canonicalize(folder).ok());
        if !folders.any(|folder| path.starts_with(folder)) {
            return refused(NOT_BELOW);
        }
        Ok(())
    }
}

const NOT_BELOW: &str =
    "it lies below no folder that the bridge was started with: give the folder with --host-credentials-dir";

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
            self.reject_foreign(Path::new(path))?;
            if fs::metadata(path)?.is_dir() {
                self.directory(path)
            } else {
                self.file(Path::new(path)).map(Content::File)
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

fn reject_own(path: &Path) -> io::Result<()> {
    if OWN.iter().any(|own| path.starts_with(own)) {
        let why = "it belongs to the bridge itself";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(())
}

impl LocalHost {
    /// Names that begin with a dot are the mount's own affairs: `..data` of a projected Secret.
    fn directory(&self, path: &str) -> io::Result<Content> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if !name.starts_with('.') && fs::metadata(entry.path())?.is_file() {
                files.insert(name, self.file(&entry.path())?);
            }
        }
        Ok(Content::Directory(files))
    }

    /// Not a pipe, which would be waited for.
    fn file(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.reject_foreign(path)?;
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
            let error = LocalHost::anywhere()
                .content(path)
                .err()
                .map(|error| error.to_string());
            assert!(
                error.as_ref().is_some_and(|error| error.contains(own)),
                "{path}: {error:?}"
            );
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        let error = LocalHost::anywhere()
            .content("/dev/zero")
            .err()
            .expect("it is refused");
        let expected = "the file /dev/zero cannot be read: it is no regular file";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn files_are_read_below_the_folders_of_the_operator_alone() {
        let folder = std::env::temp_dir().join(format!("crossbridge-host-below-{}", std::process::id()));
        let (mine, other) = (folder.join("mine"), folder.join("other"));
        for folder in [&mine, &other] {
            fs::create_dir_all(folder).unwrap();
            fs::write(folder.join("token"), "t").unwrap();
        }
        std::os::unix::fs::symlink(other.join("token"), mine.join("elsewhere")).unwrap();
        let host = LocalHost::below(vec![mine.clone()]);
        let read = |path: &Path| match host.content(&path.to_string_lossy()) {
            Ok(Content::File(bytes)) => Ok(bytes),
            Ok(Content::Directory(_)) => Ok(b"a folder".to_vec()),
            Err(error) => Err(error.to_string()),
        };
        assert_eq!(read(&mine.join("token")), Ok(b"t".to_vec()));
        for path in [
            other.join("token"),
            other.join("absent"),
            mine.join("../other/token"),
            mine.join("elsewhere"),
            mine.clone(),
            folder.join("mine-too"),
        ] {
            let error = read(&path).unwrap_err();
            assert!(
                error.contains("give the folder with --host-credentials-dir"),
                "{error}"
            );
        }
        let nothing = LocalHost::below(Vec::new()).content(&mine.join("token").to_string_lossy());
        assert!(nothing.is_err());
        fs::remove_dir_all(folder).unwrap();
    }
}
