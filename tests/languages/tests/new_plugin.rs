//! What `runtime-bridge new-plugin` writes builds, and passes the kit, as it is; and the lines that it prints work.

use std::{fs, os::unix::fs::symlink, path::Path, sync::mpsc::channel};

use bridge_control_plane::process::{Output, ScratchDir, Spawn};
use bridge_languages::{KitRun, Language, binary, target};

const NAME: &str = "acme-2";

/// Runs it, and gives the command lines that it prints. The last, which needs a cluster, is left out.
async fn new(language: &str, folder: &Path, more: &[&str]) -> Vec<String> {
    let (say, said) = channel();
    let command = Spawn::new(binary("runtime-bridge"))
        .args(["new-plugin", NAME, "--lang", language, "--dir"])
        .arg(folder)
        .args(more)
        .stdout(Output::lines(move |line| drop(say.send(line.to_owned()))));
    assert!(command.spawn().expect("it starts").wait().await.success());
    let mut lines: Vec<String> = said
        .iter()
        .filter_map(|line| Some(line.strip_prefix("  ")?.to_owned()))
        .collect();
    let last = lines.pop().unwrap_or_default();
    assert!(last.starts_with("runtime-bridge dev "), "{last}");
    assert!(lines.iter().any(|line| line.starts_with("provider-conformance ")));
    lines
}

/// Runs the lines as they are printed, save that the plugin's data is in a folder of this test.
async fn run_printed_commands(lines: &[String], scratch: &Path) {
    let data = scratch.join("data").display().to_string();
    let script = lines.join("\n").replace(&format!("/tmp/{NAME}"), &data);
    let kit = binary("provider-conformance");
    let path = format!(
        "{}:{}",
        kit.parent().unwrap_or(Path::new("/")).display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let shell = Spawn::new("bash")
        .args(["-euc", &script])
        .env("PATH", path)
        .env("CARGO_NET_OFFLINE", "true")
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        // Whoever times the tests asks for it; cargo would build for it anew.
        .env_remove("RUSTC_BOOTSTRAP")
        .current_dir(scratch);
    assert!(shell.spawn().expect("a shell").wait().await.success());
}

async fn a_new_plugin_conforms(language: Language, command: &str) {
    let sdk = language.sdk().await.unwrap_or_else(|error| panic!("{error}"));
    let scratch = ScratchDir::new("crossbridge-new-plugin-").expect("a folder");
    let folder = scratch.path().join("plugin");
    let more = ["--kind", "Shelf", "--sdk-path", &sdk.display().to_string()];
    let lines = new(language.name(), &folder, &more).await;
    run_printed_commands(&lines, scratch.path()).await;
    let plugin = command.replace("PLUGIN", &folder.display().to_string());
    KitRun::new(&plugin, false).verdict().await;
}

#[tokio::test]
async fn a_new_plugin_in_python_conforms() {
    a_new_plugin_conforms(Language::Python, &format!("PLUGIN/.venv/bin/{NAME}-plugin")).await;
}

#[tokio::test]
async fn a_new_plugin_in_go_conforms() {
    a_new_plugin_conforms(Language::Go, "PLUGIN/plugin").await;
}

#[tokio::test]
async fn a_new_plugin_in_typescript_conforms() {
    a_new_plugin_conforms(Language::TypeScript, "node PLUGIN/dist/main.js").await;
}

#[tokio::test]
async fn a_new_plugin_in_rust_conforms() {
    let scratch = ScratchDir::new("crossbridge-new-plugin-").expect("a folder");
    let folder = scratch.path().join("plugin");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sdk = repository.join("sdk/rust");
    let more = ["--kind", "Shelf", "--sdk-path", &sdk.display().to_string()];
    let lines = new("rust", &folder, &more).await;
    // The versions that are here already, and what was built of them the last time.
    fs::copy(repository.join("Cargo.lock"), folder.join("Cargo.lock")).expect("it is copied");
    let made = target().join("languages/rust");
    fs::create_dir_all(&made).expect("it is created");
    symlink(&made, folder.join("target")).expect("it is linked");
    run_printed_commands(&lines, scratch.path()).await;
    let plugin = made.join(format!("debug/{NAME}-plugin"));
    KitRun::new(&plugin.display().to_string(), false).verdict().await;
}
