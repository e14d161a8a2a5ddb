//! What lies under the calls: TLS, and answers that are no gRPC.

use std::{
    convert::Infallible,
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use crate::fake::{Fake, Say, Script, Service as FakePlugin, desired, target};
use bridge_core::{
    external::{Call, CallError, Verb},
    port::External,
};
use bridge_plugin::{ConnectionStatus, HandshakeError, Options, Plugin, TlsFiles};
use hyper_util::rt::TokioIo;
use jiff::{SignedDuration, Timestamp};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tokio::{
    net::{TcpListener, UnixStream},
    runtime::Runtime,
    sync::{Notify, Semaphore},
};
use tokio_stream::wrappers::TcpListenerStream;
use tokio_util::sync::CancellationToken;
use tonic::{
    Status,
    body::Body,
    codegen::{BoxFuture, Context, Poll, Service, http},
    server::NamedService,
    transport::{Certificate, Channel, Endpoint, Identity, Server, ServerTlsConfig},
};
use tower::service_fn;

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

/// Tonic itself would report UNIMPLEMENTED, which means that nothing was done.
#[tokio::test]
async fn a_compressed_response_is_an_unknown_outcome() {
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
        // The AWS SDK pulls another provider in when the whole workspace is built, so that one must be named.
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
    let down = state.wait_for(|state| matches!(state.link, ConnectionStatus::Down { .. }));
    tokio::time::timeout(Duration::from_secs(30), down)
        .await
        .expect("it is missed")
        .unwrap();
    let (server, _) = serve(&next, address);
    next.files(folder.path(), &next);
    let up = state.wait_for(|state| state.link == ConnectionStatus::Up);
    tokio::time::timeout(Duration::from_secs(30), up)
        .await
        .expect("it is met again")
        .unwrap();
    stop.cancel();
    supervised.await.unwrap();
    server.shutdown_background();
}

#[tokio::test]
async fn an_authority_that_is_withdrawn_is_trusted_no_longer() {
    let (former, next) = (Authority::new(), Authority::new());
    let folder = tempfile::tempdir().unwrap();
    let (server, address) = serve(&former, "127.0.0.1:0".parse().unwrap());
    let mut options = Options::new(format!("https://{address}").parse().unwrap());
    options.tls = Some(former.files(folder.path(), &former));
    options.check_every = Duration::from_millis(20);
    let (plugin, supervision) = Plugin::connect(options).await.unwrap();
    let stop = CancellationToken::new();
    let supervised = tokio::spawn(supervision.run(stop.clone()));
    // The connection lives, and its server goes on as it was.
    next.files(folder.path(), &next);
    let mut state = plugin.state();
    let down = state.wait_for(|state| matches!(state.link, ConnectionStatus::Down { .. }));
    tokio::time::timeout(Duration::from_secs(30), down)
        .await
        .expect("it is not trusted")
        .unwrap();
    stop.cancel();
    supervised.await.unwrap();
    server.shutdown_background();
}

/// Connections to a socket, each of which waits for a permit.
fn gated(socket: &Path, gate: &Arc<Semaphore>, connects: &Arc<Notify>) -> Channel {
    let (socket, gate, connects) = (socket.to_owned(), Arc::clone(gate), Arc::clone(connects));
    let connector = service_fn(move |_| {
        let (socket, gate, connects) = (socket.clone(), Arc::clone(&gate), Arc::clone(&connects));
        async move {
            connects.notify_one();
            gate.acquire().await.expect("it is never closed").forget();
            UnixStream::connect(socket).await.map(TokioIo::new)
        }
    });
    Endpoint::from_static("http://plugin").connect_with_connector_lazy(connector)
}

/// As when the process is stopped while it connects: the time has passed, and no timer has noticed.
#[tokio::test]
async fn a_call_that_connects_after_its_deadline_is_not_sent() {
    let mut fake = Fake::start(Script {
        create: Say::Status(Status::internal("it was sent")),
        ..Script::default()
    });
    let (gate, connects) = (Arc::new(Semaphore::new(1)), Arc::new(Notify::new()));
    let clock = Arc::new(Mutex::new(Timestamp::now()));
    let mut options = fake.options();
    options.now = {
        let clock = Arc::clone(&clock);
        Arc::new(move || *clock.lock().unwrap())
    };
    let channel = gated(&fake.socket(), &gate, &connects);
    let (plugin, _supervision) = Plugin::connect_over(channel, options).await.unwrap();
    connects.notified().await;
    fake.stop().await;
    fake.listen();

    let deadline = Timestamp::now() + SignedDuration::from_secs(30);
    let create = Call {
        token: "123e4567-e89b-12d3-a456-426614174000".to_owned(),
        ..Call::new(Verb::Create, target(), desired(), deadline)
    };
    let answer = loop {
        let mut call = plugin.execute(&create);
        tokio::select! {
            // It finds the former connection dying.
            broken = &mut call => assert!(broken.is_err(), "{broken:?}"),
            () = connects.notified() => {
                *clock.lock().unwrap() = deadline + SignedDuration::from_millis(1);
                gate.add_permits(1);
                break call.await;
            }
        }
    };
    let Err(CallError::Rejected { code, .. }) = answer else {
        panic!("it was sent: {answer:?}");
    };
    assert_eq!(code, "NOT_SENT");
    assert!(fake.script().created.is_empty());
}
