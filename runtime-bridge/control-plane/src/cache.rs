//! A folder that outlives us, for what is slow to build and the same every time.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::process::ScratchDir;

/// Why there is no entry.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// No environment variable names a folder for the cache.
    #[error("there is no folder for the cache: set CROSSBRIDGE_CACHE to a folder that can be written to")]
    NoPlace,
    /// The cache cannot be written to.
    #[error("cannot use the cache at {}: {cause}; CROSSBRIDGE_CACHE names another folder", path.display())]
    Unusable {
        /// The file or folder that cannot be used.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
}

/// Where the cache is: `CROSSBRIDGE_CACHE`, else `crossbridge` in `XDG_CACHE_HOME`, else in `~/.cache`.
pub fn root() -> Result<PathBuf, CacheError> {
    root_of(|name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    })
}

fn root_of(variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, CacheError> {
    variable("CROSSBRIDGE_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("crossbridge")))
        .or_else(|| variable("HOME").map(|home| home.join(".cache/crossbridge")))
        .ok_or(CacheError::NoPlace)
}

/// The folder `name` of the cache, whose content `make` puts into the empty folder that it is given.
///
/// The name must contain whatever the content depends on, as an entry is never created again. It is there whole or not at all:
/// of several processes one creates it and the others wait, and what a failed or killed one left does not count.
pub async fn entry<E: From<CacheError>>(
    name: &str,
    make: impl AsyncFnOnce(&Path) -> Result<(), E>,
) -> Result<PathBuf, E> {
    let root = root()?;
    let path = root.join(name);
    if path.is_dir() {
        return Ok(path);
    }
    let unusable = |path: &Path| {
        let path = path.to_owned();
        move |cause| CacheError::Unusable { path, cause }
    };
    fs::create_dir_all(&root).map_err(unusable(&root))?;
    let lock = root.join(format!("{name}.lock"));
    // Released by the system when the file is closed, also when we are killed.
    let _guard = locked(name, &lock).await.map_err(unusable(&lock))?;
    if path.is_dir() {
        return Ok(path);
    }
    let unfinished = ScratchDir::new_in(&root, "unfinished-").map_err(unusable(&root))?;
    make(unfinished.path()).await?;
    fs::rename(unfinished.path(), &path).map_err(unusable(&path))?;
    unfinished.keep();
    Ok(path)
}

async fn locked(name: &str, path: &Path) -> io::Result<File> {
    let file = File::create(path)?;
    let mut said = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {
                if !said {
                    eprintln!("waiting for another process that is building {name}");
                    said = true;
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_variable_wins() {
        let root = |set: &[(&str, &str)]| {
            let set: Vec<_> = set
                .iter()
                .map(|(n, v)| ((*n).to_owned(), PathBuf::from(v)))
                .collect();
            root_of(move |name| {
                set.iter()
                    .find(|(n, _)| n == name)
                    .map(|(_, value)| value.clone())
            })
        };
        let all = [
            ("CROSSBRIDGE_CACHE", "/c"),
            ("XDG_CACHE_HOME", "/x"),
            ("HOME", "/h"),
        ];
        assert_eq!(root(&all).unwrap(), Path::new("/c"));
        assert_eq!(root(&all[1..]).unwrap(), Path::new("/x/crossbridge"));
        assert_eq!(root(&all[2..]).unwrap(), Path::new("/h/.cache/crossbridge"));
        assert!(matches!(root(&[]), Err(CacheError::NoPlace)));
    }
}
