//! HTTP over TLS 1.3.

use std::{convert::Infallible, net::IpAddr, sync::Arc, time::Duration};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Semaphore,
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;

use super::{certificate_store::CertificateStore, respond::Responder};

/// Connections at once; API servers keep few.
const MOST_CONNECTIONS: usize = 256;
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// API servers keep a connection for 90 s without a request: they are to close it.
const HEADERS_WITHIN: Duration = Duration::from_mins(3);
/// After a connection that could not be accepted: mostly there are too many open files.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Takes the address.
pub(super) async fn bind(address: IpAddr, port: u16) -> Result<TcpListener, String> {
    let bound = TcpListener::bind((address, port)).await;
    bound.map_err(|error| format!("cannot listen on port {port} of {address}: {error}"))
}

/// Answers until it is dropped, and all connections with it.
pub(super) async fn serve(
    listener: TcpListener,
    certificates: Arc<CertificateStore>,
    responder: Arc<Responder>,
) {
    let free = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        // Those that have ended.
        while connections.try_join_next().is_some() {}
        let Ok(permit) = Arc::clone(&free).acquire_owned().await else {
            return;
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "the usage webhook cannot accept a connection, will retry");
                sleep(ACCEPT_AGAIN).await;
                continue;
            }
        };
        let Some(config) = certificates.tls() else {
            // It is closed: the API server asks again.
            continue;
        };
        let responder = Arc::clone(&responder);
        connections.spawn(async move {
            if let Err(why) = converse(stream, TlsAcceptor::from(config), &responder).await {
                tracing::debug!(why, "a connection of the usage webhook failed");
            }
            drop(permit);
        });
    }
}

async fn converse(stream: TcpStream, acceptor: TlsAcceptor, responder: &Responder) -> Result<(), String> {
    let stream = timeout(HANDSHAKE_WITHIN, acceptor.accept(stream)).await;
    let stream = stream
        .map_err(|_| "no TLS handshake in time".to_owned())?
        .map_err(|error| error.to_string())?;
    let answer = service_fn(|request| async { Ok::<_, Infallible>(responder.respond(request).await) });
    http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_WITHIN)
        .serve_connection(TokioIo::new(stream), answer)
        .await
        .map_err(|error| error.to_string())
}
