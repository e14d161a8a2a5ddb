//! The files of a new plugin: those of its language's scaffold (in Rust, of the example), with its own names.

use std::{collections::BTreeMap, path::Path};

use super::language::Language;

include!(concat!(env!("OUT_DIR"), "/templates.rs"));

const SCAFFOLD: &str = "runtime-bridge/src/new_plugin/scaffold";

/// What the new plugin is called.
pub(super) struct Names<'a> {
    /// Of the plugin: `acme`.
    pub(super) plugin: &'a str,
    /// Of its kind: `Bucket`.
    pub(super) kind: &'a str,
    /// Creating takes longer than a call.
    pub(super) is_asynchronous: bool,
}

/// The files of a new plugin: their texts, by their paths below its folder.
pub(super) fn files(language: Language, names: &Names<'_>, sdk: Option<&Path>) -> BTreeMap<String, String> {
    let steps = language.next_steps(names.plugin, sdk).join("\n");
    let sdk = language.sdk(sdk);
    let own = |text: &str| {
        text.replace("__NAME__", names.plugin)
            .replace("__KIND__", names.kind)
            .replace("__SDK__", &sdk)
            .replace("__FILE__", language.main_file())
            .replace("__STEPS__", &steps)
    };
    let scaffold = |folder: &str| {
        let files = below(format!("{SCAFFOLD}/{folder}/"));
        files.map(|(path, text)| (path.to_owned(), own(text)))
    };
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    files.extend(scaffold("shared"));
    files.extend(scaffold(language.folder()));
    files.extend(
        below("deploy/bridge.yaml").map(|(_, text)| ("deploy.yaml".to_owned(), deployed(text, names))),
    );
    if language == Language::Rust {
        // A workspace of its own; what its tests need of the repository is left out.
        let example = below("examples/files-plugin/").filter(|(path, _)| !path.starts_with("tests/"));
        files.retain(|path, _| !path.starts_with("manifests/"));
        files.extend(example.map(|(path, text)| (path.to_owned(), of_example(text, names))));
        files.insert("Cargo.toml".to_owned(), manifest(names.plugin, &sdk));
    }
    if names.is_asynchronous {
        files.extend(scaffold(&format!("asynchronous/{}", language.folder())));
    }
    files
}

/// What was collected below a path, by the rest of its path.
fn below(prefix: impl Into<String>) -> impl Iterator<Item = (&'static str, &'static str)> {
    let prefix = prefix.into();
    FILES
        .iter()
        .filter_map(move |(path, text)| Some((path.strip_prefix(prefix.as_str())?, *text)))
}

/// The manifest of a bridge with the AWS plugin, with this plugin instead.
fn deployed(text: &str, names: &Names<'_>) -> String {
    const GROUP: &str = "      - aws.crossbridge.dev\n";
    let is_of_service = |line: &str| line.starts_with("      - ") && line.ends_with(".aws.crossbridge.dev");
    let lines: Vec<&str> = text.lines().filter(|line| !is_of_service(line)).collect();
    (lines.join("\n") + "\n")
        .replace(GROUP, &format!("      - {}.example.org\n", names.plugin))
        .replace("aws.crossbridge.dev=", &format!("{}.example.org=", names.plugin))
        .replace("bridge-aws", &format!("bridge-{}", names.plugin))
        .replace("provider-aws-example", &format!("{}-plugin", names.plugin))
        .replace("deploy/bridge.yaml", "deploy.yaml")
        .replace(
            "the two below; deploy/Dockerfile builds them.",
            "the two below; Dockerfile builds the plugin's.",
        )
}

/// The Rust example with other names. `File` is its kind, save where it is another library's.
fn of_example(text: &str, names: &Names<'_>) -> String {
    let text = text
        .replace("files-plugin", &format!("{}-plugin", names.plugin))
        .replace("files.example.org", &format!("{}.example.org", names.plugin))
        .replace("/tmp/files", &format!("/tmp/{}", names.plugin));
    let mut renamed = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find("File") {
        let (before, after) = (&rest[..at], &rest[at + "File".len()..]);
        let is_word_byte = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':';
        let is_whole = !before.bytes().next_back().is_some_and(is_word_byte)
            && !after
                .bytes()
                .next()
                .is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        renamed.push_str(before);
        renamed.push_str(if is_whole { names.kind } else { "File" });
        rest = after;
    }
    renamed + rest
}

fn manifest(name: &str, sdk: &str) -> String {
    format!(
        r#"[package]
name = "{name}-plugin"
version = "0.1.0"
edition = "2024"

[dependencies]
crossbridge-sdk = {{ {sdk} }}
schemars = "1"
serde = {{ version = "1", features = ["derive"] }}
tokio = {{ version = "1", features = ["fs", "io-util", "macros", "rt-multi-thread"] }}

[dev-dependencies]
crossbridge-sdk = {{ {sdk}, features = ["testing"] }}
tempfile = "3"

[workspace]
"#
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::new_plugin::TAKEN;

    const NAMES: Names<'_> = Names {
        plugin: "acme",
        kind: "Bucket",
        is_asynchronous: false,
    };
    const ASYNCHRONOUS: Names<'_> = Names {
        is_asynchronous: true,
        ..NAMES
    };

    /// Every plugin that can be created.
    fn plugins() -> impl Iterator<Item = (Language, &'static Names<'static>)> {
        let both = |language| [(language, &NAMES), (language, &ASYNCHRONOUS)];
        Language::ALL.into_iter().flat_map(both)
    }

    #[test]
    fn no_other_name_is_left() {
        const FORMER: [&str; 9] = [
            "__NAME__",
            "__KIND__",
            "__SDK__",
            "__FILE__",
            "__STEPS__",
            "files.example.org",
            "\"File\"",
            "kind: File",
            "aws",
        ];
        for (language, names) in plugins() {
            let files = files(language, names, None);
            for (path, text) in &files {
                for word in FORMER {
                    assert!(
                        !text.contains(word) && !path.contains(word),
                        "{language:?} {path}: {word}"
                    );
                }
            }
            assert!(
                files["manifests/2-notes.yaml"].contains("kind: Bucket\n"),
                "{language:?}"
            );
            assert!(
                files[language.main_file()].contains("acme.example.org"),
                "{language:?}"
            );
        }
    }

    #[test]
    fn every_plugin_has_what_one_needs() {
        for (language, names) in plugins() {
            let files = files(language, names, None);
            for path in [
                "README.md",
                "Dockerfile",
                ".dockerignore",
                "deploy.yaml",
                "manifests/1-config.yaml",
                ".gitignore",
            ] {
                assert!(files.contains_key(path), "{language:?}: {path}");
            }
            assert!(
                files.keys().any(|path| path.contains("test")),
                "{language:?}: a unit test"
            );
            assert!(files["deploy.yaml"].contains("image: acme-plugin:latest"));
            assert!(files["deploy.yaml"].contains("      - acme.example.org\n"));
        }
    }

    #[test]
    fn a_kind_is_a_page_of_code() {
        for (language, names) in plugins() {
            let files = files(language, names, None);
            let lines = files[language.main_file()].lines().count();
            let most = if names.is_asynchronous { 140 } else { 90 };
            assert!(lines <= most, "{language:?}: {lines} of {most}");
            // Where a second file starts the plugin, the two are no more than half as much again.
            let is_code = |path: &str| [".rs", ".py", ".go", ".ts"].iter().any(|end| path.ends_with(end));
            let code = files
                .iter()
                .filter(|(path, _)| is_code(path) && !path.contains("test"));
            let lines: usize = code.map(|(_, text)| text.lines().count()).sum();
            assert!(lines <= most + 45, "{language:?}: {lines} of {most} and 45");
        }
    }

    /// Code without its texts and comments.
    fn code(text: &str, comment: &str) -> String {
        let mut code = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let (delimiter, end) = match rest {
                _ if rest.starts_with(r#"""""#) => (r#"""""#, r#"""""#),
                _ if rest.starts_with('"') => ("\"", "\""),
                _ if rest.starts_with(comment) => (comment, "\n"),
                _ => {
                    code.push(first);
                    rest = &rest[first.len_utf8()..];
                    continue;
                }
            };
            let mut after = &rest[delimiter.len()..];
            while !after.is_empty() && !after.starts_with(end) {
                let mut characters = after.chars();
                if characters.next() == Some('\\') {
                    characters.next();
                }
                after = characters.as_str();
            }
            code.push('\n');
            rest = after.strip_prefix(end).unwrap_or_default();
        }
        code
    }

    /// The capitalised names that stand for something of their own: not `fs::File`, unless it is imported, and not `module.Name`.
    fn names(code: &str) -> BTreeSet<&str> {
        let is_import = |at: usize| {
            let statement = code[..at].rfind(';').map_or(0, |end| end + 1);
            code[statement..at].trim_start().starts_with("use ")
        };
        let mut names = BTreeSet::new();
        let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
        for (at, _) in code.match_indices(|character: char| character.is_ascii_uppercase()) {
            let before = &code[..at];
            let is_qualified = before.ends_with('.') || (before.ends_with("::") && !is_import(at));
            if !before.ends_with(is_word) && !is_qualified {
                let length = code[at..].find(|character: char| !is_word(character));
                names.insert(&code[at..length.map_or(code.len(), |length| at + length)]);
            }
        }
        names
    }

    /// In Go and TypeScript the name of a kind meets no other: names of a package's own begin in lower case, and a kind is a value.
    #[test]
    fn what_has_another_meaning_is_no_kind() {
        for (language, names_of_plugin) in plugins() {
            let (extension, comment) = match language {
                Language::Rust => (".rs", "//"),
                Language::Python => (".py", "#"),
                Language::Go | Language::TypeScript => continue,
            };
            for (path, text) in files(language, names_of_plugin, None) {
                if !path.ends_with(extension) {
                    continue;
                }
                for name in names(&code(&text, comment)) {
                    assert!(
                        name == "Bucket" || TAKEN.contains(&name),
                        "{language:?} {path}: {name} is not in TAKEN"
                    );
                }
            }
        }
    }

    #[test]
    fn an_asynchronous_kind_is_polled() {
        for (language, names) in plugins() {
            let code = &files(language, names, None)[language.main_file()];
            assert_eq!(
                code.to_lowercase().contains(" poll("),
                names.is_asynchronous,
                "{language:?}"
            );
        }
    }

    #[test]
    fn the_sdk_is_a_release_or_a_path() {
        let line = |language, manifest: &str, sdk| files(language, &NAMES, sdk)[manifest].clone();
        let path = Some(Path::new("/sdk"));
        let cases = [
            (
                Language::Rust,
                "Cargo.toml",
                "crossbridge-sdk = { version = \"",
                "crossbridge-sdk = { path = \"/sdk\" }",
            ),
            (
                Language::Python,
                "pyproject.toml",
                "\"crossbridge-sdk==",
                "\"crossbridge-sdk @ file:///sdk\"",
            ),
            (
                Language::Go,
                "go.mod",
                "require crossbridge.dev/sdk/go v",
                "replace crossbridge.dev/sdk/go => /sdk",
            ),
            (
                Language::TypeScript,
                "package.json",
                "\"@crossbridge/sdk\": \"0",
                "\"@crossbridge/sdk\": \"file:/sdk\"",
            ),
        ];
        for (language, manifest, released, local) in cases {
            assert!(line(language, manifest, None).contains(released), "{language:?}");
            assert!(line(language, manifest, path).contains(local), "{language:?}");
        }
    }

    #[test]
    fn a_library_s_file_keeps_its_name() {
        let text = "impl Resource for File { fs::File::open } Files, kind: File";
        assert_eq!(
            of_example(text, &NAMES),
            "impl Resource for Bucket { fs::File::open } Files, kind: Bucket"
        );
    }
}
