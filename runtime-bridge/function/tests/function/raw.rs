//! A function that answers with bytes as they are given, or not at all.

use std::{
    convert::Infallible,
    future::{pending, ready},
    path::Path,
    sync::Arc,
    task::{Context, Poll},
};

use http_body_util::{BodyExt, Full};
use tempfile::TempDir;
use tokio::{net::UnixListener, sync::watch, task::JoinHandle};
use tokio_stream::wrappers::UnixListenerStream;
use tonic::{
    body::Body,
    codegen::{
        BoxFuture, Bytes, Service,
        http::{self, HeaderMap, HeaderName, HeaderValue},
    },
    server::NamedService,
    transport::Server,
};

#[derive(Clone)]
struct Answer {
    /// Frames of gRPC and its status; none: no answer at all.
    answer: Option<(Bytes, &'static str)>,
    /// Calls under way.
    calls: Arc<watch::Sender<usize>>,
}

impl NamedService for Answer {
    const NAME: &'static str = "apiextensions.fn.proto.v1.FunctionRunnerService";
}

struct Counted(Arc<watch::Sender<usize>>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|calls| *calls -= 1);
    }
}

impl Service<http::Request<Body>> for Answer {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<Body>) -> Self::Future {
        self.calls.send_modify(|calls| *calls += 1);
        let (counted, answer) = (Counted(Arc::clone(&self.calls)), self.answer.clone());
        Box::pin(async move {
            let Some((frame, status)) = answer else {
                return pending().await;
            };
            drop(counted);
            let answer = http::Response::builder().header("content-type", "application/grpc");
            let trailers = HeaderMap::from_iter([(
                HeaderName::from_static("grpc-status"),
                HeaderValue::from_static(status),
            )]);
            let body = Full::new(frame).with_trailers(ready(Some(Ok(trailers))));
            Ok(answer.body(Body::new(body)).unwrap())
        })
    }
}

pub struct Raw {
    pub endpoint: String,
    calls: watch::Receiver<usize>,
    server: JoinHandle<()>,
    _folder: Option<TempDir>,
}

impl Raw {
    /// It answers each call with a frame that says it is of this length.
    pub fn answering(length: u32, message: &[u8]) -> Self {
        let frame = [&[0], length.to_be_bytes().as_slice(), message].concat();
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("f.sock");
        Self::new(&socket, Some(folder), Some((frame.into(), "0")))
    }

    /// It takes calls, and answers none.
    pub fn hanging() -> Self {
        Self::hanging_at(tempfile::tempdir().unwrap())
    }

    /// Likewise, on the socket `f.sock` of this folder.
    pub fn hanging_at(folder: TempDir) -> Self {
        let socket = folder.path().join("f.sock");
        Self::new(&socket, Some(folder), None)
    }

    /// It answers each call with UNAVAILABLE, on this socket.
    pub fn unavailable_at(socket: &Path) -> Self {
        Self::new(socket, None, Some((Bytes::new(), "14")))
    }

    fn new(socket: &Path, folder: Option<TempDir>, answer: Option<(Bytes, &'static str)>) -> Self {
        let incoming = UnixListenerStream::new(UnixListener::bind(socket).unwrap());
        let (calls, watched) = watch::channel(0);
        let answer = Answer {
            answer,
            calls: Arc::new(calls),
        };
        let server = Server::builder().add_service(answer);
        Self {
            endpoint: format!("unix://{}", socket.display()),
            calls: watched,
            server: tokio::spawn(async { server.serve_with_incoming(incoming).await.unwrap() }),
            _folder: folder,
        }
    }

    /// Ends when so many calls are under way.
    pub async fn under_way(&self, calls: usize) {
        let mut watched = self.calls.clone();
        let reached = watched.wait_for(|count| *count == calls);
        let reached = tokio::time::timeout(std::time::Duration::from_secs(30), reached).await;
        reached.expect("so many calls are under way").unwrap();
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.server.abort();
    }
}
