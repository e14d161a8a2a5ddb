//! Plugins as `runtime-bridge new-plugin` writes them, on the SDKs as authors install them.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use bridge_control_plane::process::Spawn;

use crate::{
    BuildError, Language, binary,
    build::{output, program, run, synchronized},
    crates::packed_crates,
    lint::lint,
    source, target,
};

/// A language that a plugin can be created in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// One in Rust.
    Rust,
    /// One in another language.
    Other(Language),
}

/// A plugin in a folder of its own.
#[derive(Debug)]
pub struct NewPlugin {
    /// The name that it was given.
    pub name: String,
    author: Author,
    scratch: PathBuf,
    /// The command lines that were printed, save the last, which needs a cluster.
    lines: Vec<String>,
}

impl Author {
    /// Every one of them.
    pub const ALL: [Self; 4] = [
        Self::Rust,
        Self::Other(Language::Python),
        Self::Other(Language::Go),
        Self::Other(Language::TypeScript),
    ];

    /// In lower case, as `--lang` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Other(language) => language.name(),
        }
    }
}

impl NewPlugin {
    /// Runs `new-plugin` in an empty folder. In Rust the plugin names the released version of the SDK, and cargo is configured to take what
    /// was packed for it; else `--sdk-path` names what was packed: a wheel, a tarball, or the folder of a module.
    ///
    /// # Errors
    /// What the tool said that failed.
    ///
    /// # Panics
    /// If other lines are printed than those that build and judge it.
    pub async fn create(
        author: Author,
        name: &str,
        kind: &str,
        is_asynchronous: bool,
        scratch: &Path,
    ) -> Result<Self, BuildError> {
        let sdk = match author {
            Author::Rust => {
                let config = scratch.join(".cargo/config.toml");
                write(&config, &packed_crates().await?)?;
                None
            }
            Author::Other(language) => Some(language.sdk().await?),
        };
        Self::create_on(author, name, kind, is_asynchronous, scratch, sdk).await
    }

    /// Likewise, on the folder of the SDK in a checkout, as README has it: a copy, as package managers build in it.
    ///
    /// # Errors
    /// What the tool said that failed.
    pub async fn create_on_checkout(author: Author, name: &str, scratch: &Path) -> Result<Self, BuildError> {
        let sdk = checkout(author).await?;
        Self::create_on(author, name, "Shelf", false, scratch, Some(sdk)).await
    }

    async fn create_on(
        author: Author,
        name: &str,
        kind: &str,
        is_asynchronous: bool,
        scratch: &Path,
        sdk: Option<PathBuf>,
    ) -> Result<Self, BuildError> {
        let command = Spawn::new(binary("runtime-bridge"))
            .args([
                "new-plugin",
                name,
                "--kind",
                kind,
                "--lang",
                author.name(),
                "--dir",
            ])
            .arg(scratch.join("plugin"))
            .args(is_asynchronous.then_some("--asynchronous"));
        let command = match sdk {
            Some(sdk) => command.arg("--sdk-path").arg(sdk),
            None => command,
        };
        let mut lines: Vec<String> = output(command)
            .await?
            .lines()
            .filter_map(|line| Some(line.strip_prefix("  ")?.to_owned()))
            .collect();
        let last = lines.pop().unwrap_or_default();
        assert!(last.starts_with("runtime-bridge dev "), "{last}");
        Ok(Self {
            name: name.to_owned(),
            author,
            scratch: scratch.to_owned(),
            lines,
        })
    }

    /// Where it is.
    pub fn folder(&self) -> PathBuf {
        self.scratch.join("plugin")
    }

    /// Runs the lines as they are printed, save that the plugin's data is in a folder of its own, and those that the filter leaves out.
    ///
    /// # Errors
    /// What they said, when one fails.
    pub async fn run_printed_commands(&self, is_run: impl Fn(&str) -> bool) -> Result<(), BuildError> {
        let data = self.scratch.join("data").display().to_string();
        let lines: Vec<&str> = self
            .lines
            .iter()
            .map(String::as_str)
            .filter(|line| is_run(line))
            .collect();
        let script = lines.join("\n").replace(&format!("/tmp/{}", self.name), &data);
        if self.author == Author::Rust {
            self.keep_what_cargo_built()?;
        }
        let kit = binary("provider-conformance");
        let path = format!(
            "{}:{}",
            kit.parent().unwrap_or(Path::new("/")).display(),
            std::env::var("PATH").unwrap_or_default()
        );
        // The compiler with more lints in it, for the plugin itself and no crate that it needs.
        let lints = (self.author == Author::Rust).then_some([
            ("RUSTC_WORKSPACE_WRAPPER", "clippy-driver"),
            ("CLIPPY_ARGS", "-Dwarnings"),
        ]);
        let shell = Spawn::new("bash")
            .args(["-euc", &script])
            .env("PATH", path)
            .env("CARGO_NET_OFFLINE", "true")
            .env("CARGO_PROFILE_DEV_DEBUG", "false")
            // Whoever times the tests asks for it; cargo would build for it anew.
            .env_remove("RUSTC_BOOTSTRAP")
            .current_dir(&self.scratch);
        let shell = lints
            .into_iter()
            .flatten()
            .fold(shell, |shell, (name, value)| shell.env(name, value));
        run(shell).await
    }

    /// The versions that are here already, and what was built of them the last time.
    fn keep_what_cargo_built(&self) -> Result<(), BuildError> {
        let lock = self.folder().join("Cargo.lock");
        fs::copy(source::repository().join("Cargo.lock"), &lock).map_err(BuildError::file(&lock))?;
        let made = target().join("languages/rust");
        fs::create_dir_all(&made).map_err(BuildError::file(&made))?;
        let link = self.folder().join("target");
        symlink(&made, &link).map_err(BuildError::file(&link))
    }

    /// The command line that starts it, once it is built.
    pub fn command(&self) -> String {
        let folder = self.folder();
        let folder = folder.display();
        match self.author {
            // Not by the link: it ends with the folder.
            Author::Rust => target()
                .join(format!("languages/rust/debug/{}-plugin", self.name))
                .display()
                .to_string(),
            Author::Other(Language::Python) => format!("{folder}/.venv/bin/{}-plugin", self.name),
            Author::Other(Language::Go) => format!("{folder}/plugin"),
            Author::Other(Language::TypeScript) => format!("node {folder}/dist/main.js"),
        }
    }

    /// Runs the formatter, the linters and the type checker of its language.
    ///
    /// # Errors
    /// What they found.
    pub async fn lint(&self) -> Result<(), BuildError> {
        match self.author {
            Author::Rust => run(program(&self.folder(), "cargo", &["fmt", "--check"])).await,
            Author::Other(language) => lint(language, &self.folder()).await,
        }
    }
}

/// The SDK in a copy of what it needs of the repository, which is where the last one was: nothing is built anew that has not changed.
async fn checkout(author: Author) -> Result<PathBuf, BuildError> {
    let root = target().join("languages/checkout");
    let sdk = format!("sdk/{}", author.name());
    for shared in ["proto", &sdk] {
        synchronized(shared, &root).await?;
    }
    if author == Author::Rust {
        // The versions of its workspace.
        let manifest = source::read(source::repository().join("Cargo.toml"))?;
        let copy = root.join("Cargo.toml");
        if !source::read(&copy).is_ok_and(|former| former == manifest) {
            write(&copy, &manifest)?;
        }
    }
    Ok(root.join(sdk))
}

fn write(path: &Path, text: &str) -> Result<(), BuildError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(BuildError::file(folder))?;
    }
    fs::write(path, text).map_err(BuildError::file(path))
}
