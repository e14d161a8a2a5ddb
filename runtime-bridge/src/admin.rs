//! The admin endpoint: `/livez`, `/readyz`, `/metrics`, `/debug/state`, `/debug/objects`.

mod authorization;
mod connections;

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use axum::{
    Router,
    extract::{Path, Request, State},
    http::{StatusCode, header},
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
    routing::get,
};
use bridge_core::{queue::Priority, watch_plan::GroupKind};
use bridge_engine::object::Key;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use self::authorization::Authorization;
use crate::plugins::RecentCall;

/// Longest wait of a command for the answer of a running bridge, which comes well before.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// Stands for the namespace of a cluster-scoped object in a path.
pub const NO_NAMESPACE: &str = "-";

/// Loopback: an exec probe reaches it, other pods do not.
pub const DEFAULT_ADDRESS: &str = "127.0.0.1:8081";

/// The same.
pub const DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8081);

/// The file beside the kubeconfig of `runtime-bridge dev` that says where its bridge answers.
pub const ADDRESS_FILE: &str = "bridge-admin-address";

/// What a running bridge reports about itself.
pub trait Introspect: Send + Sync + 'static {
    /// Why it can only be started anew.
    fn liveness(&self) -> Result<(), &'static str>;

    /// One entry per check: what was checked, and what is wrong with it.
    fn readiness(&self) -> Vec<(String, Result<(), String>)>;

    /// All metrics, as Prometheus text.
    fn metrics(&self) -> String;

    /// Version, leadership, plugins, kinds and the engine's state, as one JSON document.
    fn state(&self) -> Value;

    /// What is known of one object beside what stands in the cluster.
    fn object(&self, key: &Key, uid: &str) -> Seen;
}

/// What a bridge knows of one object.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Seen {
    /// Its place in the queue; `None`: it is neither queued nor reconciled.
    pub planned: Option<Planned>,
    /// The last calls on its behalf, the newest last.
    pub calls: Vec<RecentCall>,
    /// Of a composite resource: its run, and what it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub composition: Option<Value>,
}

/// When and why an object is reconciled next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Planned {
    /// When; `None`: nothing is planned after the pass that runs.
    pub next: Option<Timestamp>,
    /// The reason of the next pass, by which it is prioritised; `None` like `next`.
    pub purpose: Option<Priority>,
    /// Whether a pass runs now.
    pub running: bool,
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

/// Who may ask for `/debug`, which tells of the objects of all namespaces.
#[derive(Clone)]
pub enum DebugAccess {
    /// Who connects over loopback: processes of the same pod, and `kubectl port-forward`.
    Loopback,
    /// They, and whoever reaches the address with a token that the API server allows to get the path.
    Authorized(Arc<Authorization>),
}

/// Answers until it is stopped.
pub async fn serve(
    listener: TcpListener,
    bridge: Arc<dyn Introspect>,
    debug: DebugAccess,
    stop: CancellationToken,
) {
    connections::serve(listener, routes(bridge, debug), stop).await;
}

/// What may be asked from which address.
fn routes(bridge: Arc<dyn Introspect>, debug: DebugAccess) -> impl Fn(SocketAddr) -> Router {
    let probed = Router::new()
        .route("/", get(index))
        .route("/livez", get(liveness))
        .route("/readyz", get(readiness))
        .route("/metrics", get(metrics));
    let asked = Router::new().route("/debug/state", get(state)).route(
        "/debug/objects/{group}/{kind}/{namespace}/{name}/{uid}",
        get(object),
    );
    move |from: SocketAddr| {
        let is_local = is_local(from.ip());
        let routes = match (&debug, is_local) {
            (DebugAccess::Loopback, true) => probed.clone().merge(asked.clone()),
            (DebugAccess::Loopback, false) => probed.clone().route("/debug/{*path}", get(forbidden)),
            (DebugAccess::Authorized(authorization), _) => {
                let authorization = Arc::clone(authorization);
                let judged = from_fn(move |request: Request, next: Next| {
                    Arc::clone(&authorization).check(is_local, request, next)
                });
                probed.clone().merge(asked.clone().layer(judged))
            }
        };
        routes.with_state(Arc::clone(&bridge))
    }
}

/// The proxy of a service mesh delivers what comes over the network from another address of 127.0.0.0/8.
fn is_local(address: IpAddr) -> bool {
    [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)].contains(&address.to_canonical())
}

async fn forbidden() -> Response {
    let why = "/debug is answered over loopback only: use kubectl port-forward, or start the bridge with --debug-remote\n";
    (StatusCode::FORBIDDEN, why).into_response()
}

/// All paths, for people.
const PATHS: &str = "/livez\n/readyz\n/metrics\n/debug/state\n/debug/objects/GROUP/KIND/NAMESPACE/NAME/UID (NAMESPACE is - for cluster-scoped objects)\n";

async fn index() -> &'static str {
    PATHS
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

async fn object(
    State(bridge): State<Arc<dyn Introspect>>,
    Path((group, kind, namespace, name, uid)): Path<(String, String, String, String, String)>,
) -> Response {
    let namespace = Some(namespace).filter(|namespace| namespace != NO_NAMESPACE);
    let key = Key::new(GroupKind::new(&group, &kind), namespace.as_deref(), &name);
    match serde_json::to_string(&bridge.object(&key, &uid)) {
        Ok(seen) => ([(header::CONTENT_TYPE, "application/json")], seen).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tower::ServiceExt;

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

        fn object(&self, _: &Key, _: &str) -> Seen {
            Seen::default()
        }
    }

    async fn served(debug: DebugAccess) -> (SocketAddr, CancellationToken) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        tokio::spawn(serve(listener, Arc::new(Broken), debug, stop.clone()));
        (address, stop)
    }

    async fn asked(address: SocketAddr, path: &str) -> String {
        let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer.lines().next().unwrap_or_default().to_owned()
    }

    #[tokio::test]
    async fn debug_is_answered_over_loopback_alone() {
        for debug in [DebugAccess::Loopback, DebugAccess::Authorized(Arc::default())] {
            let is_authorized = matches!(debug, DebugAccess::Authorized(_));
            let routes = routes(Arc::new(Broken), debug.clone());
            let asked = async |from: &str| {
                let router = routes(from.parse().unwrap());
                let request = http::Request::get("/debug/state")
                    .body(axum::body::Body::empty())
                    .unwrap();
                router.oneshot(request).await.unwrap().status().as_u16()
            };
            for local in ["127.0.0.1:1", "[::1]:1", "[::ffff:127.0.0.1]:1"] {
                assert_eq!(asked(local).await, 200, "{local}");
            }
            for remote in ["10.0.0.7:1", "[::ffff:10.0.0.7]:1", "[fd00::7]:1", "127.0.0.6:1"] {
                assert_eq!(
                    asked(remote).await,
                    if is_authorized { 401 } else { 403 },
                    "{remote}"
                );
            }
        }
        let (address, _stop) = served(DebugAccess::Loopback).await;
        assert_eq!(asked(address, "/debug/state").await, "HTTP/1.1 200 OK");
        assert_eq!(asked(address, "/livez").await, "HTTP/1.1 503 Service Unavailable");
    }

    #[tokio::test(start_paused = true)]
    async fn who_sends_no_request_is_let_go_and_keeps_nobody_out() {
        let (address, _stop) = served(DebugAccess::Loopback).await;
        let mut silent = Vec::new();
        for _ in 0..connections::MOST {
            let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
            stream.write_all(b"GET /livez HTTP/1.1\r\n").await.unwrap();
            silent.push(stream);
        }
        // All places are taken: the oldest connection ends for it, before its time is over.
        assert_eq!(asked(address, "/livez").await, "HTTP/1.1 503 Service Unavailable");
        let mut rest = Vec::new();
        silent.remove(0).read_to_end(&mut rest).await.unwrap();
        assert!(rest.is_empty(), "it was answered: {rest:?}");
    }

    #[tokio::test]
    async fn a_bridge_that_cannot_go_on_is_not_alive() {
        let answer = liveness(State(Arc::new(Broken))).await;
        assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
    }
}
