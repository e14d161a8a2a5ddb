//! Connections to the API server: few, and each for many requests at the same time where it speaks HTTP/2.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures::future::BoxFuture;
use http::{Request, Response};
use hyper::body::{Frame, Incoming, SizeHint};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector};
use hyper_timeout::TimeoutConnector;
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use kube::{
    client::{Body, ClientBuilder, ConfigExt},
    config::Config,
};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tower::{BoxError, Service, ServiceBuilder};

/// Requests at the same time on one connection. An API server takes 100, and lets what comes beyond wait without a word: a watch would be silent.
const REQUESTS: usize = 80;
/// After so long without a word the operating system asks whether there is still somebody, of which HTTP/1 knows nothing.
const KEEP_ALIVE: Duration = Duration::from_secs(30);
/// Before the API server ends an HTTP/1 connection that is idle for 90 seconds: a request that crosses that is lost.
const IDLE: Duration = Duration::from_mins(1);

/// What the API server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Not known yet: each connection is asked.
    Negotiated,
    Http1,
    Http2,
}

/// When an HTTP/2 connection is given up on which nothing comes. Requests that wait on it fail then, and the next one connects anew.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pings {
    /// So long nothing came.
    pub(super) after: Duration,
    /// And then no answer to a ping.
    pub(super) patience: Duration,
}

impl Default for Pings {
    fn default() -> Self {
        Self {
            after: Duration::from_secs(10),
            patience: Duration::from_secs(5),
        }
    }
}

/// Clients of this API server. Each has connections of its own.
#[derive(Debug, Clone)]
pub(super) struct Transport {
    pub(super) config: Config,
    pub(super) protocol: Protocol,
    pub(super) pings: Pings,
}

impl Transport {
    pub(super) fn client(&self) -> Result<kube::Client, BoxError> {
        let service = ServiceBuilder::new()
            .layer(self.config.base_uri_layer())
            .option_layer(self.config.auth_layer()?)
            .layer(self.config.extra_headers_layer()?)
            .map_err(BoxError::from)
            .service(self.connections()?);
        Ok(ClientBuilder::new(service, self.config.default_namespace.clone()).build())
    }

    fn connections(&self) -> Result<Connections, BoxError> {
        Ok(Connections {
            connector: self.connector()?,
            protocol: self.protocol,
            pings: self.pings,
            open: Arc::default(),
        })
    }

    fn connector(&self) -> Result<Connector, BoxError> {
        if let Some(proxy) = &self.config.proxy_url {
            return Err(format!("it is behind the proxy {proxy}, and proxies are not supported").into());
        }
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEP_ALIVE));
        let tls = hyper_rustls::HttpsConnectorBuilder::new()
            .with_tls_config(self.config.rustls_client_config()?)
            .https_or_http();
        let tls = match &self.config.tls_server_name {
            Some(name) => {
                tls.with_server_name_resolver(FixedServerNameResolver::new(name.clone().try_into()?))
            }
            None => tls,
        };
        let tls = match self.protocol {
            Protocol::Negotiated => tls.enable_http1().enable_http2().wrap_connector(tcp),
            Protocol::Http1 => tls.enable_http1().wrap_connector(tcp),
            Protocol::Http2 => tls.enable_http2().wrap_connector(tcp),
        };
        let mut connector = TimeoutConnector::new(tls);
        connector.set_connect_timeout(self.config.connect_timeout);
        connector.set_write_timeout(self.config.write_timeout);
        Ok(connector)
    }
}

type Connector = TimeoutConnector<HttpsConnector<HttpConnector>>;

/// Sends each request on the first connection that has room for it.
#[derive(Clone)]
struct Connections {
    connector: Connector,
    protocol: Protocol,
    pings: Pings,
    open: Arc<Mutex<Vec<Connection>>>,
}

/// One connection at a time with HTTP/2, else one per request.
#[derive(Clone)]
struct Connection {
    http: legacy::Client<Connector, Body>,
    room: Arc<Semaphore>,
}

impl Connections {
    fn with_room(&self) -> (legacy::Client<Connector, Body>, OwnedSemaphorePermit) {
        let mut open = self.open.lock();
        loop {
            for connection in open.iter() {
                if let Ok(place) = Arc::clone(&connection.room).try_acquire_owned() {
                    return (connection.http.clone(), place);
                }
            }
            open.push(self.connection());
        }
    }

    /// After how long an idle connection is ended.
    fn idle(&self) -> Option<Duration> {
        match self.protocol {
            Protocol::Negotiated | Protocol::Http1 => Some(IDLE),
            // The API server ends it. One on which there are only watches would be taken for idle, too.
            Protocol::Http2 => None,
        }
    }

    fn connection(&self) -> Connection {
        let http = legacy::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(self.idle())
            .http2_only(self.protocol == Protocol::Http2)
            .http2_keep_alive_interval(self.pings.after)
            .http2_keep_alive_timeout(self.pings.patience)
            .http2_keep_alive_while_idle(true)
            .build(self.connector.clone());
        Connection {
            http,
            room: Arc::new(Semaphore::new(REQUESTS)),
        }
    }
}

impl Service<Request<Body>> for Connections {
    type Response = Response<Answer>;
    type Error = legacy::Error;
    type Future = BoxFuture<'static, Result<Self::Response, Self::Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let (http, place) = self.with_room();
        Box::pin(async move {
            let answered = http.request(request).await?;
            Ok(answered.map(|body| Answer { body, _place: place }))
        })
    }
}

/// A body that takes a place on its connection until it has been read, or is dropped.
struct Answer {
    body: Incoming,
    _place: OwnedSemaphorePermit,
}

impl hyper::body::Body for Answer {
    type Data = <Incoming as hyper::body::Body>::Data;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
#[path = "transport_tests.rs"]
mod tests;
