//! What `runtime-bridge new-plugin` writes builds on the SDKs as they are published, passes linters and the kit as it is, and serves from the layout
//! of its Dockerfile; and the lines that it prints work.

mod dockerfile;

use std::{fs, os::unix::fs::symlink, path::Path};

use bridge_control_plane::process::ScratchDir;
use bridge_languages::{Author, KitRun, Language, NewPlugin, target};

use crate::dockerfile::Dockerfile;

/// What does not apply to files in a folder, in any language: they are named by the user, keep neither marker nor secret, hold no number, and are
/// always good; a folder has no key, no version and no limit of requests.
const NOT_JUDGED: &[&str] = &[
    "Shelf calls/unsupported-unimplemented",
    "Shelf config/bad-credentials-code",
    "Shelf config/bad-credentials-never-absent",
    "Shelf create/deleted-not-recreated",
    "Shelf create/invalid-example-rejected",
    "Shelf create/invalid-field-named",
    "Shelf create/token-reuse-rejected",
    "Shelf delete/during-create-accepted",
    "Shelf delete/foreign-marker-not-found",
    "Shelf delete/stale-etag-conflict",
    "Shelf durable/token-after-kill",
    "Shelf list/includes-created",
    "Shelf list/invalid-page-token-rejected",
    "Shelf list/pages",
    "Shelf list/parameters-on-request",
    "Shelf marker/former-accepted",
    "Shelf marker/former-deleted",
    "Shelf marker/former-found-without-name",
    "Shelf marker/former-polled",
    "Shelf marker/kept",
    "Shelf observe/absent-reports-derived-name",
    "Shelf observe/big-integers-exact",
    "Shelf observe/found-without-name",
    "Shelf observe/unknown-marker-is-absent",
    "Shelf operation/foreign-marker-not-found",
    "Shelf update/during-operation-accepted",
    "Shelf update/foreign-marker-not-found",
    "Shelf update/immutable-rejected",
    "Shelf update/stale-etag-conflict",
    "Shelf upstream/throttled-is-failure",
    "plugin config/missing-credential-unauthenticated",
    "plugin secrets/not-in-logs",
];
/// Nor to what is there at once.
const NOT_JUDGED_IF_SYNCHRONOUS: &[&str] = &[
    "Shelf durable/handle-after-kill",
    "Shelf durable/handle-on-next-build",
    "Shelf durable/handle-on-replica",
    "Shelf operation/foreign-handle-rejected",
    "Shelf operation/handle-stable",
    "Shelf operation/old-handles-valid",
    "Shelf operation/progress-monotonic",
    "Shelf operation/terminal-response-stable",
];

/// Not of each run: the kit cannot cut or kill every plugin that answers within microseconds, and says so then.
const SELDOM_JUDGED: [&str; 2] = [
    "Shelf create/no-effect-after-cancellation",
    "Shelf durable/killed-in-create-one-resource",
];

fn scratch() -> ScratchDir {
    ScratchDir::new("crossbridge-new-plugin-").expect("a folder")
}

async fn conforms(author: Author, name: &str, is_asynchronous: bool, scratch: &Path) -> NewPlugin {
    let plugin = NewPlugin::create(author, name, "Shelf", is_asynchronous, scratch)
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    // The kit is among them, and follows below with all hooks: once with both is enough.
    let is_run = |line: &str| !is_asynchronous || !line.starts_with("provider-conformance ");
    let ran = plugin.run_printed_commands(is_run).await;
    ran.unwrap_or_else(|error| panic!("{error}"));
    plugin.lint().await.unwrap_or_else(|error| panic!("{error}"));
    // Another build of it, as far as the kit can see, is another process.
    let command = plugin.command();
    let judged = KitRun::new(&command, false)
        .args(["--next-plugin-command", &command])
        .verdict()
        .await;
    let synchronous: &[&str] = if is_asynchronous {
        &[]
    } else {
        NOT_JUDGED_IF_SYNCHRONOUS
    };
    let mut expected = [NOT_JUDGED, synchronous].concat();
    expected.sort_unstable();
    let mut skipped = judged.skipped;
    skipped.retain(|rule| !SELDOM_JUDGED.contains(&rule.as_str()));
    assert_eq!(skipped, expected);
    plugin
}

/// Builds it by the instructions of its Dockerfile, without a container, and has the kit start what would be in the image.
async fn serves_from_its_image(author: Author, plugin: &NewPlugin, scratch: &Path) {
    let dockerfile = Dockerfile::read(&plugin.folder());
    dockerfile.check();
    let root = scratch.join("image");
    let prepare = |context: &Path| {
        if author == Author::Rust {
            symlink(target().join("languages/rust"), context.join("target")).expect("it is linked");
        }
    };
    let command = dockerfile.build(&plugin.folder(), &root, prepare).await;
    fs::rename(plugin.folder(), scratch.join("elsewhere")).expect("it is moved");
    let judged = KitRun::new(&command, false)
        .args(["--only", "info,kinds,process/sigterm-exits-0"])
        .verdict()
        .await;
    let finding = "plugin process/sigterm-exits-0".to_owned();
    assert!(judged.passed.contains(&finding), "{judged:#?}");
}

async fn a_new_plugin_conforms(author: Author) {
    let scratch = scratch();
    let plugin = conforms(author, "acme-2", false, scratch.path()).await;
    serves_from_its_image(author, &plugin, scratch.path()).await;
}

async fn a_new_asynchronous_plugin_conforms(author: Author) {
    conforms(author, "acme-3", true, scratch().path()).await;
}

/// On `sdk/LANG`, by the lines that are printed, those that build the SDK too.
async fn a_new_plugin_on_a_checkout_builds(author: Author) {
    let scratch = scratch();
    let plugin = NewPlugin::create_on_checkout(author, "acme-4", scratch.path()).await;
    let plugin = plugin.unwrap_or_else(|error| panic!("{error}"));
    // What the kit says of it does not depend on where the SDK came from.
    let is_run = |line: &str| !line.starts_with("provider-conformance ");
    let ran = plugin.run_printed_commands(is_run).await;
    ran.unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test]
async fn a_new_plugin_on_a_checkout_in_python_builds() {
    a_new_plugin_on_a_checkout_builds(Author::Other(Language::Python)).await;
}

#[tokio::test]
async fn a_new_plugin_on_a_checkout_in_go_builds() {
    a_new_plugin_on_a_checkout_builds(Author::Other(Language::Go)).await;
}

#[tokio::test]
async fn a_new_plugin_on_a_checkout_in_typescript_builds() {
    a_new_plugin_on_a_checkout_builds(Author::Other(Language::TypeScript)).await;
}

#[tokio::test]
async fn a_new_plugin_on_a_checkout_in_rust_builds() {
    a_new_plugin_on_a_checkout_builds(Author::Rust).await;
}

#[tokio::test]
async fn a_new_plugin_in_python_conforms() {
    a_new_plugin_conforms(Author::Other(Language::Python)).await;
}

#[tokio::test]
async fn a_new_plugin_in_go_conforms() {
    a_new_plugin_conforms(Author::Other(Language::Go)).await;
}

#[tokio::test]
async fn a_new_plugin_in_typescript_conforms() {
    a_new_plugin_conforms(Author::Other(Language::TypeScript)).await;
}

#[tokio::test]
async fn a_new_plugin_in_rust_conforms() {
    a_new_plugin_conforms(Author::Rust).await;
}

#[tokio::test]
async fn a_new_asynchronous_plugin_in_python_conforms() {
    a_new_asynchronous_plugin_conforms(Author::Other(Language::Python)).await;
}

#[tokio::test]
async fn a_new_asynchronous_plugin_in_go_conforms() {
    a_new_asynchronous_plugin_conforms(Author::Other(Language::Go)).await;
}

#[tokio::test]
async fn a_new_asynchronous_plugin_in_typescript_conforms() {
    a_new_asynchronous_plugin_conforms(Author::Other(Language::TypeScript)).await;
}

#[tokio::test]
async fn a_new_asynchronous_plugin_in_rust_conforms() {
    a_new_asynchronous_plugin_conforms(Author::Rust).await;
}
