//! Requests come in, meet their faults, and are answered.

use std::{
    future::{Future, pending},
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use http::{HeaderValue, Response, header};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use kube::client::Body as RequestBody;
use serde_json::json;
use tower::Service;

use crate::{
    Shared,
    api::{self, Call, Verb},
    fault::{Chaos, Outcome},
    reply::{Body, ErrorReply, Reply, not_served, status},
    resource::Resource,
    watch::Watch,
};

type ResponseBody = UnsyncBoxBody<Bytes, io::Error>;

/// Between two checks of whether a connection is open again.
pub(crate) const CLOSED: Duration = Duration::from_millis(100);

/// One client's way to the API server.
#[derive(Clone)]
pub(crate) struct Connection {
    shared: Arc<Shared>,
    chaos: Arc<dyn Chaos>,
}

impl Connection {
    pub(crate) fn new(shared: Arc<Shared>, chaos: Arc<dyn Chaos>) -> Self {
        Self { shared, chaos }
    }

    async fn serve(self, request: http::Request<RequestBody>) -> Result<Response<ResponseBody>, io::Error> {
        let (head, body) = request.into_parts();
        let body = body
            .collect_bytes()
            .await
            .map_err(|error| io::Error::other(error.to_string()))?;
        let broken = || io::Error::new(io::ErrorKind::ConnectionReset, "connection reset by peer");
        let call = match api::read(&head, &body) {
            Ok(call) => call,
            Err(refusal) => return Ok(respond(refusal.0)),
        };
        let told = call.told(self.shared.state.lock().revision);
        let fate = self.chaos.fate(&told);
        if !fate.before.is_zero() {
            tokio::time::sleep(fate.before).await;
        }
        self.opened().await;
        if self.shared.state.lock().down {
            return Err(io::Error::new(
                io::ErrorKind::ConnectionRefused,
                "connection refused",
            ));
        }
        let refused = |code, reason, message: &str| Ok(respond(refusal(code, reason, message)));
        match fate.outcome {
            Outcome::BreakBefore => return Err(broken()),
            Outcome::HangBefore => return pending().await,
            Outcome::Unavailable => return refused(503, "ServiceUnavailable", "the server is not ready"),
            Outcome::Conflict => return refused(409, "Conflict", "the object has been modified"),
            Outcome::Gone => return refused(410, "Expired", "too old resource version"),
            Outcome::Invalid => return refused(422, "Invalid", "a policy of today does not like it"),
            Outcome::Throttle(seconds) => {
                let mut reply = refusal(429, "TooManyRequests", "please slow down");
                reply.retry_after = Some(seconds);
                return Ok(respond(reply));
            }
            Outcome::Late(seconds) => {
                tokio::spawn(async move {
                    tokio::time::sleep(Duration::from_secs(seconds.into())).await;
                    if !self.shared.state.lock().down {
                        let response = self.carry_out(&call);
                        self.chaos.served(&told, response.status().as_u16());
                    }
                });
                return pending().await;
            }
            Outcome::Stale(commits) if call.takes_any_version() => {
                return Ok(self.as_it_was(&call, commits));
            }
            Outcome::Serve
            | Outcome::Stale(_)
            | Outcome::BreakAfter
            | Outcome::HangAfter
            | Outcome::ErrorAfter => {}
        }
        let response = self.carry_out(&call);
        self.chaos.served(&told, response.status().as_u16());
        self.opened().await;
        match fate.outcome {
            Outcome::BreakAfter => return Err(broken()),
            Outcome::HangAfter => return pending().await,
            Outcome::ErrorAfter => return refused(500, "InternalError", "etcdserver: request timed out"),
            _ => {}
        }
        if !fate.after.is_zero() {
            tokio::time::sleep(fate.after).await;
        }
        Ok(response)
    }

    /// Waits until something can come and go.
    async fn opened(&self) {
        while self.chaos.closed() {
            tokio::time::sleep(CLOSED).await;
        }
    }

    fn as_it_was(&self, call: &Call, commits: u32) -> Response<ResponseBody> {
        let now = (self.shared.now)();
        let mut state = self.shared.state.lock();
        let served = state.served();
        let Some(resource) = served.iter().find(|resource| call.is_of(resource)) else {
            return respond(not_served().0);
        };
        let mut past = state.past(&resource.id(), commits);
        drop(state);
        respond(api::carry_out(&mut past, resource, call, now))
    }

    fn carry_out(&self, call: &Call) -> Response<ResponseBody> {
        let now = (self.shared.now)();
        let mut state = self.shared.state.lock();
        if call.verb == Verb::Version {
            return respond(crate::reply::ok(200, json!({"gitVersion": "v1.36.0-fake"})));
        }
        let served = state.served();
        if call.verb == Verb::Discovery {
            let document = crate::discovery::document(&served, call.is_of_core());
            return respond(crate::reply::ok(200, document));
        }
        let Some(resource) = served.iter().find(|resource| call.is_of(resource)).cloned() else {
            return respond(not_served().0);
        };
        if call.verb == Verb::Watch {
            let watch = Watch::begin(&self.shared, &state, &self.chaos, call, resource);
            drop(state);
            return match watch {
                Ok(watch) => stream(watch),
                Err(ErrorReply(reply)) => respond(reply),
            };
        }
        let reply = api::carry_out(&mut state, &resource, call, now);
        drop(state);
        self.shared.changed.notify_waiters();
        respond(reply)
    }
}

impl Service<http::Request<RequestBody>> for Connection {
    type Response = Response<ResponseBody>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, io::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<RequestBody>) -> Self::Future {
        self.clone().serve(request).boxed()
    }
}

fn refusal(code: u16, reason: &str, message: &str) -> Reply {
    let nothing = Resource {
        group: String::new(),
        version: String::new(),
        kind: String::new(),
        plural: String::new(),
        namespaced: false,
        has_status: false,
        custom: false,
        schema: Arc::default(),
    };
    status(code, reason, message, &nothing, "").0
}

fn respond(reply: Reply) -> Response<ResponseBody> {
    let (bytes, content_type) = match reply.body {
        Body::Json(body) => (body.to_string().into_bytes(), "application/json"),
        Body::Text(text) => (text.as_bytes().to_vec(), "text/plain"),
    };
    let body = Full::new(Bytes::from(bytes))
        .map_err(|never| match never {})
        .boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() =
        http::StatusCode::from_u16(reply.code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Some(seconds) = reply.retry_after {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn stream(watch: Watch) -> Response<ResponseBody> {
    let lines = futures::stream::unfold(watch, |mut watch| async move {
        let line = watch.next().await?;
        Some((line.map(http_body::Frame::data), watch))
    });
    Response::new(StreamBody::new(lines.boxed()).boxed_unsync())
}
