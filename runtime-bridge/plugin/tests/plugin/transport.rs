//! What lies under the calls: TLS, and answers that are not what gRPC says.

use std::{
    convert::Infallible,
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::fake::{Script, Service as FakePlugin};
use bridge_plugin::{HandshakeError, Link, Options, Plugin, TlsFiles};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::{net::TcpListener, runtime::Runtime};
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::{
    body::Body,
    codegen::{BoxFuture, Context, Poll, Service, http},
    server::NamedService,
    transport::{Certificate, Identity, Server, ServerTlsConfig},
};

/// Answers every call with headers only.
#[derive(Clone)]
struct Headers(&'static [(&'static str, &'static str)]);

impl NamedService for Headers {
    const NAME: &'static str = "crossbridge.provider.v1alpha1.PluginService";
}

impl Service<http::Request<Body>> for Headers {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<Body>) -> Self::Future {
        let mut answer = http::Response::new(Body::empty());
        for (name, value) in self.0 {
            answer.headers_mut().insert(*name, value.parse().unwrap());
        }
        Box::pin(async { Ok(answer) })
    }
}

async fn listen() -> (TcpListenerStream, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (TcpListenerStream::new(listener), address)
}

async fn refused(options: Options) -> HandshakeError {
    let connected = tokio::time::timeout(Duration::from_secs(30), Plugin::connect(options)).await;
    let Err(error) = connected.expect("the handshake ends") else {
        panic!("the handshake succeeded");
    };
    error
}

/// Tonic itself would say UNIMPLEMENTED, which means that nothing was done.
#[tokio::test]
async fn a_compressed_answer_is_not_taken_for_a_refusal() {
    let (incoming, address) = listen().await;
    let compressed = Headers(&[("content-type", "application/grpc"), ("grpc-encoding", "zstd")]);
    let server = tokio::spawn(
        Server::builder()
            .add_service(compressed)
            .serve_with_incoming(incoming),
    );
    let error = refused(Options::new(format!("http://{address}").parse().unwrap())).await;
    server.abort();
    let HandshakeError::Failed { code, message, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(code, "UNKNOWN");
    assert!(message.contains("the answer is compressed (zstd)"), "{message}");
}

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

    /// A server that it certifies, for clients that it certifies.
    fn server(&self) -> ServerTlsConfig {
        // The AWS SDK brings another provider along when the whole workspace is built, so that one must be named.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let (certificate, key) = self.issue("127.0.0.1");
        ServerTlsConfig::new()
            .identity(Identity::from_pem(certificate, key))
            .client_ca_root(Certificate::from_pem(self.0.pem()))
    }

    fn files(&self, folder: &Path, trusted: &Authority) -> TlsFiles {
        let (certificate, key) = self.issue("bridge");
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        TlsFiles {
            ca: write("ca.pem", &trusted.0.pem()),
            certificate: write("bridge.pem", &certificate),
            key: write("bridge.key", &key),
        }
    }
}

#[tokio::test]
async fn tls_is_mutual() {
    let (ours, strangers) = (Authority::new(), Authority::new());
    let tls = ours.server();
    let (incoming, address) = listen().await;
    let (_, health) = tonic_health::server::health_reporter();
    let server = Server::builder().tls_config(tls).unwrap().add_service(health);
    let server = tokio::spawn(server.serve_with_incoming(incoming));
    let folder = tempfile::tempdir().unwrap();
    let options = |files| {
        let mut options = Options::new(format!("https://{address}").parse().unwrap());
        options.tls = Some(files);
        options
    };

    let trusted = refused(options(ours.files(folder.path(), &ours))).await;
    assert!(
        matches!(trusted, HandshakeError::NotAPlugin { .. }),
        "the health of it was asked: {trusted}"
    );
    let unknown_to_it = refused(options(strangers.files(folder.path(), &ours))).await;
    assert!(
        !matches!(unknown_to_it, HandshakeError::NotAPlugin { .. }),
        "{unknown_to_it}"
    );
    let unknown_to_us = refused(options(ours.files(folder.path(), &strangers))).await;
    assert!(
        matches!(unknown_to_us, HandshakeError::Unreachable { .. }),
        "{unknown_to_us}"
    );
    server.abort();
}

#[tokio::test]
async fn tls_files_that_cannot_be_read_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let authority = Authority::new();
    let mut files = authority.files(folder.path(), &authority);
    files.key = folder.path().join("none.key");
    let mut options = Options::new("https://127.0.0.1:1".parse().unwrap());
    options.tls = Some(files);
    let error = refused(options).await;
    assert!(!error.is_temporary());
    assert!(error.to_string().contains("none.key"), "{error}");
}

/// On a runtime of its own: when that ends, every connection breaks.
fn serve(authority: &Authority, address: SocketAddr) -> (Runtime, SocketAddr) {
    let listener = std::net::TcpListener::bind(address).unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    let mut server = Server::builder().tls_config(authority.server()).unwrap();
    let runtime = Runtime::new().unwrap();
    runtime.spawn(async move {
        let incoming = TcpListenerStream::new(TcpListener::from_std(listener).unwrap());
        let plugin = FakePlugin(Arc::new(Mutex::new(Script::default())));
        plugin
            .on(&mut server)
            .serve_with_incoming(incoming)
            .await
            .unwrap();
    });
    (runtime, address)
}

#[tokio::test]
async fn certificates_that_were_renewed_are_taken_up() {
    let (former, next) = (Authority::new(), Authority::new());
    let folder = tempfile::tempdir().unwrap();
    let (server, address) = serve(&former, "127.0.0.1:0".parse().unwrap());
    let mut options = Options::new(format!("https://{address}").parse().unwrap());
    options.tls = Some(former.files(folder.path(), &former));
    options.check_every = Duration::from_millis(20);
    let (plugin, supervision) = Plugin::connect(options).await.unwrap();
    let stop = CancellationToken::new();
    let supervised = tokio::spawn(supervision.run(stop.clone()));

    tokio::task::spawn_blocking(move || drop(server)).await.unwrap();
    let mut state = plugin.state();
    let down = state.wait_for(|state| matches!(state.link, Link::Down { .. }));
    tokio::time::timeout(Duration::from_secs(30), down)
        .await
        .expect("it is missed")
        .unwrap();
    let (server, _) = serve(&next, address);
    next.files(folder.path(), &next);
    let up = state.wait_for(|state| state.link == Link::Up);
    tokio::time::timeout(Duration::from_secs(30), up)
        .await
        .expect("it is met again")
        .unwrap();
    stop.cancel();
    supervised.await.unwrap();
    server.shutdown_background();
}
