//! What is particular to each language: how a plugin is built, and how it is started.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bridge_control_plane::process::ScratchDir;

use crate::{
    build::{BuildError, build_in_copy, install, program, run},
    lint::lint,
    sdk, source,
};

/// A language that a plugin is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Python, over grpcio.
    Python,
    /// Go, over grpc-go.
    Go,
    /// TypeScript on Node.js, over grpc-js.
    TypeScript,
}

impl Language {
    /// Every language of `examples/`.
    pub const ALL: [Self; 3] = [Self::Python, Self::Go, Self::TypeScript];

    /// In lower case, as in the names of folders.
    pub fn name(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::Go => "go",
            Self::TypeScript => "typescript",
        }
    }

    /// The plugin's source in this repository.
    pub fn source(self) -> PathBuf {
        source::repository().join(format!("examples/{}-plugin", self.name()))
    }

    /// The SDK as authors install it, built and tested: a wheel, the folder of a module, or a tarball.
    ///
    /// # Errors
    /// What the tool said that failed.
    pub async fn sdk(self) -> Result<PathBuf, BuildError> {
        sdk::package(self).await
    }

    /// The example, built; how it is started.
    ///
    /// # Errors
    /// What the tool said that failed.
    pub async fn example(self) -> Result<String, BuildError> {
        let name = format!("{}-plugin", self.name());
        build_in_copy(self, &self.source(), Path::new("examples").join(name)).await
    }

    /// The example's next build, which reports another version; how it is started.
    ///
    /// # Errors
    /// What the tool said that failed.
    pub async fn next_build(self) -> Result<String, BuildError> {
        let scratch = ScratchDir::new("crossbridge-next-").map_err(BuildError::file("a scratch folder"))?;
        source::mirror(&self.source(), scratch.path(), &[])?;
        let said = scratch.path().join(self.version_file());
        let text = source::read(&said)?.replace(r#""0.1.0""#, r#""0.2.0""#);
        fs::write(&said, text).map_err(BuildError::file(&said))?;
        let name = format!("{}-plugin", self.name());
        build_in_copy(self, scratch.path(), Path::new("next").join(name)).await
    }

    /// Where its version stands.
    fn version_file(self) -> &'static str {
        match self {
            Self::Python => "pyproject.toml",
            Self::Go => "main.go",
            Self::TypeScript => "package.json",
        }
    }

    /// The file that pins what is installed, if installing is a step of its own.
    pub(crate) fn lock(self) -> Option<&'static str> {
        match self {
            Self::Python => Some("requirements.lock"),
            Self::Go => None,
            Self::TypeScript => Some("package-lock.json"),
        }
    }

    /// What is kept from one build to the next.
    pub(crate) fn kept(self) -> &'static [&'static str] {
        match self {
            Self::Python => &[".venv"],
            Self::Go => &[],
            Self::TypeScript => &["node_modules"],
        }
    }

    pub(crate) async fn install(self, at: &Path) -> Result<(), BuildError> {
        match self {
            Self::Python => {
                run(program(at, "python3", &["-m", "venv", "--clear", ".venv"])).await?;
                let pins = [
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                    "--require-hashes",
                    "-r",
                    "requirements.lock",
                ];
                install(|| program(at, ".venv/bin/pip", &pins)).await
            }
            // Not before the SDK is in its place.
            Self::Go => Ok(()),
            Self::TypeScript => {
                let pins = [
                    "ci",
                    "--ignore-scripts",
                    "--no-audit",
                    "--no-fund",
                    "--loglevel=error",
                ];
                install(|| program(at, "npm", &pins)).await
            }
        }
    }

    /// Puts the SDK of this repository in the place of the one that the folder names.
    pub(crate) async fn install_sdk(self, at: &Path, package: &Path) -> Result<(), BuildError> {
        let package = package.display().to_string();
        match self {
            Self::Python => run(program(at, ".venv/bin/pip", &sdk::wheel_install(&package))).await,
            Self::Go => {
                let module = format!("-replace=crossbridge.dev/sdk/go={package}");
                run(program(at, "go", &["mod", "edit", &module])).await?;
                install(|| program(at, "go", &["mod", "download"])).await
            }
            Self::TypeScript => {
                let tarball = [
                    "install",
                    "--no-save",
                    "--ignore-scripts",
                    "--no-audit",
                    "--no-fund",
                    "--prefer-offline",
                    "--loglevel=error",
                    &package,
                ];
                run(program(at, "npm", &tarball)).await
            }
        }
    }

    /// Builds it, and runs its own tests and the linters: what is built has passed them.
    pub(crate) async fn compile(self, at: &Path) -> Result<(), BuildError> {
        match self {
            Self::Python => {
                let pins = [
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                    "--no-deps",
                    "--no-build-isolation",
                    "--force-reinstall",
                    ".",
                ];
                run(program(at, ".venv/bin/pip", &pins)).await?;
                let tests = ["-m", "unittest", "discover", "-s", "tests"];
                run(program(at, ".venv/bin/python", &tests)).await
            }
            Self::Go => {
                run(program(at, "go", &["test", "./..."])).await?;
                run(program(at, "go", &["build", "-o", "plugin", "."])).await
            }
            Self::TypeScript => {
                run(program(at, "npm", &["run", "--silent", "build"])).await?;
                run(program(at, "npm", &["test", "--silent"])).await
            }
        }?;
        lint(self, at).await
    }

    /// The command line that starts it.
    pub(crate) fn command(self, at: &Path) -> Result<String, BuildError> {
        let at = at.display();
        Ok(match self {
            Self::Python => {
                // The one script of the project.
                let manifest = source::read(format!("{at}/pyproject.toml"))?;
                let script = manifest
                    .split("[project.scripts]")
                    .nth(1)
                    .and_then(|rest| rest.split_whitespace().next());
                format!("{at}/.venv/bin/{}", script.unwrap_or_default())
            }
            Self::Go => format!("{at}/plugin"),
            Self::TypeScript => format!("node {at}/dist/main.js"),
        })
    }
}
