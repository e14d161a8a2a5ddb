//! The upstream: files in a folder, which outlive every process.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// One resource upstream, as its file stores it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Resource {
    pub name: String,
    pub marker: String,
    pub parameters: Map<String, Value>,
    pub secret: String,
    /// Raised by one with each change: the etag.
    pub version: u64,
    /// In milliseconds since 1970, as all times here.
    pub made_at: u64,
    pub busy_until: u64,
    /// Absent from then on; 0: not being deleted.
    pub gone_at: u64,
    /// Where and by which process it was created.
    pub endpoint: String,
    pub instance: String,
}

/// What a token created.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Token {
    pub name: String,
    /// The desired state, to recognize a different one.
    pub desired: String,
    /// False: the process may have ended before the effect.
    pub is_done: bool,
    pub endpoint: String,
    pub instance: String,
}

/// A folder of one kind.
#[derive(Debug, Clone)]
pub struct Upstream {
    folder: PathBuf,
}

pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

impl Upstream {
    pub fn of(folder: &Path, kind: &str) -> io::Result<Self> {
        let folder = folder.join(kind);
        fs::create_dir_all(folder.join("tokens"))?;
        Ok(Self { folder })
    }

    pub fn get(&self, name: &str) -> io::Result<Option<Resource>> {
        let found: Option<Resource> = read(&self.file(name))?;
        match found {
            Some(resource) if resource.gone_at > 0 && resource.gone_at <= now() => {
                remove(&self.file(name))?;
                Ok(None)
            }
            found => Ok(found),
        }
    }

    /// False: the name is taken.
    pub fn create(&self, resource: &Resource) -> io::Result<bool> {
        // The name of a deleted resource is free again.
        self.get(&resource.name)?;
        self.link(&self.file(&resource.name), resource)
    }

    pub fn put(&self, resource: &Resource) -> io::Result<()> {
        let temporary = self.temporary();
        fs::write(&temporary, serde_json::to_vec(resource)?)?;
        fs::rename(temporary, self.file(&resource.name))
    }

    pub fn delete(&self, name: &str) -> io::Result<()> {
        remove(&self.file(name))
    }

    /// All resources, ordered by name.
    pub fn all(&self) -> io::Result<Vec<Resource>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let name = path
                .file_stem()
                .and_then(|name| name.to_str())
                .unwrap_or_default();
            if path.extension().is_some_and(|ending| ending == "json") {
                found.extend(self.get(name)?);
            }
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    pub fn by_marker(&self, marker: &str) -> io::Result<Option<Resource>> {
        Ok(self.all()?.into_iter().find(|resource| resource.marker == marker))
    }

    pub fn token(&self, token: &str) -> io::Result<Option<Token>> {
        read(&self.token_file(token))
    }

    /// False: another process claimed it first.
    pub fn claim(&self, token: &str, created: &Token) -> io::Result<bool> {
        self.link(&self.token_file(token), created)
    }

    pub fn store(&self, token: &str, created: &Token) -> io::Result<()> {
        let temporary = self.temporary();
        fs::write(&temporary, serde_json::to_vec(created)?)?;
        fs::rename(temporary, self.token_file(token))
    }

    /// Of all processes' polls of an operation.
    pub fn is_first_poll(&self, operation: &str) -> io::Result<bool> {
        self.link(&self.token_file(&format!("polled-{operation}")), &())
    }

    /// Whole, or not at all, and only once.
    fn link(&self, path: &Path, value: &impl Serialize) -> io::Result<bool> {
        let temporary = self.temporary();
        fs::write(&temporary, serde_json::to_vec(value)?)?;
        let linked = fs::hard_link(&temporary, path);
        fs::remove_file(temporary)?;
        match linked {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.json"))
    }

    fn token_file(&self, token: &str) -> PathBuf {
        self.folder.join("tokens").join(token)
    }

    fn temporary(&self) -> PathBuf {
        self.folder.join(format!("{}.new", uuid::Uuid::new_v4()))
    }
}

fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
