//! Every plugin passes the kit, at all levels.

use bridge_languages::{Language, conforms};

async fn example_conforms(language: Language) {
    let plugin = language.example().await.unwrap_or_else(|error| panic!("{error}"));
    conforms(&plugin, language == Language::Python).await;
}

#[tokio::test]
async fn the_plugin_in_python_conforms() {
    example_conforms(Language::Python).await;
}

#[tokio::test]
async fn the_plugin_in_go_conforms() {
    example_conforms(Language::Go).await;
}

#[tokio::test]
async fn the_plugin_in_typescript_conforms() {
    example_conforms(Language::TypeScript).await;
}
