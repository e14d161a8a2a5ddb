//! `examples/typescript-function`, on Crossplane's SDK.

use std::{fs, path::Path, sync::Arc, time::Duration};

use bridge_control_plane::process::ScratchDir;
use bridge_core::function::{
    DesiredState, FunctionFailure, Observed, Readiness, Resource, RunRequest, RunResponse,
};
use bridge_languages::Function;
use bridge_transport::TlsFiles;
use provider_conformance::certificates::{Certificates, free_address};
use serde_json::json;

use crate::host::{Host, client, run, serve_tls};

fn timetable(composed: &[&str]) -> RunRequest {
    let config_map = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
    let composed = composed
        .iter()
        .map(|name| ((*name).to_owned(), Resource::of(config_map.clone())));
    let composite = json!({
        "apiVersion": "example.org/v1alpha1",
        "kind": "Timetable",
        "metadata": { "namespace": "default", "name": "station" },
        "spec": { "lines": [
            { "name": "bus", "departures": ["07:10", "07:40"] },
            { "name": "tram", "departures": ["07:15"] },
        ]},
    });
    RunRequest {
        observed: Arc::new(Observed {
            composite: Resource::of(composite),
            resources: composed.collect(),
        }),
        ..RunRequest::default()
    }
}

fn line(name: &str, departures: &str, ready: Readiness) -> (String, Resource) {
    let data = json!({ "line": name, "departures.txt": departures });
    let resource = Resource {
        ready,
        ..Resource::of(json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": data }))
    };
    (format!("line-{name}"), resource)
}

#[tokio::test]
async fn a_function_in_typescript_composes_a_config_map_for_each_line() {
    let host = Host::start(Function::TypeScript, &[]).await;
    let response = host.run(&timetable(&["line-bus"])).await.expect("a response");
    let expected = RunResponse {
        ttl: Some(Duration::from_mins(1)),
        desired: DesiredState {
            composite: Some(Resource::of(json!({ "status": { "departures": 3 } }))),
            resources: [
                line("bus", "07:10\n07:40", Readiness::Ready),
                line("tram", "07:15", Readiness::NotReady),
            ]
            .into(),
        },
        ..RunResponse::default()
    };
    assert_eq!(response, expected);
}

#[tokio::test]
async fn a_function_in_typescript_is_called_over_tls() {
    let folder = ScratchDir::new("crossbridge-functions-").expect("a folder");
    let certificates = Certificates::generate(folder.path()).expect("certificates");
    let served = async |certificate: &Path, key: &Path| {
        let server = ScratchDir::new("crossbridge-functions-").expect("a folder");
        for (file, name) in [
            (certificate, "tls.crt"),
            (key, "tls.key"),
            (&certificates.client.ca, "ca.crt"),
        ] {
            fs::copy(file, server.path().join(name)).expect("it is copied");
        }
        let endpoint = free_address().expect("a free port");
        let address = endpoint.trim_start_matches("https://").to_owned();
        let process = serve_tls(Function::TypeScript, &address, server.path()).await;
        (process, address, server)
    };
    let files = TlsFiles {
        ca: certificates.client.ca.clone(),
        certificate: certificates.client.certificate.clone(),
        key: certificates.client.key.clone(),
    };
    let [(_, certificate), (_, key), _] = &certificates.plugin;
    let (_process, address, _server) = served(certificate, key).await;
    let trusting = client(&address, Some(files.clone()));
    let response = run(&trusting, &timetable(&[])).await.expect("a response");
    assert_eq!(response.desired.resources.len(), 2);
    // A stranger in its place is not called.
    let stranger = &certificates.untrusted;
    let (_process, address, _server) = served(&stranger.certificate, &stranger.key).await;
    let failure = run(&client(&address, Some(files)), &timetable(&[])).await;
    let failure = failure
        .map(|_| "it was called")
        .expect_err("of another authority");
    assert!(matches!(failure, FunctionFailure::Unreachable(_)), "{failure:?}");
}
