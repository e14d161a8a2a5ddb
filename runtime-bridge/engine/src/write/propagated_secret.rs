//! The connection Secret of a claim: a copy of its composite resource's.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use serde_json::{Value, json};

use super::{
    connection_secret::{CONNECTION_SECRET_TYPE, ConnectionSecrets, Wire, version},
    patch,
};
use crate::{
    api_error::ApiError,
    object::{ApiType, Key, Object, parse_version},
};

/// A copy that is as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PropagatedSecret {
    /// Version of what was copied.
    pub source: u64,
    /// Version of the copy.
    pub target: u64,
    /// The copy was written.
    pub changed: bool,
}

/// Why a connection Secret was not copied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PropagateError {
    /// One of the two is somebody else's.
    #[error("cannot establish control of existing connection secret")]
    NotControlled,
    /// What is to be copied.
    #[error("cannot get the connection secret: {0}")]
    Source(ApiError),
    /// The copy.
    #[error("cannot write the connection secret: {0}")]
    Target(ApiError),
}

impl PropagateError {
    /// Another writer was faster.
    pub fn is_conflict(&self) -> bool {
        matches!(
            self,
            Self::Target(ApiError::Conflict(_) | ApiError::AlreadyExists(_))
        )
    }
}

impl ConnectionSecrets {
    /// Brings the data of `target`, which `owner` wants, to those of `source`, which the object of the uid `controller` must control. Keys that
    /// the source does not have go. Nothing is written if all is as it should be.
    ///
    /// # Errors
    /// [`PropagateError`]: a Secret that is another's is neither copied nor touched.
    pub async fn propagate(
        &self,
        owner: &Object,
        source: &Key,
        controller: &str,
        target: &Key,
    ) -> Result<PropagatedSecret, PropagateError> {
        let api = ApiType::secrets();
        let from = self.read(&api, source).await.map_err(PropagateError::Source)?;
        if from.controller() != Some(controller) {
            return Err(PropagateError::NotControlled);
        }
        let wanted = from.data.clone();
        let source = version_of(&from);
        let (target, changed) = match self.read(&api, target).await {
            Ok(secret) => self.replace_data(&api, target, owner, &secret, &wanted).await?,
            Err(ApiError::NotFound(_)) => {
                let secret = json!({
                    "apiVersion": "v1",
                    "kind": "Secret",
                    "metadata": {
                        "name": target.name(),
                        "namespace": target.namespace(),
                        "ownerReferences": [owner.controller_reference()],
                    },
                    "type": CONNECTION_SECRET_TYPE,
                    "data": wanted,
                });
                let path = api.collection_path(target.namespace());
                let answer = self
                    .writer
                    .send("create", Method::POST, &api, &path, "application/json", &secret)
                    .await
                    .map_err(PropagateError::Target)?;
                (version(&answer).map_err(PropagateError::Target)?, true)
            }
            Err(error) => return Err(PropagateError::Target(error)),
        };
        Ok(PropagatedSecret {
            source,
            target,
            changed,
        })
    }

    async fn replace_data(
        &self,
        api: &ApiType,
        key: &Key,
        owner: &Object,
        secret: &Wire,
        wanted: &BTreeMap<String, String>,
    ) -> Result<(u64, bool), PropagateError> {
        let controller = secret.controller();
        let is_ours = controller == Some(owner.uid());
        if !is_ours && (controller.is_some() || secret.secret_type != CONNECTION_SECRET_TYPE) {
            return Err(PropagateError::NotControlled);
        }
        if is_ours && secret.data == *wanted {
            return Ok((version_of(secret), false));
        }
        let keys: BTreeSet<&String> = secret.data.keys().chain(wanted.keys()).collect();
        let data: BTreeMap<&String, Value> = keys
            .into_iter()
            .map(|key| (key, wanted.get(key).map_or(Value::Null, |value| json!(value))))
            .collect();
        let mut change = json!({
            "metadata": {"uid": secret.metadata.uid, "resourceVersion": secret.metadata.resource_version},
            "data": data,
        });
        if !is_ours {
            let mut owners = secret.metadata.owner_references.clone().unwrap_or_default();
            owners.push(owner.controller_reference());
            change["metadata"]["ownerReferences"] = json!(owners);
        }
        let write = async {
            let path = api.object_path(key)?;
            let answer = self
                .writer
                .send("patch", Method::PATCH, api, &path, patch::MERGE, &change)
                .await?;
            version(&answer)
        };
        let version = write.await.map_err(PropagateError::Target)?;
        Ok((version, true))
    }
}

fn version_of(secret: &Wire) -> u64 {
    parse_version(secret.metadata.resource_version.as_deref()).unwrap_or_default()
}
