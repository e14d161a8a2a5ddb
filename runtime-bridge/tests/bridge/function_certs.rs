//! `runtime-bridge function-certs`, with a function that serves TLS and a client that calls it.

use std::{fs, path::Path};

use bridge_core::function::{FunctionFailure, Functions, RunRequest, endpoints};
use bridge_function::{Client, EndpointTable, Options};
use bridge_plugin::TlsFiles;
use fake_function::{FakeFunction, Version};
use jiff::{SignedDuration, Timestamp};
use tokio::net::TcpListener;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};

use crate::program::run;

async fn certificates(folder: &Path, name: &str, host: &str) -> String {
    let dir = folder.to_str().unwrap();
    let ran = run(&["function-certs", name, "--host", host, "--dir", dir]).await;
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.stdout
}

fn read(folder: &Path, file: &str) -> String {
    fs::read_to_string(folder.join(file)).unwrap()
}

/// A call of a function with these files, by a bridge with those.
async fn call(function: &Path, bridge: &Path) -> Result<(), FunctionFailure> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let tls = ServerTlsConfig::new()
        .identity(Identity::from_pem(
            read(function, "tls.crt"),
            read(function, "tls.key"),
        ))
        .client_ca_root(Certificate::from_pem(read(function, "ca.crt")));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let routes = FakeFunction::default().routes(Version::V1);
    let server = Server::builder().tls_config(tls).unwrap().add_routes(routes);
    let served = tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
    let table = EndpointTable::default();
    let endpoint = format!("localhost:{port}").parse().unwrap();
    table.set(endpoints(&[("f".to_owned(), endpoint)].into(), &[], &[]));
    let client = Client::new(Options::new(
        table,
        Some(TlsFiles {
            ca: bridge.join("ca.crt"),
            certificate: bridge.join("tls.crt"),
            key: bridge.join("tls.key"),
        }),
    ));
    let until = Timestamp::now() + SignedDuration::from_secs(20);
    let answer = client.run("f", &RunRequest::default(), until).await;
    served.abort();
    answer.map(drop)
}

#[tokio::test]
async fn bridge_and_function_trust_each_other_before_and_after_renewal() {
    let folder = tempfile::tempdir().unwrap();
    let (function, bridge) = (folder.path().join("f"), folder.path().join("bridge"));
    let said = certificates(folder.path(), "f", "localhost").await;
    assert!(said.contains("ca.crt: created"), "{said}");
    call(&function, &bridge).await.unwrap();
    let (authority, former) = (read(folder.path(), "ca.crt"), read(&bridge, "tls.crt"));
    let kept = tempfile::tempdir().unwrap();
    for file in ["ca.crt", "tls.crt", "tls.key"] {
        fs::copy(bridge.join(file), kept.path().join(file)).unwrap();
    }
    let said = certificates(folder.path(), "f", "localhost").await;
    assert!(!said.contains("created"), "{said}");
    assert_eq!(read(folder.path(), "ca.crt"), authority);
    assert_ne!(read(&bridge, "tls.crt"), former);
    call(&function, &bridge).await.unwrap();
    // One side alone is renewed already.
    call(&function, kept.path()).await.unwrap();
}

#[tokio::test]
async fn neither_another_host_nor_another_authority_is_trusted() {
    let (ours, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    certificates(ours.path(), "elsewhere", "function.example.org").await;
    certificates(theirs.path(), "f", "localhost").await;
    let bridge = ours.path().join("bridge");
    for function in [ours.path().join("elsewhere"), theirs.path().join("f")] {
        let failure = call(&function, &bridge).await.unwrap_err();
        assert!(matches!(failure, FunctionFailure::Unreachable(_)), "{failure:?}");
    }
}
