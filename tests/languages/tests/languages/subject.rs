//! The plugins that are killed: their kinds, what their objects hold, and what stands in their folders.

use std::path::Path;

use bridge_languages::{Author, Language, NewPlugin, binary};
use fastrand::Rng;
use serde_json::{Value, json};

use crate::{
    processes::{Plugin, group},
    upstream::{External, externals, files},
};

/// A plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The larger one of a language, with a synchronous kind and an asynchronous one.
    Example(Language),
    /// The page of Rust. What `new-plugin` writes in Rust is the same with other names.
    Files,
    /// What `new-plugin` writes.
    Scaffold(Language),
}

impl Subject {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Example(language) => language.name().to_owned(),
            Self::Files => "files".to_owned(),
            Self::Scaffold(language) => format!("new-{}", language.name()),
        }
    }

    pub(crate) fn group(self) -> &'static str {
        match self {
            Self::Example(language) => group(language),
            Self::Files => "files.example.org",
            Self::Scaffold(_) => "notes.example.org",
        }
    }

    /// How long it is killed, in seconds, if nobody says.
    pub(crate) fn seconds(self) -> u64 {
        match self {
            Self::Example(_) => 10,
            Self::Files | Self::Scaffold(_) => 5,
        }
    }

    /// Starts it; what it is built of is in the folder.
    pub(crate) async fn start(self, folder: &Path) -> Plugin {
        match self {
            Self::Example(language) => Plugin::start(language, folder).await,
            Self::Files => Plugin::run(binary("files-plugin").display().to_string(), "files", folder),
            Self::Scaffold(language) => {
                let command = scaffold(language, folder)
                    .await
                    .unwrap_or_else(|error| panic!("{error}"));
                Plugin::run(command, language.name(), folder)
            }
        }
    }

    pub(crate) fn kinds(self) -> &'static [&'static str] {
        match self {
            Self::Example(Language::Python) => &["Bed", "Plant"],
            Self::Example(Language::Go) => &["Page", "Book"],
            Self::Example(Language::TypeScript) => &["Recipe", "Loaf"],
            Self::Files => &["File"],
            Self::Scaffold(_) => &["Note"],
        }
    }

    /// All that its folder holds.
    pub(crate) fn externals(self, folder: &Path) -> Vec<External> {
        match self {
            Self::Example(language) => externals(language, folder),
            Self::Files => files("File", folder),
            Self::Scaffold(_) => files("Note", folder),
        }
    }
}

/// Builds a new plugin as its author would; the command line that starts it. Its tests and the kit have other tests of ours.
async fn scaffold(language: Language, folder: &Path) -> Result<String, bridge_languages::BuildError> {
    const BUILDS: [&str; 8] = [
        "cd ",
        "python3 -m venv ",
        ".venv/bin/pip install ",
        "go mod tidy",
        "go build ",
        "npm install",
        "npm run build",
        "mkdir ",
    ];
    let plugin = NewPlugin::create(Author::Other(language), "notes", "Note", false, folder).await?;
    let is_run = |line: &str| BUILDS.iter().any(|build| line.starts_with(build));
    plugin.run_printed_commands(is_run).await?;
    Ok(plugin.command())
}

/// The first parameters of an object.
pub(crate) fn created(kind: &str, name: &str, random: &mut Rng) -> Value {
    match kind {
        "Bed" => json!({ "soil": "loam", "metres": random.u32(1..100) }),
        "Plant" => json!({ "species": "basil", "growSeconds": random.u32(0..3) }),
        "Page" => json!({ "text": format!("This is {name}.") }),
        "Book" => json!({ "title": format!("Book {name}"), "pages": random.u32(1..6) }),
        "Recipe" => json!({ "title": name, "flourGrams": random.u32(1..1000) }),
        "Loaf" => json!({ "grams": 250, "bakeSeconds": random.u32(0..3) }),
        _ => json!({ "content": format!("This is {name}.") }),
    }
}

/// What may change of it.
pub(crate) fn changed(kind: &str, random: &mut Rng) -> Value {
    match kind {
        "Bed" => json!({ "soil": random.choice(["clay", "loam", "sand"]) }),
        "Plant" => json!({ "waterMillilitres": random.u32(1..1000) }),
        "Page" => json!({ "text": format!("Draft {}.", random.u32(..)) }),
        "Book" => json!({ "pages": random.u32(1..8) }),
        "Recipe" => json!({ "steps": ["knead", format!("wait {} minutes", random.u32(..))] }),
        "Loaf" => json!({ "glaze": format!("egg {}", random.u32(..)) }),
        _ => json!({ "content": format!("Draft {}.", random.u32(..)) }),
    }
}
