use std::{path::PathBuf, sync::Arc, time::Duration};

use bridge_core::error_chain;
use http::{HeaderValue, Request, header};
use kube::{
    client::ClientBuilder,
    config::{Config, KubeConfigOptions, Kubeconfig},
};

use super::{ApiClient, DEADLINE};
use crate::{api_error::ApiError, metrics::Metrics};

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
                    reason: error_chain(&e),
                })?
                .build();
            Ok(ApiClient::new(kube, Arc::clone(metrics), DEADLINE))
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

pub(super) fn get(path: &'static str) -> Request<Vec<u8>> {
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
        std::fs::File::open(path).map_err(|error| failed(error.to_string()))?;
        let file = Kubeconfig::read_from(path).map_err(|e| failed(error_chain(&e)))?;
        check_context(&file, options).map_err(failed)?;
        return Config::from_custom_kubeconfig(file, &chosen)
            .await
            .map_err(|e| failed(error_chain(&e)));
    }
    let in_pod = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    if in_pod && options.context.is_none() && std::env::var_os("KUBECONFIG").is_none() {
        return Config::incluster().map_err(|e| ConnectError::NoConfig(error_chain(&e)));
    }
    if let Ok(found) = Kubeconfig::read() {
        let file = std::env::var("KUBECONFIG").unwrap_or_else(|_| "~/.kube/config".to_owned());
        check_context(&found, options).map_err(|reason| ConnectError::Kubeconfig { file, reason })?;
    }
    Config::from_kubeconfig(&chosen)
        .await
        .map_err(|e| ConnectError::NoConfig(error_chain(&e)))
}

/// The context that is asked for is there; else which are.
fn check_context(file: &Kubeconfig, options: &ConnectOptions) -> Result<(), String> {
    let Some(wanted) = &options.context else {
        return Ok(());
    };
    let names: Vec<&str> = file
        .contexts
        .iter()
        .map(|context| context.name.as_str())
        .collect();
    if names.contains(&wanted.as_str()) {
        return Ok(());
    }
    let known = match names.as_slice() {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    Err(format!("it has no context {wanted:?}; it has: {known}"))
}
