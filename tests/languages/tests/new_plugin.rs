//! What `runtime-bridge new-plugin` writes builds, and passes the kit, as it is.

use std::{fs, path::Path};

use bridge_control_plane::process::{ScratchDir, Spawn};
use bridge_languages::{Language, Trial, binary, built, target};

const NAME: &str = "acme-2";

async fn succeeds(program: Spawn) {
    assert!(program.spawn().expect("it starts").wait().await.success());
}

async fn new(language: &str, folder: &Path, more: &[&str]) {
    let command = Spawn::new(binary("runtime-bridge"))
        .args(["new-plugin", NAME, "--lang", language, "--dir"])
        .arg(folder)
        .args(more);
    succeeds(command).await;
}

async fn a_new_plugin_conforms(language: Language) {
    let folder = ScratchDir::new("crossbridge-new-plugin-").expect("a folder");
    new(language.name(), folder.path(), &[]).await;
    let plugin = built(language, folder.path(), format!("new/{}", language.name())).await;
    let plugin = plugin.unwrap_or_else(|error| panic!("{error}"));
    Trial::new(&plugin, language == Language::Python).verdict().await;
}

#[tokio::test]
async fn a_new_plugin_in_python_conforms() {
    a_new_plugin_conforms(Language::Python).await;
}

#[tokio::test]
async fn a_new_plugin_in_go_conforms() {
    a_new_plugin_conforms(Language::Go).await;
}

#[tokio::test]
async fn a_new_plugin_in_typescript_conforms() {
    a_new_plugin_conforms(Language::TypeScript).await;
}

#[tokio::test]
async fn a_new_plugin_in_rust_conforms() {
    let folder = ScratchDir::new("crossbridge-new-plugin-").expect("a folder");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sdk = repository.join("sdk");
    new("rust", folder.path(), &["--sdk-path", &sdk.display().to_string()]).await;
    // The versions that are here already.
    fs::copy(repository.join("Cargo.lock"), folder.path().join("Cargo.lock")).expect("it is copied");
    let made = target().join("languages/rust");
    // Together, so that the SDK is built once; then its own unit test.
    for arguments in [&["build", "--bins", "--tests"][..], &["test"]] {
        let cargo = Spawn::new(env!("CARGO"))
            .args(arguments)
            .args(["--quiet", "--offline", "--target-dir"])
            .arg(&made)
            .current_dir(folder.path());
        succeeds(cargo).await;
    }
    let plugin = made.join(format!("debug/{NAME}-plugin"));
    Trial::new(&plugin.display().to_string(), false).verdict().await;
}
