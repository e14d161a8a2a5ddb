//! Connections to the admin endpoint: so many at once, each with so much time for a request.

use std::{future::Future, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
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

/// Serves each connection by the routes that its client may use, until it is stopped.
pub(super) async fn serve(
    listener: TcpListener,
    routes: impl Fn(SocketAddr) -> Router,
    stop: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(MOST));
    loop {
        let next = async {
            // They are never closed.
            let place = Arc::clone(&places).acquire_owned().await.ok()?;
            Some((place, listener.accept().await))
        };
        let accepted = tokio::select! {
            () = stop.cancelled() => return,
            accepted = next => accepted,
        };
        match accepted {
            Some((place, Ok((stream, from)))) => {
                tokio::spawn(bounded(place, one(stream, routes(from))));
            }
            Some((_, Err(error))) => {
                tracing::warn!(%error, "failed to accept a connection to the admin endpoint");
                sleep(PAUSE).await;
            }
            None => return,
        }
    }
}

async fn bounded(place: OwnedSemaphorePermit, served: impl Future<Output = ()>) {
    let _ = timeout(CONNECTION_WITHIN, served).await;
    drop(place);
}

async fn one(stream: TcpStream, routes: Router) {
    let _: io::Result<()> = stream.set_nodelay(true);
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .max_buf_size(MOST_HEAD)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    if let Err(error) = served.await {
        tracing::debug!(%error, "a connection to the admin endpoint ended");
    }
}
