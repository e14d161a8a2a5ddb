//! The lease in Kubernetes.

use std::time::Duration;

use bridge_core::lease::{NotWritten, ObservedLease, Terms};
use http::{Method, Request, header};
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};

use crate::{api_error::ApiError, client::ApiClient};

/// One lease.
pub(super) struct LeaseApi {
    client: ApiClient,
    namespace: String,
    name: String,
}

impl LeaseApi {
    pub fn new(client: ApiClient, namespace: &str, name: &str) -> Self {
        Self {
            client,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        }
    }

    pub async fn read(&self) -> Result<Option<ObservedLease>, ApiError> {
        let request = request(Method::GET, &self.object(), "application/json", Vec::new())?;
        match self.client.call::<Lease>("get", "leases", request).await {
            Ok(lease) => Ok(Some(found(lease))),
            Err(ApiError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub async fn create(&self, terms: &Terms) -> Result<String, NotWritten> {
        let request = self.request(Method::POST, &self.collection(), "application/json", None, terms);
        match self.write("create", request).await {
            Ok(version) => Ok(version),
            Err(ApiError::AlreadyExists(_)) => Err(NotWritten::Overtaken),
            Err(error) => Err(self.failed(&error)),
        }
    }

    /// A merge, so that labels and annotations of others stay.
    pub async fn replace(&self, version: &str, terms: &Terms) -> Result<String, NotWritten> {
        let merge = "application/merge-patch+json";
        let request = self.request(Method::PATCH, &self.object(), merge, Some(version), terms);
        match self.write("patch", request).await {
            Ok(version) => Ok(version),
            Err(ApiError::Conflict(_) | ApiError::NotFound(_)) => Err(NotWritten::Overtaken),
            Err(error) => Err(self.failed(&error)),
        }
    }

    async fn write(
        &self,
        verb: &'static str,
        request: Result<Request<Vec<u8>>, ApiError>,
    ) -> Result<String, ApiError> {
        let lease: Lease = self.client.call(verb, "leases", request?).await?;
        Ok(lease.metadata.resource_version.unwrap_or_default())
    }

    fn failed(&self, error: &ApiError) -> NotWritten {
        tracing::warn!(%error, lease = self.object(), "cannot write the lease");
        NotWritten::Failed
    }

    fn lease(&self, version: Option<&str>, terms: &Terms) -> Lease {
        Lease {
            metadata: ObjectMeta {
                namespace: Some(self.namespace.clone()),
                name: Some(self.name.clone()),
                resource_version: version.map(ToOwned::to_owned),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: Some(terms.holder.clone()),
                lease_duration_seconds: i32::try_from(terms.duration.as_secs()).ok(),
                acquire_time: terms.acquired.map(MicroTime),
                renew_time: terms.renewed.map(MicroTime),
                lease_transitions: Some(terms.transitions),
                ..LeaseSpec::default()
            }),
        }
    }

    fn collection(&self) -> String {
        format!(
            "/apis/coordination.k8s.io/v1/namespaces/{}/leases",
            self.namespace
        )
    }

    fn object(&self) -> String {
        format!("{}/{}", self.collection(), self.name)
    }

    fn request(
        &self,
        method: Method,
        path: &str,
        content_type: &str,
        version: Option<&str>,
        terms: &Terms,
    ) -> Result<Request<Vec<u8>>, ApiError> {
        let body = serde_json::to_vec(&self.lease(version, terms))
            .map_err(|error| ApiError::Unusable(error.to_string()))?;
        request(method, path, content_type, body)
    }
}

fn request(
    method: Method,
    path: &str,
    content_type: &str,
    body: Vec<u8>,
) -> Result<Request<Vec<u8>>, ApiError> {
    Request::builder()
        .method(method)
        .uri(path)
        .header(header::CONTENT_TYPE, content_type)
        .body(body)
        .map_err(|error| ApiError::Unusable(error.to_string()))
}

fn found(lease: Lease) -> ObservedLease {
    let spec = lease.spec.unwrap_or_default();
    let seconds = spec
        .lease_duration_seconds
        .and_then(|seconds| u64::try_from(seconds).ok());
    ObservedLease {
        version: lease.metadata.resource_version.unwrap_or_default(),
        terms: Terms {
            holder: spec.holder_identity.unwrap_or_default(),
            duration: Duration::from_secs(seconds.unwrap_or_default()),
            acquired: spec.acquire_time.map(|time| time.0),
            renewed: spec.renew_time.map(|time| time.0),
            transitions: spec.lease_transitions.unwrap_or_default(),
        },
    }
}
