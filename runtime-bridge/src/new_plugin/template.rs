//! The files of a new plugin: those of the example, its names replaced.

use std::{collections::BTreeMap, path::Path};

use super::language::Language;

include!(concat!(env!("OUT_DIR"), "/templates.rs"));

const CONTRACT: &str = "proto/";

/// The files of a new plugin: their texts, by their paths below its folder.
pub(super) fn files(language: Language, name: &str, sdk: Option<&Path>) -> BTreeMap<String, String> {
    let replacements = language.replacements(name);
    let own = |text: &str| {
        replacements
            .iter()
            .fold(text.to_owned(), |text, (word, own)| text.replace(word, own))
    };
    let example = format!("{}/", language.example());
    let of_example = FILES
        .iter()
        .filter_map(|(path, text)| Some((path.strip_prefix(&example)?, *text)));
    let mut files: BTreeMap<String, String> = of_example.map(|(path, text)| (own(path), own(text))).collect();
    if language == Language::Rust {
        // A workspace of its own, and the SDK instead of the contract.
        files.retain(|path, _| !path.starts_with("tests/"));
        files.insert("Cargo.toml".to_owned(), manifest(name, sdk));
    } else {
        let contract = FILES.iter().filter(|(path, _)| path.starts_with(CONTRACT));
        files.extend(contract.map(|(path, text)| ((*path).to_owned(), (*text).to_owned())));
    }
    files
}

fn manifest(name: &str, sdk: Option<&Path>) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let sdk = sdk.map_or_else(
        || format!("version = {version:?}"),
        |path| format!("path = {:?}", path.to_string_lossy()),
    );
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
    use super::*;

    #[test]
    fn no_name_of_the_example_is_left() {
        let former = [
            (Language::Rust, "files.example.org"),
            (Language::Python, "garden_plugin"),
            (Language::Python, "garden.example.org"),
            (Language::Go, "press.example.org"),
            (Language::TypeScript, "bakery.example.org"),
        ];
        for (language, word) in former {
            let files = files(language, "acme", None);
            assert!(
                files.values().any(|text| text.contains("acme.example.org")),
                "{language:?}"
            );
            for (path, text) in files {
                assert!(
                    !path.contains(word) && !text.contains(word),
                    "{language:?} {path}"
                );
                assert!(!text.contains("../../proto"), "{language:?} {path}");
            }
        }
    }

    #[test]
    fn the_contract_is_copied_where_stubs_are_generated() {
        let proto = "proto/crossbridge/provider/v1alpha1/resource_service.proto";
        for language in [Language::Python, Language::Go, Language::TypeScript] {
            assert!(files(language, "acme", None).contains_key(proto), "{language:?}");
        }
        let rust = files(Language::Rust, "acme", Some(Path::new("/sdk")));
        assert!(!rust.contains_key(proto));
        assert!(rust["Cargo.toml"].contains(r#"crossbridge-sdk = { path = "/sdk" }"#));
    }

    #[test]
    fn a_plugin_in_rust_has_a_unit_test() {
        let rust = files(Language::Rust, "acme", None);
        assert!(rust["src/main.rs"].contains("#[cfg(test)]\nmod tests;\n"));
        assert!(rust["src/tests.rs"].contains(".killed_in_create("));
        assert!(rust["Cargo.toml"].contains(r#"features = ["testing"]"#));
    }
}
