//! `examples/python-function`, on Crossplane's SDK.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use bridge_control_plane::process::ScratchDir;
use bridge_core::function::{
    DesiredState, FunctionFailure, HiddenMap, Observed, Readiness, Resource, ResultTarget, RunRequest,
    RunResponse, RunResult, Severity,
};
use bridge_languages::Function;
use bridge_transport::TlsFiles;
use provider_conformance::certificates::{Certificates, free_address};
use serde_json::{Value, json};

use crate::host::{Host, client, run, serve_tls};

fn notice(spec: &Value, composed: &[(&str, Value)]) -> RunRequest {
    let composed = composed
        .iter()
        .map(|(name, object)| ((*name).to_owned(), Resource::of(object.clone())));
    let composite = json!({
        "apiVersion": "example.org/v1alpha1",
        "kind": "Notice",
        "metadata": { "namespace": "default", "name": "step" },
        "spec": spec,
    });
    RunRequest {
        observed: Arc::new(Observed {
            composite: Resource::of(composite),
            resources: composed.collect(),
        }),
        ..RunRequest::default()
    }
}

fn config_map(ready: Readiness, data: &Value) -> Resource {
    Resource {
        ready,
        ..Resource::of(json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": data }))
    }
}

fn only_text() -> RunRequest {
    notice(&json!({ "text": "Mind the step." }), &[])
}

fn result(severity: Severity, message: &str) -> RunResult {
    RunResult {
        severity,
        message: message.to_owned(),
        reason: None,
        target: ResultTarget::Composite,
    }
}

#[tokio::test]
async fn the_example_passes_its_own_tests() {
    Function::check_example()
        .await
        .unwrap_or_else(|error| panic!("{error}"));
}

#[tokio::test]
async fn a_function_in_python_composes_two_config_maps() {
    let host = Host::start(Function::Example, &[]).await;
    let settings = |ready| config_map(ready, &json!({ "text": "Mind the step.", "copies": "3" }));
    let spec = json!({ "text": "Mind the step.", "copies": 3 });
    let first = host.run(&notice(&spec, &[])).await.expect("a response");
    let expected = RunResponse {
        ttl: Some(Duration::from_mins(1)),
        desired: DesiredState {
            composite: None,
            resources: [("settings".to_owned(), settings(Readiness::NotReady))].into(),
        },
        results: vec![result(Severity::Normal, "the page waits for its settings")],
        context: Some(HiddenMap::default()),
        ..RunResponse::default()
    };
    assert_eq!(first, expected);

    let existing = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "step-x7k2p" } });
    let second = host
        .run(&notice(&spec, &[("settings", existing)]))
        .await
        .expect("a response");
    let page = json!({
        "page.txt": "Mind the step.\nMind the step.\nMind the step.",
        "settings": "step-x7k2p",
    });
    let desired = DesiredState {
        composite: Some(Resource::of(
            json!({ "status": { "settings": "step-x7k2p", "length": 44 } }),
        )),
        resources: [
            ("page".to_owned(), config_map(Readiness::NotReady, &page)),
            ("settings".to_owned(), settings(Readiness::Ready)),
        ]
        .into(),
    };
    assert_eq!((second.desired, second.results), (desired, vec![]));
}

#[tokio::test]
async fn a_fatal_result_of_python_comes_out_as_a_result() {
    let host = Host::start(Function::Example, &[]).await;
    let response = host.run(&notice(&json!({}), &[])).await.expect("a response");
    let expected = result(Severity::Fatal, "spec.text is empty: write what is to be read");
    assert_eq!(response.results, [expected]);
}

#[tokio::test]
async fn a_killed_function_is_called_again_on_its_socket() {
    let mut host = Host::start(Function::Example, &[]).await;
    let before = host.run(&only_text()).await.expect("a response");
    host.process.kill();
    host.process.wait().await;
    let failure = host.run(&only_text()).await.expect_err("nobody listens");
    assert!(matches!(failure, FunctionFailure::Unreachable(_)), "{failure:?}");
    host.restart().await;
    assert_eq!(host.run(&only_text()).await, Ok(before));
}

#[tokio::test]
async fn the_next_release_of_a_function_is_called_on_its_socket() {
    let mut host = Host::start(Function::Example, &[]).await;
    let copies = async |host: &Host| {
        let response = host.run(&only_text()).await.expect("a response");
        response.desired.resources["settings"].object["data"]["copies"].clone()
    };
    assert_eq!(copies(&host).await, "1");
    let next = next_release(r#"spec.get("copies", 1)"#, r#"spec.get("copies", 2)"#);
    host.process.kill();
    host.process.wait().await;
    host.upgrade(next.path()).await;
    assert_eq!(copies(&host).await, "2");
}

#[tokio::test]
async fn larger_requests_need_a_flag_of_the_sdk() {
    let large = notice(
        &json!({ "text": "Mind the step.", "more": "x".repeat(5 << 20) }),
        &[],
    );
    let host = Host::start(Function::Example, &[]).await;
    let failure = host.run(&large).await.expect_err("it takes 4 MiB");
    assert!(
        failure.to_string().starts_with("RESOURCE_EXHAUSTED: "),
        "{failure}"
    );
    let host = Host::start(Function::Example, &["--max-recv-message-size", "64"]).await;
    let response = host.run(&large).await.expect("a response");
    assert!(response.desired.resources.contains_key("settings"));
}

/// The source of a release in which something else stands in the place of this.
pub fn next_release(this: &str, other: &str) -> ScratchDir {
    let next = ScratchDir::new("crossbridge-functions-").expect("a folder");
    let copied = ["main.py", "function.py"].map(|file| {
        let source = fs::read_to_string(Function::example_source().join(file)).expect("the source");
        fs::write(next.path().join(file), source.replace(this, other)).expect("it is written");
        source.contains(this)
    });
    assert!(copied.contains(&true), "{this} stands nowhere");
    next
}

/// Files of one side, as a Secret of cert-manager has them.
pub fn install(folder: &Path, files: [&Path; 3]) {
    for (file, name) in files.into_iter().zip(["tls.crt", "tls.key", "ca.crt"]) {
        fs::copy(file, folder.join(name)).expect("it is copied");
    }
}

pub fn of_server(certificates: &Certificates) -> [&Path; 3] {
    certificates.plugin.each_ref().map(|(_, file)| file.as_path())
}

/// Both sides get certificates of an authority that nobody knew before, and go on without a restart of the bridge.
#[tokio::test]
async fn certificates_of_another_authority_are_taken_up() {
    let [first, second, bridge, server] =
        [(); 4].map(|()| ScratchDir::new("crossbridge-functions-").expect("a folder"));
    let [first, second] =
        [first.path(), second.path()].map(|folder| Certificates::generate(folder).expect("certificates"));
    let of_client = |of: &Certificates| {
        let files = [&of.client.certificate, &of.client.key, &of.client.ca];
        install(bridge.path(), files.map(PathBuf::as_path));
    };
    let endpoint = free_address().expect("a free port");
    let address = endpoint.trim_start_matches("https://");
    of_client(&first);
    install(server.path(), of_server(&first));
    let process = serve_tls(Function::Example, address, server.path()).await;
    let client = client(address, Some(TlsFiles::in_folder(bridge.path())));
    let before = run(&client, &only_text()).await.expect("a response");

    of_client(&second);
    let failure = run(&client, &only_text())
        .await
        .expect_err("the function is of the former authority");
    assert!(matches!(failure, FunctionFailure::Unreachable(_)), "{failure:?}");
    process.kill();
    process.wait().await;
    install(server.path(), of_server(&second));
    let _process = serve_tls(Function::Example, address, server.path()).await;
    assert_eq!(run(&client, &only_text()).await, Ok(before));
}

#[tokio::test]
async fn a_function_in_python_is_called_over_mutual_tls() {
    let folder = ScratchDir::new("crossbridge-functions-").expect("a folder");
    let certificates = Certificates::generate(folder.path()).expect("certificates");
    let server = ScratchDir::new("crossbridge-functions-").expect("a folder");
    install(server.path(), of_server(&certificates));
    let endpoint = free_address().expect("a free port");
    let address = endpoint.trim_start_matches("https://");
    let _process = serve_tls(Function::Example, address, server.path()).await;
    let files = |of: &provider_conformance::TlsFiles| TlsFiles {
        ca: of.ca.clone(),
        certificate: of.certificate.clone(),
        key: of.key.clone(),
    };
    // As the package manager writes it, without a scheme.
    let trusted = client(address, Some(files(&certificates.client)));
    let response = run(&trusted, &only_text()).await.expect("a response");
    assert!(response.desired.resources.contains_key("settings"));
    let untrusted = client(&endpoint, Some(files(&certificates.untrusted)));
    let failure = run(&untrusted, &only_text())
        .await
        .expect_err("another authority's");
    assert!(matches!(failure, FunctionFailure::Unreachable(_)), "{failure:?}");
}
