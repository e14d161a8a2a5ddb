//! What is particular to each language.

use std::{fmt::Write as _, path::Path};

use clap::ValueEnum;

use crate::output::shell_word;

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
        let url = path.map(file_url).unwrap_or_default();
        let path = path.map(Path::to_string_lossy);
        match (self, path) {
            (Self::Rust, None) => format!("version = {version:?}"),
            (Self::Rust, Some(path)) => format!("path = {path:?}"),
            (Self::Python, None) => format!("crossbridge-sdk=={version}"),
            (Self::Python, Some(_)) => format!("crossbridge-sdk @ {url}"),
            (Self::Go, None) => format!("v{version}"),
            (Self::Go, Some(path)) => format!("v{version}\n\nreplace crossbridge.dev/sdk/go => {path}"),
            (Self::TypeScript, None) => version.to_owned(),
            (Self::TypeScript, Some(path)) => format!("file:{path}"),
        }
    }

    /// What builds, tests and runs it. npm builds no package that it finds in a folder.
    pub(super) fn next_steps(self, name: &str, sdk: Option<&Path>) -> Vec<String> {
        let first: Vec<String> = match sdk.filter(|path| path.is_dir()) {
            Some(path) if self == Self::TypeScript => ["ci", "run build"]
                .map(|step| format!("npm --prefix {} {step}", shell_word(path)))
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

/// An absolute path as a URL, by RFC 3986: pip takes no requirement with a space in it.
fn file_url(path: &Path) -> String {
    let mut url = "file://".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                url.push(char::from(*byte));
            }
            _ => {
                let _ = write!(url, "%{byte:02X}");
            }
        }
    }
    url
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// The first step with this SDK.
    fn first_step(sdk: &Path) -> String {
        Language::TypeScript.next_steps("acme", Some(sdk)).swap_remove(0)
    }

    #[test]
    fn a_folder_with_a_dot_is_built_and_a_tarball_is_not() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = scratch.path().join("my sdk-0.1");
        fs::create_dir(&folder).unwrap();
        let words = shlex::split(&first_step(&folder)).unwrap();
        assert_eq!(words, ["npm", "--prefix", folder.to_str().unwrap(), "ci"]);
        let tarball = scratch.path().join("tarball");
        fs::write(&tarball, "").unwrap();
        assert_eq!(first_step(&tarball), "npm install");
    }

    #[test]
    fn a_path_is_escaped_in_a_requirement_of_python() {
        let requirement = |path: &str| Language::Python.sdk(Some(Path::new(path)));
        assert_eq!(
            requirement("/home/a/sdk/python"),
            "crossbridge-sdk @ file:///home/a/sdk/python"
        );
        assert_eq!(
            requirement("/home/a b/50%/é\"#"),
            "crossbridge-sdk @ file:///home/a%20b/50%25/%C3%A9%22%23"
        );
    }
}
