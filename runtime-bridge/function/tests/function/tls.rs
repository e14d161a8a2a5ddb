//! Functions over TCP: mutual TLS, files that are renewed, names of several addresses.

use std::{fs, net::SocketAddr, path::Path, sync::Arc};

use bridge_core::function::{FunctionEndpoint, FunctionFailure, RunRequest};
use bridge_function::{Client, Options};
use bridge_transport::{Endpoint, Resolve, Route, TlsFiles};
use fake_function::{FakeFunction, Version};
use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle};
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Certificate, Identity, Server, ServerTlsConfig};

use crate::{
    clock::Clock,
    host::{run, table},
};

const NAME: &str = "function.test";

struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Certificate and key, PEM.
    fn issue(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (
            params.signed_by(&key, &self.0).unwrap().pem(),
            key.serialize_pem(),
        )
    }

    /// The bridge's files: of this authority, for servers of that one.
    fn write(&self, folder: &Path, servers: &Self) {
        let (certificate, key) = self.issue("bridge");
        for (name, text) in [
            ("ca.crt", servers.0.pem()),
            ("tls.crt", certificate),
            ("tls.key", key),
        ] {
            fs::write(folder.join(name), text).unwrap();
        }
    }
}

/// A function with a certificate for a name, for clients of the same authority.
struct Function {
    served: FakeFunction,
    address: SocketAddr,
    server: JoinHandle<()>,
}

impl Function {
    async fn new(authority: &Authority, name: &str) -> Self {
        // The AWS SDK pulls another provider in when the whole workspace is built, so that one must be named.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (certificate, key) = authority.issue(name);
        let tls = ServerTlsConfig::new()
            .identity(Identity::from_pem(certificate, key))
            .client_ca_root(Certificate::from_pem(authority.0.pem()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let served = FakeFunction::default();
        let server = Server::builder().tls_config(tls).unwrap();
        let server = { server }.add_routes(served.routes(Version::V1));
        let incoming = TcpListenerStream::new(listener);
        Self {
            served,
            address,
            server: tokio::spawn(async { server.serve_with_incoming(incoming).await.unwrap() }),
        }
    }

    fn calls(&self) -> usize {
        self.served.received().len()
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// The bridge's side: its files, its clock, and what the name resolves to.
struct Bridge {
    files: TempDir,
    clock: Clock,
    found: Arc<Mutex<Vec<SocketAddr>>>,
    client: Arc<Client>,
}

impl Bridge {
    fn new(authority: &Authority, found: &[&Function]) -> Self {
        let (files, clock) = (tempfile::tempdir().unwrap(), Clock::new());
        authority.write(files.path(), authority);
        let found: Vec<SocketAddr> = found.iter().map(|function| function.address).collect();
        let found = Arc::new(Mutex::new(found));
        let tls = TlsFiles::in_folder(files.path());
        let (resolved, now) = (Arc::clone(&found), clock.clone());
        let connect = move |endpoint: &FunctionEndpoint| {
            let endpoint: Endpoint = endpoint.to_string().parse()?;
            let (resolved, now) = (Arc::clone(&resolved), now.clone());
            let resolve: Resolve = Arc::new(move |host, port| {
                assert_eq!((host.as_str(), port), (NAME, 9443));
                let found = resolved.lock().clone();
                Box::pin(async move { Ok(found) })
            });
            Route::resolved_by(resolve, &endpoint, Some(&tls), Arc::new(move || now.now()))
        };
        let options = Options::new(table(&format!("dns:///{NAME}:9443")), None);
        let client = clock.client(Options {
            connect: Arc::new(connect),
            ..options
        });
        Self {
            files,
            clock,
            found,
            client,
        }
    }

    /// The name has other addresses, and is old enough to be resolved anew.
    fn resolve_to(&self, function: &Function) {
        *self.found.lock() = vec![function.address];
        self.clock.pass(31);
    }

    async fn run(&self) -> Result<(), FunctionFailure> {
        let answered = self.clock.run(&self.client, &RunRequest::default()).await;
        answered.map(drop)
    }

    async fn unreachable(&self) -> String {
        match self.run().await {
            Err(FunctionFailure::Unreachable(why)) => why,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn a_function_is_called_by_mutual_tls() {
    let authority = Authority::new();
    let function = Function::new(&authority, "127.0.0.1").await;
    let files = tempfile::tempdir().unwrap();
    authority.write(files.path(), &authority);
    let endpoints = table(&function.address.to_string());
    let tls = TlsFiles::in_folder(files.path());
    let client = Client::new(Options::new(endpoints, Some(tls)));
    run(&client, &RunRequest::default()).await.unwrap();
    assert_eq!(function.calls(), 1);
}

#[tokio::test]
async fn a_certificate_for_another_name_is_rejected() {
    let authority = Authority::new();
    let function = Function::new(&authority, "other.test").await;
    let why = Bridge::new(&authority, &[&function]).unreachable().await;
    assert!(why.contains("certificate not valid for name"), "{why}");
    assert_eq!(function.calls(), 0);
}

#[tokio::test]
async fn a_client_of_another_authority_is_rejected() {
    let (ours, others) = (Authority::new(), Authority::new());
    let function = Function::new(&ours, NAME).await;
    let bridge = Bridge::new(&ours, &[&function]);
    others.write(bridge.files.path(), &ours);
    bridge.unreachable().await;
    assert_eq!(function.calls(), 0);
}

#[tokio::test]
async fn renewed_files_are_used_without_a_restart() {
    let (former, next) = (Authority::new(), Authority::new());
    let before = Function::new(&former, NAME).await;
    let after = Function::new(&next, NAME).await;
    let bridge = Bridge::new(&former, &[&before]);
    bridge.run().await.unwrap();
    bridge.resolve_to(&after);
    let why = bridge.unreachable().await;
    assert!(why.contains("certificate"), "{why}");
    next.write(bridge.files.path(), &next);
    bridge.run().await.unwrap();
    assert_eq!((before.calls(), after.calls()), (1, 1));
}

#[tokio::test]
async fn files_that_are_being_written_are_not_used() {
    let authority = Authority::new();
    let function = Function::new(&authority, NAME).await;
    let bridge = Bridge::new(&authority, &[&function]);
    bridge.run().await.unwrap();
    let (certificate, key) = authority.issue("bridge");
    fs::write(bridge.files.path().join("tls.crt"), &certificate).unwrap();
    bridge.run().await.unwrap();
    fs::remove_file(bridge.files.path().join("tls.key")).unwrap();
    bridge.run().await.unwrap();
    fs::write(bridge.files.path().join("tls.key"), key).unwrap();
    bridge.run().await.unwrap();
}

#[tokio::test]
async fn calls_go_to_all_addresses_of_a_name_in_turn() {
    let authority = Authority::new();
    let functions = [
        Function::new(&authority, NAME).await,
        Function::new(&authority, NAME).await,
    ];
    let bridge = Bridge::new(&authority, &[&functions[0], &functions[1]]);
    for _ in 0..4 {
        bridge.run().await.unwrap();
    }
    assert_eq!(functions.each_ref().map(Function::calls), [2, 2]);
}

#[tokio::test]
async fn an_address_that_refuses_is_passed_over() {
    let authority = Authority::new();
    let function = Function::new(&authority, NAME).await;
    let bridge = Bridge::new(&authority, &[&function]);
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    bridge.found.lock().push(free.local_addr().unwrap());
    drop(free);
    for calls in 1..=4 {
        bridge.run().await.unwrap();
        assert_eq!(function.calls(), calls);
    }
}

/// It accepts connections, and answers no handshake.
#[tokio::test]
async fn an_address_that_is_silent_is_passed_over() {
    let authority = Authority::new();
    let function = Function::new(&authority, NAME).await;
    let bridge = Bridge::new(&authority, &[&function]);
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    bridge.found.lock().push(silent.local_addr().unwrap());
    for calls in 1..=4 {
        bridge.run().await.unwrap();
        assert_eq!(function.calls(), calls);
    }
}

#[tokio::test]
async fn a_name_is_resolved_anew_while_calls_go_on() {
    let authority = Authority::new();
    let (before, after) = (
        Function::new(&authority, NAME).await,
        Function::new(&authority, NAME).await,
    );
    let bridge = Bridge::new(&authority, &[&before]);
    bridge.run().await.unwrap();
    *bridge.found.lock() = vec![after.address];
    bridge.run().await.unwrap();
    assert_eq!(after.calls(), 0);
    bridge.clock.pass(31);
    bridge.run().await.unwrap();
    assert_eq!((before.calls(), after.calls()), (2, 1));
}

#[tokio::test]
async fn a_name_without_addresses_is_unreachable_by_name() {
    let bridge = Bridge::new(&Authority::new(), &[]);
    assert_eq!(
        bridge.unreachable().await,
        "cannot resolve function.test: it has no address"
    );
}

#[tokio::test]
async fn tls_without_files_says_what_to_give() {
    let client = Client::new(Options::new(table("f.example.org:9443"), None));
    let error = run(&client, &RunRequest::default()).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "no endpoint is known: https://f.example.org:9443 needs mutual TLS: give the files of the authorities, the certificate and the key"
    );
}
