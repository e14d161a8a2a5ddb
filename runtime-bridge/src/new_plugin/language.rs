//! What is particular to each language.

use std::path::Path;

use clap::ValueEnum;

/// A language that a plugin can be created in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Rust.
    Rust,
    /// Python, from 3.11.
    Python,
    /// Go.
    Go,
    /// TypeScript on Node.js, from 20.
    #[value(name = "typescript")]
    TypeScript,
}

impl Language {
    #[cfg(test)]
    pub(super) const ALL: [Self; 4] = [Self::Rust, Self::Python, Self::Go, Self::TypeScript];

    /// In lower case, as in the names of folders.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::Go => "go",
            Self::TypeScript => "typescript",
        }
    }

    /// The file that has the kind.
    pub(super) fn main_file(self) -> &'static str {
        match self {
            Self::Rust => "src/main.rs",
            Self::Python => "plugin.py",
            Self::Go => "plugin.go",
            Self::TypeScript => "src/plugin.ts",
        }
    }

    /// The SDK as its package manager names it: what lies at this absolute path, or the released version.
    pub(super) fn sdk(self, path: Option<&Path>) -> String {
        let version = env!("CARGO_PKG_VERSION");
        let path = path.map(Path::to_string_lossy);
        match (self, path) {
            (Self::Rust, None) => format!("version = {version:?}"),
            (Self::Rust, Some(path)) => format!("path = {path:?}"),
            (Self::Python, None) => format!("crossbridge-sdk=={version}"),
            (Self::Python, Some(path)) => format!("crossbridge-sdk @ file://{path}"),
            (Self::Go, None) => format!("v{version}"),
            (Self::Go, Some(path)) => format!("v{version}\n\nreplace crossbridge.dev/sdk/go => {path}"),
            (Self::TypeScript, None) => version.to_owned(),
            (Self::TypeScript, Some(path)) => format!("file:{path}"),
        }
    }

    /// What builds, tests and runs it. npm builds no package that it finds in a folder.
    pub(super) fn next_steps(self, name: &str, sdk: Option<&Path>) -> Vec<String> {
        let is_folder = |path: &&Path| path.extension().is_none();
        let first: Vec<String> = match sdk.filter(is_folder) {
            Some(path) if self == Self::TypeScript => ["ci", "run build"]
                .map(|step| format!("npm --prefix {} {step}", path.display()))
                .into(),
            _ => Vec::new(),
        };
        let (build, command): (&[&str], String) = match self {
            Self::Rust => (
                &["cargo test", "cargo build"],
                format!("target/debug/{name}-plugin"),
            ),
            Self::Python => (
                &[
                    "python3 -m venv .venv",
                    ".venv/bin/pip install --editable .",
                    ".venv/bin/python -m unittest",
                ],
                format!(".venv/bin/{name}-plugin"),
            ),
            Self::Go => (
                &[
                    "go mod tidy",
                    "go vet ./...",
                    "go test ./...",
                    "go build -o plugin .",
                ],
                "./plugin".to_owned(),
            ),
            Self::TypeScript => (
                &["npm install", "npm run build", "npm test"],
                "node dist/main.js".to_owned(),
            ),
        };
        let mut steps = first;
        steps.extend(build.iter().map(|step| (*step).to_owned()));
        steps.push(format!("mkdir -p /tmp/{name}"));
        steps.push(format!(
            "provider-conformance --plugin-command {command:?} --setting folder=/tmp/{name}"
        ));
        steps.push(format!(
            "runtime-bridge dev --plugin-command {command:?} --apply manifests"
        ));
        steps
    }
}
