//! The way to the API server: one client for watches, one for everything else. No retries, a deadline on every call.

mod connect;
mod deadlines;

use std::{sync::Arc, time::Duration};

use bridge_core::error_chain;
use futures::{Stream, StreamExt, TryStreamExt};
use http::{HeaderMap, Method, Request, Response, header};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tokio_util::{
    codec::{FramedRead, LinesCodec},
    io::StreamReader,
};

pub use self::connect::{Clients, ConnectError, ConnectOptions};
use self::deadlines::Deadlines;
use crate::{
    api_error::ApiError,
    metrics::{Metrics, RequestLabels},
};

/// What is accepted: of an object its metadata alone; the rest stays where it is.
pub const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
/// Likewise, of a list.
pub const METADATA_ONLY_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// Every call but a watch ends by then, unless the same one had no answer before.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// The API server itself gives up after this: its `--request-timeout`, unless told otherwise.
const LONGEST_DEADLINE: Duration = Duration::from_mins(1);

/// No answer is larger: a plain list of a hundred thousand objects.
const LARGEST_ANSWER: usize = 1 << 30;
const LARGEST_LINE: usize = 32 << 20;

/// One pool of connections.
#[derive(Clone)]
pub struct ApiClient {
    kube: kube::Client,
    metrics: Arc<Metrics>,
    deadline: Duration,
    /// What a deadline grows to where it is missed.
    longest: Duration,
    missed: Arc<Deadlines>,
}

impl ApiClient {
    /// Over any transport: for tests and simulation. The deadline is doubled for a request that missed it, up to a minute, if it
    /// changes an object.
    pub fn new(kube: kube::Client, metrics: Arc<Metrics>, deadline: Duration) -> Self {
        Self {
            kube,
            metrics,
            deadline,
            longest: deadline.max(LONGEST_DEADLINE),
            missed: Arc::default(),
        }
    }

    /// The same with another deadline for its calls, which does not grow.
    #[must_use]
    pub fn with_deadline(self, deadline: Duration) -> Self {
        Self {
            deadline,
            longest: deadline,
            missed: Arc::default(),
            ..self
        }
    }

    /// One request, one answer, read as JSON. `verb` and `resource` are for the metrics.
    pub async fn call<T: DeserializeOwned>(
        &self,
        verb: &'static str,
        resource: &str,
        request: Request<Vec<u8>>,
    ) -> Result<T, ApiError> {
        let body = self.call_text(verb, resource, request).await?;
        // Not the text itself: it may hold a Secret.
        serde_json::from_str(&body).map_err(|e| ApiError::Unusable(e.to_string()))
    }

    /// One request, one answer, as text.
    pub async fn call_text(
        &self,
        verb: &'static str,
        resource: &str,
        request: Request<Vec<u8>>,
    ) -> Result<String, ApiError> {
        let what = format!("{} {}", request.method(), request.uri().path());
        // What takes long is the write of a large object. Not its create: until when one may land is computed from the first deadline.
        let longest = if [Method::PUT, Method::PATCH].contains(request.method()) {
            self.longest
        } else {
            self.deadline
        };
        let begun = Instant::now();
        let deadline = self.missed.of(&what, self.deadline);
        let exchange = async {
            let response = self.send(verb, resource, request).await?;
            read(response.into_body()).await
        };
        let Ok(answered) = tokio::time::timeout(deadline, exchange).await else {
            self.count(verb, resource, "none");
            self.missed.missed(&what, deadline, longest);
            return Err(ApiError::Timeout(deadline));
        };
        let body = answered?;
        // What took so long takes as long the next time.
        if begun.elapsed() <= self.deadline {
            self.missed.answered(&what);
        }
        String::from_utf8(body).map_err(|e| ApiError::Unusable(e.to_string()))
    }

    /// A request whose answer is one line after the other. The deadline is for the first of the answer only.
    pub(crate) async fn stream(
        &self,
        resource: &str,
        request: Request<Vec<u8>>,
    ) -> Result<impl Stream<Item = Result<String, ApiError>> + Send + use<>, ApiError> {
        let response = tokio::time::timeout(self.deadline, self.send("watch", resource, request))
            .await
            .map_err(|_elapsed| {
                self.count("watch", resource, "none");
                ApiError::Timeout(self.deadline)
            })??;
        let bytes = response
            .into_body()
            .into_data_stream()
            .map_err(std::io::Error::other);
        let lines = FramedRead::new(
            StreamReader::new(bytes),
            LinesCodec::new_with_max_length(LARGEST_LINE),
        );
        Ok(lines.map(|line| line.map_err(|e| ApiError::Interrupted(error_chain(&e)))))
    }

    async fn send(
        &self,
        verb: &'static str,
        resource: &str,
        request: Request<Vec<u8>>,
    ) -> Result<Response<Body>, ApiError> {
        let path = request.uri().path().to_owned();
        let response = self.kube.send(request.map(Body::from)).await.map_err(|e| {
            self.count(verb, resource, "none");
            transport_error(&e)
        })?;
        let code = response.status();
        self.count(verb, resource, code.as_str());
        if code.is_success() {
            return Ok(response);
        }
        let retry_after = retry_after(response.headers());
        let body = read(response.into_body()).await.unwrap_or_default();
        Err(ApiError::from_answer(&path, code, retry_after, &body))
    }

    fn count(&self, verb: &'static str, resource: &str, code: &str) {
        let labels = RequestLabels {
            verb,
            resource: resource.to_owned(),
            code: code.to_owned(),
        };
        self.metrics.requests.get_or_create(&labels).inc();
    }
}

async fn read(body: Body) -> Result<Vec<u8>, ApiError> {
    let body = Limited::new(body, LARGEST_ANSWER).collect().await;
    Ok(body
        .map_err(|e| ApiError::Interrupted(error_chain(e.as_ref())))?
        .to_bytes()
        .to_vec())
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Whether anything was sent is what counts.
fn transport_error(error: &kube::Error) -> ApiError {
    let text = error_chain(error);
    let never_sent = match error {
        kube::Error::Service(e) => e
            .downcast_ref::<hyper_util::client::legacy::Error>()
            .is_some_and(hyper_util::client::legacy::Error::is_connect),
        // Credentials could not be had.
        kube::Error::Auth(_) => return ApiError::Forbidden(text),
        kube::Error::HyperError(_) => false,
        _ => true,
    };
    if never_sent {
        ApiError::Unavailable(text)
    } else {
        ApiError::Interrupted(text)
    }
}

#[cfg(test)]
mod tests;
