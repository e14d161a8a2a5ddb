//! Look-up of an object of the cluster by the name that a user types, for commands about one object.
#![allow(clippy::doc_markdown)] // Some comments are help texts.

mod discovery;
mod name;
mod sources;

use std::{path::PathBuf, sync::Arc, time::Duration};

use bridge_engine::{
    api_error::ApiError,
    client::{ApiClient, ConnectError},
    metrics::Metrics,
    object::{ApiType, DecodeError, Key, Object},
};
use clap::Args;
use http::Request;
use serde_json::Value;
use tokio::time::Instant;

use self::name::{Definition, ObjectName};
pub use self::{discovery::Served, name::KindRole, sources::Reader};
use crate::cluster::ClusterArgs;

/// A reachable cluster answers well before.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Which object of which cluster.
#[derive(Debug, Clone, Args)]
pub struct ObjectLookupArgs {
    /// Namespace of the object; `default` if not given. Cluster-scoped objects have none.
    #[arg(long, short, value_name = "NAME", default_value = "default")]
    pub namespace: String,
    /// Kubeconfig file. Without it: KUBECONFIG, else the pod's service account, else ~/.kube/config.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; its current one if not given.
    #[arg(long, value_name = "NAME")]
    pub context: Option<String>,
}

/// Why there is no such object.
#[derive(Debug, thiserror::Error)]
pub enum ObjectLookupError {
    /// No connection to the cluster.
    #[error(transparent)]
    Cluster(#[from] ConnectError),
    /// The name is malformed, or of no kind that is served, or of no object.
    #[error("{0}")]
    Name(String),
    /// The API server did not answer a read, or rejected it.
    #[error("cannot read {what}: {source}")]
    Read {
        /// What was read.
        what: String,
        /// The error of the request.
        source: ApiError,
    },
    /// What was found cannot be printed.
    #[error("cannot print what was found: {0}")]
    Output(std::io::Error),
    /// What the API server returned is no object of the kind.
    #[error("cannot read {what}: {source}")]
    Decode {
        /// What was read.
        what: String,
        /// The field that is missing or malformed.
        source: DecodeError,
    },
}

impl ObjectLookupArgs {
    /// The object that is named `KIND/NAME`.
    pub async fn find(&self, name: &str) -> Result<(Object, Reader), ObjectLookupError> {
        let name: ObjectName = name.parse().map_err(ObjectLookupError::Name)?;
        let cluster = ClusterArgs {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            namespace: None,
        };
        let metrics = Arc::new(Metrics::new());
        let client = cluster
            .connect(&metrics, Instant::now() + REQUEST_TIMEOUT)
            .await?
            .write;
        let mut reader = Reader::new(client);
        let definitions = reader.definitions().await?;
        reader.know(&definitions);
        let api = name.find(&definitions).map_err(ObjectLookupError::Name)?;
        let namespace = api.namespaced.then_some(self.namespace.as_str());
        let key = Key::new(api.kind.clone(), namespace, &name.name);
        match reader.object(&Arc::new(api), &key).await? {
            Some(object) => Ok((object, reader)),
            None => Err(ObjectLookupError::Name(format!("there is no {key}"))),
        }
    }
}

impl Reader {
    async fn definitions(&self) -> Result<Vec<Definition>, ObjectLookupError> {
        let what = "customresourcedefinitions";
        let path = ApiType::definitions().collection_path(None);
        let list: Value =
            get(self.client(), what, &path)
                .await
                .map_err(|source| ObjectLookupError::Read {
                    what: "the CRDs".to_owned(),
                    source,
                })?;
        let items = list["items"].as_array().cloned().unwrap_or_default();
        Ok(items.iter().filter_map(Definition::of).collect())
    }

    /// What distinguishes this cluster from others: the uid of its namespace `kube-system`.
    pub async fn cluster_id(&self) -> Result<String, ObjectLookupError> {
        let read = get(self.client(), "namespaces", "/api/v1/namespaces/kube-system").await;
        let namespace = read.map_err(|source| ObjectLookupError::Read {
            what: "the namespace kube-system".to_owned(),
            source,
        })?;
        Ok(namespace["metadata"]["uid"]
            .as_str()
            .unwrap_or_default()
            .to_owned())
    }

    /// Reads one object; `None`: it does not exist.
    pub async fn object(&self, api: &Arc<ApiType>, key: &Key) -> Result<Option<Object>, ObjectLookupError> {
        let what = key.to_string();
        let path = api
            .object_path(key)
            .map_err(|error| ObjectLookupError::Name(error.to_string()))?;
        let request = request(&path);
        match self.client().call_text("get", &api.plural, request).await {
            Ok(text) => match Object::decode(api, &text) {
                Ok(object) => Ok(Some(object)),
                Err(source) => Err(ObjectLookupError::Decode { what, source }),
            },
            Err(ApiError::NotFound(_)) => Ok(None),
            Err(source) => Err(ObjectLookupError::Read { what, source }),
        }
    }
}

fn request(path: &str) -> Request<Vec<u8>> {
    let mut request = Request::new(Vec::new());
    // Built from checked names only.
    if let Ok(uri) = path.parse() {
        *request.uri_mut() = uri;
    }
    request
}

async fn get(client: &ApiClient, resource: &str, path: &str) -> Result<Value, ApiError> {
    client.call("get", resource, request(path)).await
}
