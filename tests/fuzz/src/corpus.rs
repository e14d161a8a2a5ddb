//! The committed inputs of a target, one a file.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Where the inputs of a target are.
#[derive(Debug, Clone)]
pub struct Corpus(PathBuf);

/// A corpus that cannot be read or added to.
#[derive(Debug, thiserror::Error)]
#[error("cannot use {}: {source}", path.display())]
pub struct CorpusError {
    path: PathBuf,
    source: io::Error,
}

impl Corpus {
    /// The committed one of this target.
    pub fn of(target: &str) -> Self {
        Self(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target))
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Name and content of each file, by name.
    ///
    /// # Errors
    /// The folder, or a file of it, cannot be read.
    pub fn inputs(&self) -> Result<Vec<(String, Vec<u8>)>, CorpusError> {
        let failed = |path: &Path, source| CorpusError {
            path: path.to_owned(),
            source,
        };
        let mut inputs = Vec::new();
        for entry in fs::read_dir(&self.0).map_err(|error| failed(&self.0, error))? {
            let path = entry.map_err(|error| failed(&self.0, error))?.path();
            let content = fs::read(&path).map_err(|error| failed(&path, error))?;
            let name = path.file_name().unwrap_or_default();
            inputs.push((name.to_string_lossy().into_owned(), content));
        }
        inputs.sort();
        Ok(inputs)
    }
}
