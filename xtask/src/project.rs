//! The folders of the project, and what cargo and git report of it.

use std::path::{Path, PathBuf};

use bridge_control_plane::process::Spawn;
use serde_json::Value;

use crate::Failure;
use crate::run::{cargo, output};

/// The root of the repository and Cargo's target folder.
#[derive(Debug)]
pub(crate) struct Project {
    /// The folder of the repository.
    pub(crate) root: PathBuf,
    target: PathBuf,
}

impl Project {
    pub(crate) async fn find() -> Result<Self, Failure> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let metadata =
            output(cargo(here).args(["metadata", "--format-version=1", "--no-deps", "--locked"])).await?;
        let metadata: Value = serde_json::from_str(&metadata)
            .map_err(|error| Failure::new(format!("cannot read the output of `cargo metadata`: {error}")))?;
        let folder = |name: &str| match metadata[name].as_str() {
            Some(path) => Ok(PathBuf::from(path)),
            None => Err(Failure::new(format!("`cargo metadata` has no {name}"))),
        };
        Ok(Self {
            root: folder("workspace_root")?,
            target: folder("target_directory")?,
        })
    }

    /// A folder for what a command builds.
    pub(crate) fn scratch(&self, name: &str) -> PathBuf {
        self.target.join(name)
    }

    /// A binary of the workspace, as built for development.
    pub(crate) fn binary(&self, name: &str) -> PathBuf {
        self.target.join("debug").join(name)
    }

    /// The commit that the tree is of, abbreviated. Fails where anything but this file differs from it.
    pub(crate) async fn clean_commit(&self, but: &str) -> Result<String, Failure> {
        let git = |args: &[&str]| output(Spawn::new("git").args(args).current_dir(&self.root));
        let changed = git(&["status", "--porcelain", "--", ".", &format!(":!{but}")]).await?;
        if !changed.trim().is_empty() {
            return Err(Failure::new(format!(
                "the numbers of {but} stand with the commit that they are of: commit or stash first what is changed:\n{changed}"
            )));
        }
        let head = git(&["rev-parse", "--short=8", "HEAD"]).await?;
        Ok(head.trim().to_owned())
    }

    /// A number that the commit chooses: what is too much for every commit rotates with it.
    pub(crate) async fn head(&self) -> Result<u64, Failure> {
        let head = Spawn::new("git")
            .args(["rev-parse", "HEAD"])
            .current_dir(&self.root);
        let head = output(head).await?;
        u64::from_str_radix(head.get(..8).unwrap_or_default(), 16)
            .map_err(|_| Failure::new(format!("git reports no commit, but {head:?}")))
    }

    /// Where results go that another command reads.
    pub(crate) fn results(&self) -> Result<PathBuf, Failure> {
        let folder = self.target.join("reliability");
        std::fs::create_dir_all(&folder)
            .map_err(|error| Failure::new(format!("cannot create {}: {error}", folder.display())))?;
        Ok(folder)
    }
}
