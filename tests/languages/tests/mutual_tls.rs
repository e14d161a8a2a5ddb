//! The kit reaches each plugin over the network, with certificates on both sides; what it kills and starts again is there again.

use bridge_languages::{KitRun, Language, binary};
use provider_conformance::certificates::{Certificates, free_address};

/// One area of each sort: what needs no resource, what creates one, what outlives a process.
const CHOSEN: &str = "--only=info,health,reflection,kinds,config,transport,process,create/completes,durable/found-after-kill,durable/\
    handle-after-kill";

async fn conforms_over_tls(plugin: &str, kinds: &[&str], locked: bool) {
    let trial = KitRun::new(plugin, locked);
    let certificates = Certificates::generate(trial.folder()).expect("certificates");
    let address = free_address().expect("a free port");
    let trial = trial
        .args(["--endpoint", &address, CHOSEN])
        .args(certificates.client.flags());
    let [certificate, key, ca] = &certificates.plugin;
    let judged = [certificate, key, ca]
        .into_iter()
        .fold(trial, |trial, (name, path)| trial.env(name, path))
        .verdict()
        .await;
    let expected = kinds
        .iter()
        .flat_map(|kind| {
            [
                format!("{kind} create/completes"),
                format!("{kind} durable/found-after-kill"),
            ]
        })
        .chain(
            [
                "process/https-served",
                "process/untrusted-clients-rejected",
                "transport/any-authority",
            ]
            .map(|id| format!("plugin {id}")),
        );
    for finding in expected {
        assert!(
            judged.passed.contains(&finding),
            "{finding} was not judged: {judged:#?}"
        );
    }
}

async fn example_conforms_over_tls(language: Language, kinds: &[&str]) {
    let plugin = language.example().await.unwrap_or_else(|error| panic!("{error}"));
    conforms_over_tls(&plugin, kinds, language == Language::Python).await;
}

#[tokio::test]
async fn the_plugin_in_python_is_reached_over_tls() {
    example_conforms_over_tls(Language::Python, &["Bed", "Plant"]).await;
}

#[tokio::test]
async fn the_plugin_in_go_is_reached_over_tls() {
    example_conforms_over_tls(Language::Go, &["Book", "Page"]).await;
}

#[tokio::test]
async fn the_plugin_in_typescript_is_reached_over_tls() {
    example_conforms_over_tls(Language::TypeScript, &["Loaf", "Recipe"]).await;
}

#[tokio::test]
async fn the_plugin_in_rust_is_reached_over_tls() {
    let plugin = binary("files-plugin").display().to_string();
    conforms_over_tls(&plugin, &["File"], false).await;
}
