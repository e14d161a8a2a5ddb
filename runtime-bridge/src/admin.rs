//! The admin endpoint: `/livez`, `/readyz`, `/metrics`, `/debug/state`.

use std::{io, net::SocketAddr, sync::Arc};

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// Loopback: an exec probe reaches it, other pods do not.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:8081";

/// What a running bridge says of itself.
pub trait Introspect: Send + Sync + 'static {
    /// Why it can only be started anew.
    fn liveness(&self) -> Result<(), &'static str>;

    /// One entry per check: what was looked at, and what is wrong with it.
    fn readiness(&self) -> Vec<(String, Result<(), String>)>;

    /// All metrics as text.
    fn metrics(&self) -> String;

    /// Everything, as JSON.
    fn state(&self) -> Value;
}

/// The address is in use, or not ours.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on the admin address {address}: {source}")]
pub struct BindError {
    address: SocketAddr,
    source: io::Error,
}

/// Takes the address. Requests wait until [`serve`] runs.
pub async fn bind(address: SocketAddr) -> Result<TcpListener, BindError> {
    let failed = |source| BindError { address, source };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    tracing::info!(%address, "admin endpoint");
    Ok(listener)
}

/// Answers until it is stopped.
pub async fn serve(listener: TcpListener, bridge: Arc<dyn Introspect>, stop: CancellationToken) {
    let routes = Router::new()
        .route("/livez", get(liveness))
        .route("/readyz", get(readiness))
        .route("/metrics", get(metrics))
        .route("/debug/state", get(state))
        .with_state(bridge);
    let served = axum::serve(listener, routes).with_graceful_shutdown(stop.cancelled_owned());
    if let Err(error) = served.await {
        tracing::error!(%error, "the admin endpoint failed");
    }
}

async fn liveness(State(bridge): State<Arc<dyn Introspect>>) -> Response {
    match bridge.liveness() {
        Ok(()) => "ok\n".into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

async fn readiness(State(bridge): State<Arc<dyn Introspect>>) -> Response {
    let checks = bridge.readiness();
    let ready = checks.iter().all(|(_, result)| result.is_ok());
    let text = checks
        .iter()
        .fold(String::new(), |text, (what, result)| match result {
            Ok(()) => format!("{text}[+] {what}\n"),
            Err(why) => format!("{text}[-] {what}: {why}\n"),
        });
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, text).into_response()
}

async fn metrics(State(bridge): State<Arc<dyn Introspect>>) -> Response {
    let open_metrics = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, open_metrics)], bridge.metrics()).into_response()
}

async fn state(State(bridge): State<Arc<dyn Introspect>>) -> Response {
    (
        [(header::CONTENT_TYPE, "application/json")],
        format!("{:#}\n", bridge.state()),
    )
        .into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Broken;

    impl Introspect for Broken {
        fn liveness(&self) -> Result<(), &'static str> {
            Err("a task has ended")
        }

        fn readiness(&self) -> Vec<(String, Result<(), String>)> {
            Vec::new()
        }

        fn metrics(&self) -> String {
            String::new()
        }

        fn state(&self) -> Value {
            Value::Null
        }
    }

    #[tokio::test]
    async fn a_bridge_that_cannot_go_on_is_not_alive() {
        let answer = liveness(State(Arc::new(Broken))).await;
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
