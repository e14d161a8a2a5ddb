use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::watchdog;

/// A temporary folder (mode 0700) that is removed with this value, or by the watchdog when we are killed.
#[derive(Debug)]
pub struct ScratchDir {
    // In this order: a kill between the two must find the watchdog still in charge.
    directory: tempfile::TempDir,
    _charge: Charge,
}

/// A folder that is registered with the watchdog for removal.
#[derive(Debug)]
struct Charge {
    path: String,
}

impl Drop for Charge {
    fn drop(&mut self) {
        // A watchdog that has ended needs no message.
        let _ = watchdog::keep(&self.path);
    }
}

impl ScratchDir {
    /// Creates a folder whose name starts with `prefix` in the system's folder for temporary files.
    pub fn new(prefix: &str) -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir(), prefix)
    }

    /// Creates one in `parent`.
    pub fn new_in(parent: &Path, prefix: &str) -> io::Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix(prefix)
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(parent)?;
        let path = line(directory.path())?.to_owned();
        watchdog::remove(&path)?;
        Ok(Self {
            directory,
            _charge: Charge { path },
        })
    }

    /// The folder's path, which exists for as long as this value.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Leaves the folder to whoever needs it, and returns where it is.
    pub fn keep(mut self) -> PathBuf {
        self.directory.disable_cleanup(true);
        self.path().to_owned()
    }
}

/// The watchdog reads one path per line.
fn line(path: &Path) -> io::Result<&str> {
    match path.to_str() {
        Some(path) if !path.contains('\n') => Ok(path),
        _ => Err(io::Error::other(format!(
            "the temporary folder {} has a name that cannot be used",
            path.display()
        ))),
    }
}
