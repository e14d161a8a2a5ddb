//! A call that certainly was not processed is sent once more.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bridge_core::function::{FunctionFailure, RunRequest, RunResponse};
use h2::{Reason, server};
use tempfile::TempDir;
use tokio::{net::UnixListener, task::JoinHandle};
use tonic::codegen::{
    Bytes,
    http::{HeaderMap, HeaderValue, Response},
};

use crate::host::{client, run};

/// It refuses so many calls, and answers all others with an empty response.
struct Refusing {
    endpoint: String,
    calls: Arc<AtomicUsize>,
    server: JoinHandle<()>,
    _folder: TempDir,
}

impl Refusing {
    fn new(refusals: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("f.sock");
        let listener = UnixListener::bind(&socket).unwrap();
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let server = tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            let mut connection = server::handshake(stream).await.unwrap();
            while let Some(Ok((_, mut respond))) = connection.accept().await {
                if counted.fetch_add(1, Ordering::SeqCst) < refusals {
                    respond.send_reset(Reason::REFUSED_STREAM);
                    continue;
                }
                let answer = Response::builder().header("content-type", "application/grpc");
                let mut body = respond.send_response(answer.body(()).unwrap(), false).unwrap();
                body.send_data(Bytes::from_static(&[0; 5]), false).unwrap();
                let mut trailers = HeaderMap::new();
                trailers.insert("grpc-status", HeaderValue::from_static("0"));
                body.send_trailers(trailers).unwrap();
            }
        });
        Self {
            endpoint: format!("unix://{}", socket.display()),
            calls,
            server,
            _folder: folder,
        }
    }
}

impl Drop for Refusing {
    fn drop(&mut self) {
        self.server.abort();
    }
}

#[tokio::test]
async fn a_refused_call_is_sent_once_more() {
    let function = Refusing::new(1);
    let answered = run(&client(&function.endpoint), &RunRequest::default()).await;
    assert_eq!(answered, Ok(RunResponse::default()));
    assert_eq!(function.calls.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_call_that_is_refused_twice_fails() {
    let function = Refusing::new(2);
    let answered = run(&client(&function.endpoint), &RunRequest::default()).await;
    assert!(
        matches!(answered, Err(FunctionFailure::Unreachable(_))),
        "{answered:?}"
    );
    assert_eq!(function.calls.load(Ordering::SeqCst), 2);
}
