//! What the engine reads from its watches, read directly.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bridge_core::{
    crd::{CLUSTER_PROVIDER_CONFIG, PROVIDER_CONFIG},
    external::Secrets,
    watch_plan::GroupKind,
};
use bridge_engine::{
    api_error::ApiError,
    client::ApiClient,
    config::{ConfigObjects, SecretSource, cluster_config_api, config_api},
    engine::Lookup,
    object::{ApiType, Key, Object},
    secret::{SecretData, SecretError},
};
use jiff::Timestamp;
use serde::Deserialize;

use super::{KindRole, ObjectLookupError, name::Definition, request};

/// Reads objects one by one, and writes nothing.
#[derive(Clone)]
pub struct Reader {
    client: ApiClient,
    /// Of kinds that have a CRD.
    kinds: Arc<BTreeMap<GroupKind, Definition>>,
}

impl Reader {
    pub(super) fn new(client: ApiClient) -> Self {
        Self {
            client,
            kinds: Arc::default(),
        }
    }

    pub(crate) fn client(&self) -> &ApiClient {
        &self.client
    }

    /// Takes what kinds are from their CRDs.
    pub(super) fn know(&mut self, definitions: &[Definition]) {
        let kinds = definitions.iter().map(|one| (one.api.kind.clone(), one.clone()));
        self.kinds = Arc::new(kinds.collect());
    }

    /// The plugin that serves a kind, and so the group of the configs that its objects refer to: as its CRD says, else the nearest group, from the
    /// kind's own upwards, that has such a config.
    pub fn plugin_of(&self, kind: &GroupKind, config: &str) -> Option<String> {
        if let Some(plugin) = self.kinds.get(kind).and_then(|known| known.plugin.clone()) {
            return Some(plugin);
        }
        let group = kind.group();
        let above = group.match_indices('.').map(|(dot, _)| &group[dot + 1..]);
        let mut groups = std::iter::once(group).chain(above);
        let found = groups.find(|group| self.kinds.contains_key(&GroupKind::new(group, config)));
        found.map(str::to_owned)
    }

    /// The kinds whose objects may refer to configs of a plugin.
    pub fn users_of(&self, plugin: &str) -> Vec<ApiType> {
        let is_user = |known: &&Definition| {
            let kind = &known.api.kind;
            let is_config =
                kind.group() == plugin && [PROVIDER_CONFIG, CLUSTER_PROVIDER_CONFIG].contains(&kind.kind());
            !is_config && self.plugin_of(kind, CLUSTER_PROVIDER_CONFIG).as_deref() == Some(plugin)
        };
        self.kinds
            .values()
            .filter(is_user)
            .map(|known| known.api.clone())
            .collect()
    }

    /// What the objects of a kind are to compositions.
    pub fn role(&self, kind: &GroupKind) -> KindRole {
        self.kinds.get(kind).map_or(KindRole::Other, |known| known.role)
    }
}

#[async_trait]
impl ConfigObjects for Reader {
    async fn get(&self, key: &Key) -> Lookup {
        let plugin = key.kind().group();
        let api = match key.namespace() {
            Some(_) => config_api(plugin),
            None => cluster_config_api(plugin),
        };
        match self.object(&Arc::new(api), key).await {
            Ok(found) => Lookup::Direct(found.map(Arc::new)),
            Err(ObjectLookupError::Read { source, .. }) => Lookup::Unavailable(source),
            Err(error) => Lookup::Unavailable(ApiError::Unusable(error.to_string())),
        }
    }

    async fn put_status(&self, _: &Object) -> Result<(), ApiError> {
        Ok(())
    }

    fn wake(&self, _: &Key, _: Timestamp) {}
}

#[derive(Deserialize)]
struct WireSecret {
    metadata: Metadata,
    #[serde(default)]
    data: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    uid: String,
    resource_version: String,
}

#[async_trait]
impl SecretSource for Reader {
    async fn read(&self, namespace: &str, name: &str) -> Result<Arc<SecretData>, SecretError> {
        let failed = |source| SecretError::Api {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            source,
        };
        let unusable = |why: String| failed(ApiError::Unusable(why));
        let path = ApiType::secrets()
            .object_path(&Key::secret(namespace, name))
            .map_err(|error| unusable(error.to_string()))?;
        let read = self
            .client
            .call::<WireSecret>("get", "secrets", request(&path))
            .await;
        let secret = read.map_err(|error| match error {
            ApiError::NotFound(_) => SecretError::NotFound {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            },
            error => failed(error),
        })?;
        let decode = |(key, text): (String, String)| match BASE64_STANDARD.decode(text) {
            Ok(value) => Ok((key, value)),
            Err(_) => Err(unusable(format!("its key {key:?} is not in base64"))),
        };
        let data = secret.data.into_iter().map(decode).collect::<Result<_, _>>()?;
        Ok(Arc::new(SecretData {
            uid: secret.metadata.uid,
            version: secret.metadata.resource_version.parse().unwrap_or_default(),
            data: Secrets(data),
            controller: None,
        }))
    }

    fn version(&self, _: &Key) -> Option<u64> {
        None
    }
}
