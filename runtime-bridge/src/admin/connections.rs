//! Connections to the admin endpoint: so many at once, each with so much time for a request.

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    extract::Request,
    middleware::{Next, from_fn},
};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinHandle,
    time::{sleep, timeout},
};
use tokio_util::sync::CancellationToken;

/// Connections at once. Probes and scrapes need a few.
pub(super) const MOST: usize = 64;

/// For the headers of a request.
const HEADERS_WITHIN: Duration = Duration::from_secs(5);

/// For one connection, however many requests it brings: who reads slowly holds a place no longer.
const CONNECTION_WITHIN: Duration = Duration::from_mins(1);

/// The largest head of a request.
const MOST_HEAD: usize = 16 << 10;

/// After an error of the listener, such as too many open files.
const PAUSE: Duration = Duration::from_millis(500);

/// A connection that has a place.
struct Held {
    task: JoinHandle<()>,
    /// A request of it is being answered.
    is_busy: Arc<AtomicBool>,
}

/// Serves each connection by the routes that its client may use, until it is stopped. One more than there are places ends the oldest without a request, else
/// the oldest: who holds connections keeps no probe waiting.
pub(super) async fn serve(
    listener: TcpListener,
    routes: impl Fn(SocketAddr) -> Router,
    stop: CancellationToken,
) {
    let mut held: VecDeque<Held> = VecDeque::with_capacity(MOST);
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, from)) => {
                held.retain(|connection| !connection.task.is_finished());
                let is_idle = |connection: &Held| !connection.is_busy.load(Ordering::Relaxed);
                if held.len() >= MOST
                    && let Some(ended) = held.remove(held.iter().position(is_idle).unwrap_or(0))
                {
                    ended.task.abort();
                }
                let is_busy = Arc::new(AtomicBool::new(false));
                let routes = noted(routes(from), &is_busy);
                held.push_back(Held {
                    task: tokio::spawn(one(stream, routes)),
                    is_busy,
                });
            }
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection to the admin endpoint");
                sleep(PAUSE).await;
            }
        }
    }
}

/// The same routes; while they answer, it is noted.
fn noted(routes: Router, is_busy: &Arc<AtomicBool>) -> Router {
    let is_busy = Arc::clone(is_busy);
    routes.layer(from_fn(move |request: Request, next: Next| {
        let is_busy = Arc::clone(&is_busy);
        async move {
            is_busy.store(true, Ordering::Relaxed);
            let response = next.run(request).await;
            is_busy.store(false, Ordering::Relaxed);
            response
        }
    }))
}

async fn one(stream: TcpStream, routes: Router) {
    let _: io::Result<()> = stream.set_nodelay(true);
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .max_buf_size(MOST_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    if let Ok(Err(error)) = timeout(CONNECTION_WITHIN, served).await {
        tracing::debug!(%error, "a connection to the admin endpoint ended");
    }
}
