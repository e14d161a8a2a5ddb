//! Finds objects by reference, name and labels: in the store where their watch is live, else by reading them.

use std::{collections::BTreeMap, sync::Arc};

use bridge_core::{
    composite::{Found, LiveObject, Lookup, ObjectState, ResourceRef, is_valid_namespace},
    function::{Resource, ResourceMatch, ResourceSelector, SecretData},
    watch_plan::GroupKind,
};
use futures::{StreamExt, stream};
use serde_json::Value;

use super::{
    live::live,
    shared::CompositeShared,
    views::{Views, exists},
};
use crate::{
    api_error::ApiError,
    object::{ApiType, Key, Object},
    secret::SecretError,
    store::LabelSelection,
    watch::{Unresolved, WatchState},
};

/// Reads under way at once for one composite resource.
const READS: usize = 16;

/// Finds what a composite resource composed, and what its functions require.
pub(crate) struct Finder<'a> {
    shared: &'a CompositeShared,
    in_any_version: bool,
    views: Option<&'a Views>,
}

impl<'a> Finder<'a> {
    pub(crate) fn new(shared: &'a CompositeShared) -> Self {
        Self {
            shared,
            in_any_version: false,
            views: None,
        }
    }

    /// Finds objects in whatever version is served now. For what is composed or protected: it was named in a version of then.
    pub(crate) fn in_any_version(shared: &'a CompositeShared) -> Self {
        Self {
            shared,
            in_any_version: true,
            views: None,
        }
    }

    /// What was parsed before is not parsed again.
    pub(super) fn with_views(self, views: &'a Views) -> Self {
        Self {
            views: Some(views),
            ..self
        }
    }

    /// How the objects of a kind are addressed; `Err`: what is known instead.
    pub(crate) fn api(&self, api_version: &str, kind: &str) -> Result<Arc<ApiType>, ObjectState> {
        let watches = &self.shared.watches;
        let resolved = if self.in_any_version {
            watches.resolve_any(api_version, kind)
        } else {
            watches.resolve(api_version, kind)
        };
        match resolved {
            Ok(resolved) => Ok(resolved.api),
            Err(Unresolved::NotServed(_)) => Err(ObjectState::KindGone),
            Err(Unresolved::OtherVersion(why) | Unresolved::Unknown(why)) => Err(ObjectState::Unknown(why)),
        }
    }

    /// One object, from the store if it is known to hold it in this version.
    pub(crate) async fn see(&self, reference: &ResourceRef, home: Option<&str>) -> ObjectState {
        let api = match self.api(&reference.api_version, &reference.kind) {
            Ok(api) => api,
            Err(seen) => return seen,
        };
        let key = key_of(&api, reference, home);
        match self.cached(&api, &key) {
            Some(seen) => seen,
            None => self.read(&api, &key).await,
        }
    }

    /// One object, as far as that is known without asking anybody.
    pub(super) fn see_cached(&self, reference: &ResourceRef, home: Option<&str>) -> ObjectState {
        let api = match self.api(&reference.api_version, &reference.kind) {
            Ok(api) => api,
            Err(seen) => return seen,
        };
        let seen = self.cached(&api, &key_of(&api, reference, home));
        seen.unwrap_or_else(|| ObjectState::Unknown("the bridge holds no copy of it".to_owned()))
    }

    /// One object, past the store.
    pub(crate) async fn see_live(&self, reference: &ResourceRef, home: Option<&str>) -> ObjectState {
        match self.api(&reference.api_version, &reference.kind) {
            Ok(api) => self.read(&api, &key_of(&api, reference, home)).await,
            Err(seen) => seen,
        }
    }

    /// Changes of its objects are told, in this version or another one.
    pub(crate) fn is_watched_in_any_version(&self, api_version: &str, kind: &str) -> bool {
        self.api(api_version, kind).is_ok_and(|api| self.is_told_of(&api))
    }

    fn is_told_of(&self, api: &ApiType) -> bool {
        self.shared.watches.state(&api.kind) == WatchState::Live
    }

    /// The store holds all objects of the kind, in this version.
    fn is_live(&self, api: &ApiType) -> bool {
        let watched = self.shared.watches.wanted_api(&api.kind);
        self.is_told_of(api) && watched.is_some_and(|watched| watched.version == api.version)
    }

    fn cached(&self, api: &Arc<ApiType>, key: &Key) -> Option<ObjectState> {
        if api.is_metadata_only() || !self.is_live(api) {
            return None;
        }
        match self.shared.store.get(key) {
            Some(object) if object.api.version == api.version => Some(match self.views {
                Some(views) => views.of(object),
                None => exists(&object),
            }),
            Some(_) => None,
            None => Some(ObjectState::Absent),
        }
    }

    async fn read(&self, api: &Arc<ApiType>, key: &Key) -> ObjectState {
        match self.shared.writer.get_live(api, key).await {
            Ok(object) => exists(&object),
            Err(ApiError::NotFound(_)) => ObjectState::Absent,
            Err(error) => ObjectState::Unknown(error.to_string()),
        }
    }

    /// All that a run asks for.
    pub(super) async fn find_all(&self, lookups: Vec<Lookup>) -> BTreeMap<Lookup, Found> {
        stream::iter(lookups)
            .map(|lookup| async move {
                let found = self.find(&lookup).await;
                (lookup, found)
            })
            .buffer_unordered(READS)
            .collect()
            .await
    }

    async fn find(&self, lookup: &Lookup) -> Found {
        match lookup {
            Lookup::Resources(selector) => self.required(selector).await.unwrap_or_else(Found::Failed),
            Lookup::Schema(selector) => match self.shared.schemas.get(selector).await {
                Ok(schema) => Found::Schema(Option::clone(&schema.value)),
                Err(why) => Found::Failed(why),
            },
            Lookup::Secret { namespace, name } => match self.secret(namespace, name).await {
                Ok(data) => Found::Secret(data),
                Err(why) => Found::Failed(why),
            },
        }
    }

    async fn secret(&self, namespace: &str, name: &str) -> Result<Option<SecretData>, String> {
        match self.shared.secrets.read(namespace, name).await {
            Ok(secret) => Ok(Some(SecretData(secret.data.0.clone()))),
            Err(SecretError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    async fn required(&self, selector: &ResourceSelector) -> Result<Found, String> {
        let objects = self.select(selector).await?;
        Ok(Found::Resources(objects.into_iter().map(Resource::of).collect()))
    }

    /// What a requirement finds now. It is read where its kind is watched in another version, whose changes are told. `Err`: that is not known.
    pub(super) async fn found_now(&self, selector: &ResourceSelector) -> Result<Found, String> {
        let is_of_other_version = self
            .api(&selector.api_version, &selector.kind)
            .is_ok_and(|api| !api.is_metadata_only() && self.is_told_of(&api) && !self.is_live(&api));
        if is_of_other_version {
            return self.required(selector).await;
        }
        self.found_cached(selector)
    }

    async fn select(&self, selector: &ResourceSelector) -> Result<Vec<Value>, String> {
        let api = match self.api(&selector.api_version, &selector.kind) {
            Ok(api) => api,
            Err(ObjectState::Unknown(why)) => return Err(why),
            Err(_) => {
                return Err(format!(
                    "the cluster does not serve {} in {}",
                    selector.kind, selector.api_version
                ));
            }
        };
        let namespace = selector.namespace.as_deref().filter(|_| api.namespaced);
        // It comes from a function, and becomes part of a path.
        if let Some(namespace) = namespace.filter(|namespace| !is_valid_namespace(namespace)) {
            return Err(format!("{namespace:?} is not a valid namespace"));
        }
        match &selector.matching {
            ResourceMatch::Name(name) => {
                if api.namespaced && namespace.is_none() {
                    return Ok(Vec::new());
                }
                let key = Key::new(api.kind.clone(), namespace, name);
                let seen = match self.cached(&api, &key) {
                    Some(seen) => seen,
                    None => self.read(&api, &key).await,
                };
                match seen {
                    ObjectState::Exists(object) => Ok(vec![Arc::unwrap_or_clone(object).into_object()]),
                    ObjectState::Absent | ObjectState::KindGone => Ok(Vec::new()),
                    ObjectState::Unknown(why) => Err(why),
                }
            }
            ResourceMatch::Labels(labels) => {
                let selection = LabelSelection {
                    kind: api.kind.clone(),
                    namespace: namespace.map(ToOwned::to_owned),
                    labels: labels.clone(),
                };
                let objects = self.list(&api, namespace).await?;
                let selected = objects.iter().filter(|object| selection.matches(object));
                selected.map(|object| value(object)).collect()
            }
        }
    }

    /// All objects of a kind, in one namespace or everywhere.
    pub(crate) async fn list(
        &self,
        api: &Arc<ApiType>,
        namespace: Option<&str>,
    ) -> Result<Vec<Arc<Object>>, String> {
        if api.is_metadata_only() || !self.is_live(api) {
            let listed = self.shared.writer.list_live(api, namespace).await;
            return listed.map_err(|error| error.to_string());
        }
        let mut objects = self.shared.store.list(&api.kind);
        objects.retain(|object| namespace.is_none() || object.namespace() == namespace);
        Ok(objects)
    }

    /// What a requirement finds without asking anybody; `Err`: that is not known.
    pub(super) fn found_cached(&self, selector: &ResourceSelector) -> Result<Found, String> {
        let api = match self.api(&selector.api_version, &selector.kind) {
            Ok(api) => api,
            Err(ObjectState::Unknown(why)) => return Err(why),
            Err(_) => return Err("its kind is not served".to_owned()),
        };
        if api.is_metadata_only() || !self.is_live(&api) {
            return Err("its watch is not live".to_owned());
        }
        let namespace = selector.namespace.as_deref().filter(|_| api.namespaced);
        if namespace.is_some_and(|namespace| !is_valid_namespace(namespace)) {
            return Err("its namespace is none".to_owned());
        }
        let objects = match &selector.matching {
            // By name without a namespace none of a namespaced kind is meant, as for a run.
            ResourceMatch::Name(_) if api.namespaced && namespace.is_none() => Vec::new(),
            ResourceMatch::Name(name) => {
                let key = Key::new(api.kind.clone(), namespace, name);
                self.shared.store.get(&key).into_iter().collect()
            }
            ResourceMatch::Labels(labels) => {
                let selection = LabelSelection {
                    kind: api.kind.clone(),
                    namespace: namespace.map(ToOwned::to_owned),
                    labels: labels.clone(),
                };
                let mut all = self.shared.store.list(&api.kind);
                all.retain(|object| selection.matches(object));
                all
            }
        };
        let resources = objects.iter().map(|object| value(object).map(Resource::of));
        resources.collect::<Result<_, _>>().map(Found::Resources)
    }
}

pub(crate) fn key_of(api: &ApiType, reference: &ResourceRef, home: Option<&str>) -> Key {
    let namespace = home.or(reference.namespace.as_deref()).filter(|_| api.namespaced);
    Key::new(api.kind.clone(), namespace, &reference.name)
}

/// The key by which the store knows an object that is referred to, before anybody knows whether its kind is namespaced.
pub(super) fn keys_of(reference: &ResourceRef, home: Option<&str>) -> Key {
    let group = reference
        .api_version
        .rsplit_once('/')
        .map_or("", |(group, _)| group);
    let kind = GroupKind::new(group, &reference.kind);
    Key::new(kind, home.or(reference.namespace.as_deref()), &reference.name)
}

/// The whole object; `Err`: what it says is not known.
fn value(object: &Object) -> Result<Value, String> {
    live(object)
        .map(LiveObject::into_object)
        .map_err(|error| error.to_string())
}
