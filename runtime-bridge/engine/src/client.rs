//! The way to the API server: one client for watches, one for everything else. No retries, a deadline on every call.

use std::{path::PathBuf, sync::Arc, time::Duration};

use futures::{Stream, StreamExt, TryStreamExt};
use http::{HeaderMap, HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, Limited};
use kube::{
    client::{Body, ClientBuilder},
    config::{Config, KubeConfigOptions, Kubeconfig},
};
use serde::de::DeserializeOwned;
use tokio_util::{
    codec::{FramedRead, LinesCodec},
    io::StreamReader,
};

use crate::{
    api_error::ApiError,
    metrics::{Metrics, RequestLabels},
};

/// Every call but a watch ends by then.
pub const DEADLINE: Duration = Duration::from_secs(10);

/// No answer is larger: a plain list of a hundred thousand objects.
const LARGEST_ANSWER: usize = 1 << 30;
const LARGEST_LINE: usize = 32 << 20;

/// Where the API server is, and who we are.
#[derive(Debug, Clone, Default)]
pub struct ConnectOptions {
    /// A kubeconfig file. `None`: `$KUBECONFIG`, else the pod's service account, else `~/.kube/config`.
    pub kubeconfig: Option<PathBuf>,
    /// A context of it; `None`: its current one.
    pub context: Option<String>,
}

/// Why there is no way to the API server.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The kubeconfig cannot be used.
    #[error("cannot use the kubeconfig {file}: {reason}")]
    Kubeconfig {
        /// Which.
        file: String,
        /// Why.
        reason: String,
    },
    /// Neither a kubeconfig nor a pod's service account.
    #[error("no kubeconfig and no service account: give --kubeconfig, set KUBECONFIG, or run in a pod ({0})")]
    NoConfig(String),
    /// TLS or credentials are broken.
    #[error("cannot make a client for {server}: {reason}")]
    Client {
        /// URL of the API server.
        server: String,
        /// Why.
        reason: String,
    },
    /// It does not answer, or refuses us.
    #[error("no answer from the API server {server}: {source}")]
    Unreachable {
        /// URL of the API server.
        server: String,
        /// What came instead.
        source: ApiError,
    },
}

/// Both clients. They share nothing, so that a thousand watches never delay a write.
#[derive(Clone)]
pub struct Clients {
    /// For lists and watches.
    pub watch: ApiClient,
    /// For reads and writes of single objects.
    pub write: ApiClient,
    /// URL of the API server.
    pub server: String,
    /// `gitVersion` of the API server.
    pub version: String,
}

impl Clients {
    /// Reads the configuration and asks the server for its version.
    pub async fn connect(options: &ConnectOptions, metrics: &Arc<Metrics>) -> Result<Self, ConnectError> {
        let mut config = load(options).await?;
        config.connect_timeout = Some(Duration::from_secs(5));
        config.write_timeout = Some(DEADLINE);
        config.default_retry = false;
        let agent = concat!("crossbridge/", env!("CARGO_PKG_VERSION"));
        config
            .headers
            .push((header::USER_AGENT, HeaderValue::from_static(agent)));
        let server = config.cluster_url.to_string();
        // Whichever else is compiled in: the first to install one wins, and any will do.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = || {
            let builder = ClientBuilder::try_from(config.clone());
            let kube = builder
                .map_err(|e| ConnectError::Client {
                    server: server.clone(),
                    reason: chain(&e),
                })?
                .build();
            Ok(ApiClient {
                kube,
                metrics: Arc::clone(metrics),
                deadline: DEADLINE,
            })
        };
        let (watch, write) = (client()?, client()?);
        let version: Version = write
            .call("get", "version", get("/version"))
            .await
            .map_err(|source| ConnectError::Unreachable {
                server: server.clone(),
                source,
            })?;
        Ok(Self {
            watch,
            write,
            server,
            version: version.git_version,
        })
    }

    /// What tells this cluster from all others: the uid of its namespace `kube-system`.
    pub async fn cluster_id(&self) -> Result<String, ApiError> {
        let namespace: Named = self
            .write
            .call("get", "namespaces", get("/api/v1/namespaces/kube-system"))
            .await?;
        Ok(namespace.metadata.uid)
    }
}

/// One pool of connections.
#[derive(Clone)]
pub struct ApiClient {
    kube: kube::Client,
    metrics: Arc<Metrics>,
    deadline: Duration,
}

impl ApiClient {
    /// Over any transport: for tests and simulation.
    pub fn new(kube: kube::Client, metrics: Arc<Metrics>, deadline: Duration) -> Self {
        Self {
            kube,
            metrics,
            deadline,
        }
    }

    /// The same with another deadline for its calls.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
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
        let exchange = async {
            let response = self.send(verb, resource, request).await?;
            read(response.into_body()).await
        };
        let body = tokio::time::timeout(self.deadline, exchange)
            .await
            .map_err(|_elapsed| {
                self.count(verb, resource, "none");
                ApiError::Timeout(self.deadline)
            })??;
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
        Ok(lines.map(|line| line.map_err(|e| ApiError::Interrupted(chain(&e)))))
    }

    async fn send(
        &self,
        verb: &'static str,
        resource: &str,
        request: Request<Vec<u8>>,
    ) -> Result<Response<Body>, ApiError> {
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
        Err(ApiError::from_answer(code, retry_after, &body))
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

#[derive(serde::Deserialize)]
struct Version {
    #[serde(rename = "gitVersion")]
    git_version: String,
}

#[derive(serde::Deserialize)]
struct Named {
    metadata: Identity,
}

#[derive(serde::Deserialize)]
struct Identity {
    uid: String,
}

fn get(path: &'static str) -> Request<Vec<u8>> {
    let mut request = Request::new(Vec::new());
    *request.uri_mut() = http::Uri::from_static(path);
    request
}

async fn load(options: &ConnectOptions) -> Result<Config, ConnectError> {
    let chosen = KubeConfigOptions {
        context: options.context.clone(),
        ..KubeConfigOptions::default()
    };
    if let Some(path) = &options.kubeconfig {
        let failed = |reason: String| ConnectError::Kubeconfig {
            file: path.display().to_string(),
            reason,
        };
        let file = Kubeconfig::read_from(path).map_err(|e| failed(chain(&e)))?;
        return Config::from_custom_kubeconfig(file, &chosen)
            .await
            .map_err(|e| failed(chain(&e)));
    }
    let in_pod = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    if in_pod && options.context.is_none() && std::env::var_os("KUBECONFIG").is_none() {
        return Config::incluster().map_err(|e| ConnectError::NoConfig(chain(&e)));
    }
    Config::from_kubeconfig(&chosen)
        .await
        .map_err(|e| ConnectError::NoConfig(chain(&e)))
}

async fn read(body: Body) -> Result<Vec<u8>, ApiError> {
    let body = Limited::new(body, LARGEST_ANSWER).collect().await;
    Ok(body
        .map_err(|e| ApiError::Interrupted(chain(e.as_ref())))?
        .to_bytes()
        .to_vec())
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// Whether anything was sent is what counts.
fn transport_error(error: &kube::Error) -> ApiError {
    let text = chain(error);
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

/// An error with its causes: transports say the useful thing last.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let inner = error.to_string();
        if !text.contains(&inner) {
            text.push_str(": ");
            text.push_str(&inner);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
