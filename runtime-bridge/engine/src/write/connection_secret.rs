//! Connection details of a managed resource, published as Crossplane does.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use bridge_core::{composite::SecretName, external::Secrets};
use http::Method;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{Deletion, Propagation, Writer, patch};
use crate::{
    api_error::ApiError,
    digest::feed,
    object::{ApiType, Key, Object, parse_version},
    secret::SecretReader,
};

/// `type` of a connection Secret.
pub const CONNECTION_SECRET_TYPE: &str = "connection.crossplane.io/v1alpha1";

/// What publishing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    /// It was as it should be.
    Unchanged,
    /// A new Secret.
    Created,
    /// Keys were added or changed.
    Updated,
}

/// Why connection details were not published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// It is somebody else's: choose another name, or delete it.
    #[error("existing secret is not controlled by UID {uid:?}")]
    NotControlled {
        /// The managed resource's.
        uid: String,
    },
    /// It is nobody's, and was not made for connection details.
    #[error("refusing to modify uncontrolled secret of type {secret_type:?}")]
    Uncontrolled {
        /// Its `type`.
        secret_type: String,
    },
    /// The API server.
    #[error("cannot publish the connection secret: {0}")]
    Api(#[from] ApiError),
}

impl PublishError {
    /// The Secret is not the object's: only a person can change that.
    pub(crate) fn is_foreign(&self) -> bool {
        matches!(self, Self::NotControlled { .. } | Self::Uncontrolled { .. })
    }
}

/// Publishes connection details, and remembers (as versions and digests, never as data) what it published.
pub struct ConnectionSecrets {
    pub(super) writer: Writer,
    secrets: Arc<SecretReader>,
    published: Mutex<HashMap<Key, Remembered>>,
}

struct Remembered {
    version: u64,
    owner: String,
    digest: [u8; 32],
}

#[derive(Deserialize)]
pub(super) struct Wire {
    pub(super) metadata: ObjectMeta,
    #[serde(rename = "type", default)]
    pub(super) secret_type: String,
    #[serde(default)]
    pub(super) data: BTreeMap<String, String>,
}

impl Wire {
    /// Uid of what controls it.
    pub(super) fn controller(&self) -> Option<&str> {
        let owners = self.metadata.owner_references.as_deref().unwrap_or_default();
        let controller = owners.iter().find(|owner| owner.controller == Some(true))?;
        Some(&controller.uid)
    }
}

impl ConnectionSecrets {
    /// With `secrets` to tell which Secrets did not change since.
    pub fn new(writer: Writer, secrets: Arc<SecretReader>) -> Self {
        Self {
            writer,
            secrets,
            published: Mutex::default(),
        }
    }

    /// Brings keys into the Secret that `owner` wants: never removes one, writes nothing if all are there, and touches no Secret
    /// that is another's. The Secret goes with its owner.
    pub async fn publish(
        &self,
        owner: &Object,
        key: &Key,
        data: &Secrets,
    ) -> Result<(Published, u64), PublishError> {
        let wanted = Remembered {
            version: 0,
            owner: owner.uid().to_owned(),
            digest: digest(data),
        };
        if let Some(version) = self.is_as_published(key, &wanted) {
            return Ok((Published::Unchanged, version));
        }
        let api = ApiType::secrets();
        let (published, version) = match self.read(&api, key).await {
            Ok(secret) => self.bring_up(&api, key, owner, &secret, data).await?,
            Err(ApiError::NotFound(_)) => self.create(&api, key, owner, data).await?,
            Err(error) => return Err(error.into()),
        };
        self.published
            .lock()
            .insert(key.clone(), Remembered { version, ..wanted });
        Ok((published, version))
    }

    /// Deletes a Secret that the object with this uid controls. Another's is left alone. Of one that the API server does not let
    /// go the inner `Err` says why, and what to do.
    ///
    /// # Errors
    /// Nothing is known: to be tried again.
    pub async fn delete_controlled(
        &self,
        secret: &SecretName,
        controller: &str,
    ) -> Result<Result<(), String>, ApiError> {
        let key = Key::secret(&secret.namespace, &secret.name);
        match self.try_delete(&key, controller).await {
            Err(error) if matches!(error, ApiError::Forbidden(_)) || error.is_refusal() => Ok(Err(format!(
                "cannot delete connection Secret {secret}: {error}; let the bridge delete Secrets, or delete it by hand"
            ))),
            deleted => deleted.map(Ok),
        }
    }

    async fn try_delete(&self, key: &Key, controller: &str) -> Result<(), ApiError> {
        let api = Arc::new(ApiType::secrets());
        let secret = match self.read(&api, key).await {
            Ok(secret) if secret.controller() == Some(controller) => secret,
            Ok(_) | Err(ApiError::NotFound(_)) => return Ok(()),
            Err(error) => return Err(error),
        };
        let deletion = Deletion {
            uid: secret.metadata.uid.as_deref().unwrap_or_default(),
            version: parse_version(secret.metadata.resource_version.as_deref()),
            propagation: Propagation::Background,
        };
        match self.writer.delete(&api, key, deletion).await {
            Ok(_) | Err(ApiError::NotFound(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Forgets what was published for owners that are gone.
    pub fn forget(&self, owner_uid: &str) {
        self.published
            .lock()
            .retain(|_, remembered| remembered.owner != owner_uid);
    }

    /// As [`ConnectionSecrets::forget`], for many owners at once.
    pub fn forget_all(&self, owner_uids: &HashSet<String>) {
        self.published
            .lock()
            .retain(|_, remembered| !owner_uids.contains(&remembered.owner));
    }

    /// The version that was published, if nothing has changed since.
    fn is_as_published(&self, key: &Key, wanted: &Remembered) -> Option<u64> {
        let published = self.published.lock();
        let remembered = published.get(key)?;
        let shown = self.secrets.version(key)?;
        let is_same = remembered.owner == wanted.owner && remembered.digest == wanted.digest;
        (is_same && shown <= remembered.version).then_some(remembered.version)
    }

    pub(super) async fn read(&self, api: &ApiType, key: &Key) -> Result<Wire, ApiError> {
        let request = super::request(Method::GET, &api.object_path(key)?, None, Vec::new())?;
        self.writer.client.call("get", &api.plural, request).await
    }

    async fn create(
        &self,
        api: &ApiType,
        key: &Key,
        owner: &Object,
        data: &Secrets,
    ) -> Result<(Published, u64), PublishError> {
        let secret = json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": key.name(),
                "namespace": key.namespace(),
                "ownerReferences": [owner.controller_reference()],
            },
            "type": CONNECTION_SECRET_TYPE,
            "data": encode(data.0.iter()),
        });
        let path = api.collection_path(key.namespace());
        let answer = self
            .writer
            .send("create", Method::POST, api, &path, "application/json", &secret)
            .await?;
        Ok((Published::Created, version(&answer)?))
    }

    async fn bring_up(
        &self,
        api: &ApiType,
        key: &Key,
        owner: &Object,
        secret: &Wire,
        data: &Secrets,
    ) -> Result<(Published, u64), PublishError> {
        let owners = secret.metadata.owner_references.as_deref().unwrap_or_default();
        let controller = owners.iter().find(|reference| reference.controller == Some(true));
        match controller {
            Some(controller) if controller.uid != owner.uid() => {
                return Err(PublishError::NotControlled {
                    uid: owner.uid().to_owned(),
                });
            }
            // Also one that only has plain owners: with ours it would be deleted with our object.
            None if owners.iter().any(|reference| reference.uid != owner.uid()) => {
                return Err(PublishError::NotControlled {
                    uid: owner.uid().to_owned(),
                });
            }
            None if secret.secret_type != CONNECTION_SECRET_TYPE => {
                return Err(PublishError::Uncontrolled {
                    secret_type: secret.secret_type.clone(),
                });
            }
            _ => {}
        }
        let mut missing = encode(data.0.iter());
        missing.retain(|name, value| secret.data.get(name) != Some(value));
        let version = parse_version(secret.metadata.resource_version.as_deref()).unwrap_or_default();
        if missing.is_empty() && controller.is_some() {
            return Ok((Published::Unchanged, version));
        }
        let mut change = json!({
            "metadata": {"uid": secret.metadata.uid, "resourceVersion": secret.metadata.resource_version},
            "data": missing,
        });
        if controller.is_none() {
            let mut owners = owners.to_vec();
            owners.push(owner.controller_reference());
            change["metadata"]["ownerReferences"] = json!(owners);
        }
        let path = api.object_path(key).map_err(ApiError::from)?;
        let answer = self
            .writer
            .send("patch", Method::PATCH, api, &path, patch::MERGE, &change)
            .await?;
        Ok((Published::Updated, self::version(&answer)?))
    }
}

fn encode<'a>(data: impl Iterator<Item = (&'a String, &'a Vec<u8>)>) -> BTreeMap<String, String> {
    data.map(|(key, value)| (key.clone(), STANDARD.encode(value)))
        .collect()
}

pub(super) fn version(answer: &str) -> Result<u64, ApiError> {
    let secret: Wire = serde_json::from_str(answer).map_err(|e| ApiError::Unusable(e.to_string()))?;
    parse_version(secret.metadata.resource_version.as_deref())
        .ok_or_else(|| ApiError::Unusable("the Secret has no numeric resourceVersion".to_owned()))
}

fn digest(data: &Secrets) -> [u8; 32] {
    let mut hasher = Sha256::new();
    feed(data, |part| hasher.update(part));
    hasher.finalize().into()
}
