//! What is particular to each language.

use clap::ValueEnum;

/// A language that a plugin can be created in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// With the Rust SDK; a page of code.
    Rust,
    /// Python with grpcio, over SQLite.
    Python,
    /// Go with grpc-go, over files.
    Go,
    /// TypeScript with grpc-js, over files.
    #[value(name = "typescript")]
    TypeScript,
}

impl Language {
    /// The example that it is derived from.
    pub(super) fn example(self) -> &'static str {
        match self {
            Self::Rust => "examples/files-plugin",
            Self::Python => "examples/python-plugin",
            Self::Go => "examples/go-plugin",
            Self::TypeScript => "examples/typescript-plugin",
        }
    }

    /// Words of the example, and what stands there instead.
    pub(super) fn replacements(self, name: &str) -> Vec<(&'static str, String)> {
        let own = |word, text: &str| (word, text.replace("NAME", name));
        match self {
            Self::Rust => vec![
                own("files-plugin", "NAME-plugin"),
                own("files.example.org", "NAME.example.org"),
                own("/tmp/files", "/tmp/NAME"),
            ],
            Self::Python => vec![
                ("garden_plugin", format!("{}_plugin", name.replace('-', "_"))),
                own("garden-plugin", "NAME-plugin"),
                own("garden.example.org", "NAME.example.org"),
                own("/tmp/garden", "/tmp/NAME"),
                own("../../proto", "proto"),
            ],
            Self::Go => vec![
                own("example.org/press", "example.org/NAME"),
                own("press.example.org", "NAME.example.org"),
                own("/tmp/press", "/tmp/NAME"),
                own("../../proto", "proto"),
            ],
            Self::TypeScript => vec![
                own("bakery-plugin", "NAME-plugin"),
                own("bakery.example.org", "NAME.example.org"),
                own("/tmp/bakery", "/tmp/NAME"),
                own("../../proto", "proto"),
            ],
        }
    }

    /// What builds and runs it.
    pub(super) fn next_steps(self, name: &str) -> Vec<String> {
        let (build, command): (&[&str], String) = match self {
            Self::Rust => (
                &["cargo test", "cargo build"],
                format!("target/debug/{name}-plugin"),
            ),
            Self::Python => (
                &[
                    "python3 -m venv .venv",
                    ".venv/bin/pip install --require-hashes -r requirements.lock",
                    ".venv/bin/pip install --no-deps --no-build-isolation .",
                    ".venv/bin/python -m unittest discover -s tests",
                ],
                format!(".venv/bin/{name}-plugin"),
            ),
            Self::Go => (
                &["go generate ./...", "go test ./...", "go build -o plugin ."],
                "./plugin".to_owned(),
            ),
            Self::TypeScript => (
                &["npm ci", "npm run build", "npm test"],
                "node dist/main.js".to_owned(),
            ),
        };
        let mut steps: Vec<String> = build.iter().map(|step| (*step).to_owned()).collect();
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
