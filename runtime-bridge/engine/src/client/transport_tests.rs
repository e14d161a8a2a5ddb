use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::atomic::{AtomicUsize, Ordering},
};

use futures::future;
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::{body::Bytes, server::conn::http2, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
    task::JoinSet,
    time::timeout,
};

use super::*;

const LIMIT: Duration = Duration::from_secs(30);

/// Speaks HTTP/2 as an API server does: 100 requests at the same time on a connection. What is asked for below `/watch` never ends.
struct Server {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    /// The connections that are open fall silent.
    stall: Arc<Notify>,
    _serving: JoinSet<()>,
}

async fn serve() -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (connections, stall) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let address = listener.local_addr().unwrap();
    let (counted, stalled) = (Arc::clone(&connections), Arc::clone(&stall));
    let mut serving = JoinSet::new();
    serving.spawn(async move {
        let mut open = JoinSet::new();
        loop {
            let (socket, _) = listener.accept().await.unwrap();
            counted.fetch_add(1, Ordering::SeqCst);
            open.spawn(answer(socket, Arc::clone(&stalled)));
        }
    });
    Server {
        address,
        connections,
        stall,
        _serving: serving,
    }
}

async fn answer(socket: TcpStream, stall: Arc<Notify>) {
    let service = service_fn(|request: Request<Incoming>| {
        let is_watch = request.uri().path().starts_with("/watch");
        let whole = Full::new(Bytes::from_static(b"{}"));
        future::ready(Ok::<_, Infallible>(Response::new(if is_watch {
            BoxBody::new(Endless)
        } else {
            whole.boxed()
        })))
    });
    let serving = http2::Builder::new(TokioExecutor::new())
        .max_concurrent_streams(100)
        .serve_connection(TokioIo::new(socket), service);
    let mut serving = std::pin::pin!(serving);
    tokio::select! {
        served = &mut serving => drop(served),
        () = stall.notified() => future::pending().await,
    }
}

struct Endless;

impl hyper::body::Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

fn client(server: &Server, pings: Pings) -> kube::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let transport = Transport {
        config: Config::new(format!("http://{}", server.address).parse().unwrap()),
        protocol: Protocol::Http2,
        pings,
    };
    transport.client().unwrap()
}

async fn ask(client: &kube::Client, path: &str) -> Result<Response<Body>, kube::Error> {
    let request = Request::get(path).body(Body::empty()).unwrap();
    timeout(LIMIT, client.send(request)).await.expect("it waits")
}

#[tokio::test]
async fn watches_share_connections_and_keep_no_request_waiting() {
    let server = serve().await;
    let client = client(&server, Pings::default());
    let mut watches = Vec::new();
    for number in 0..200 {
        watches.push(ask(&client, &format!("/watch/{number}")).await.unwrap());
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 3);
    // What has ended makes room on its connection.
    watches.drain(0..100);
    for number in 0..100 {
        watches.push(ask(&client, &format!("/watch/{number}")).await.unwrap());
        ask(&client, "/read").await.unwrap();
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn requests_at_the_same_time_open_one_connection() {
    let server = serve().await;
    let client = client(&server, Pings::default());
    let asked = (0..50).map(|_| ask(&client, "/watch"));
    let answered = future::join_all(asked).await;
    assert!(answered.iter().all(Result::is_ok));
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_server_that_falls_silent_is_left() {
    let server = serve().await;
    let pings = Pings {
        after: Duration::from_millis(100),
        patience: Duration::from_millis(100),
    };
    let client = client(&server, pings);
    let watch = ask(&client, "/watch").await.unwrap();
    server.stall.notify_waiters();
    let read = timeout(LIMIT, watch.into_body().collect()).await;
    assert!(read.expect("it waits for a dead peer").is_err());
    ask(&client, "/read").await.unwrap();
    assert_eq!(server.connections.load(Ordering::SeqCst), 2);
}
