//! From `apiVersion` and `kind`, as documents have them, to how objects are addressed.

use std::{collections::BTreeSet, sync::Arc};

use bridge_core::watch_plan::GroupKind;

use super::{WatchState, Watches};
use crate::object::ApiType;

/// A kind as the cluster serves it now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedKind {
    /// How its objects are addressed, in the version that was asked for.
    pub api: Arc<ApiType>,
    /// All versions that are served.
    pub served: BTreeSet<String>,
    /// Uid of its definition; `None`: it has none, and is built in or of an API server behind this one.
    pub definition: Option<String>,
    /// Its definition is being deleted, and its objects with it.
    pub terminating: bool,
    /// Its objects can be listed and watched; else each is read when it is needed.
    pub watchable: bool,
}

/// Why a kind is not resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unresolved {
    /// The cluster does not serve it, which may change.
    #[error("{0}")]
    NotServed(String),
    /// The cluster serves it, in other versions only: its objects exist.
    #[error("{0}")]
    OtherVersion(String),
    /// Whether it is served is not known.
    #[error("not known: {0}")]
    Unknown(String),
}

impl Watches {
    /// How objects of a kind are addressed, from what is known: no request is made. Definitions go before discovery, which is begun by the first
    /// question that they do not answer. Whenever the answer may be another one, a plan of watches is made.
    ///
    /// # Errors
    /// [`Unresolved`] says whether the kind is known not to be served, or nothing is known yet.
    pub fn resolve(&self, api_version: &str, kind: &str) -> Result<ResolvedKind, Unresolved> {
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let name = GroupKind::new(group, kind);
        let api = |plural: &str, namespaced| {
            Arc::new(ApiType {
                kind: name.clone(),
                version: version.to_owned(),
                plural: plural.to_owned(),
                namespaced,
            })
        };
        let unknown = |what: &str, why: String| Unresolved::Unknown(format!("{what}: {why}"));
        // First: what a list brings from here on is in the table.
        let watched = self.definitions_state();
        let definitions = self.shared.definitions.by_kind();
        let definitions = definitions.map_err(|why| unknown("the definitions are not known", why))?;
        if let Some(known) = definitions.get(&name) {
            let definition = &known.definition;
            // One that is not established serves none for a moment: that says nothing of its objects.
            let unresolved = |why| {
                if definition.served.contains(version) {
                    Unresolved::Unknown(why)
                } else {
                    Unresolved::OtherVersion(why)
                }
            };
            definition.serves(version).map_err(unresolved)?;
            return Ok(ResolvedKind {
                api: api(&known.plural, known.namespaced),
                served: definition.served.clone(),
                definition: Some(definition.uid.clone()),
                terminating: known.terminating,
                watchable: true,
            });
        }
        let discovery = &self.shared.discovery;
        discovery.need();
        let kinds = discovery
            .kinds()
            .map_err(|why| unknown("what is served without a definition is not known", why))?;
        let Some(versions) = kinds.get(&name) else {
            return Err(match (discovery.silent(group), watched) {
                (Some(why), _) => Unresolved::Unknown(why),
                (None, WatchState::Live) => {
                    Unresolved::NotServed(format!("the cluster serves no kind {name}"))
                }
                // It may have a definition by now.
                (None, WatchState::Syncing(why) | WatchState::Forbidden(why) | WatchState::Gone(why)) => {
                    unknown("the definitions are not watched", why)
                }
            });
        };
        let served: BTreeSet<String> = versions.keys().cloned().collect();
        let Some(resource) = versions.get(version) else {
            let served: Vec<String> = served.into_iter().collect();
            let served = served.join(", ");
            let why = format!("the cluster does not serve {name} in {version}, only in {served}");
            return Err(Unresolved::OtherVersion(why));
        };
        Ok(ResolvedKind {
            api: api(&resource.plural, resource.namespaced),
            served,
            definition: None,
            terminating: false,
            watchable: resource.watchable,
        })
    }

    /// Likewise, in another version where the cluster does not serve the one that is asked for: an object exists in all of them. For who takes
    /// down, or protects, what was named when another version was served.
    ///
    /// # Errors
    /// As [`Watches::resolve`]; [`Unresolved::OtherVersion`] of a kind of which no version can be used now.
    pub fn resolve_any(&self, api_version: &str, kind: &str) -> Result<ResolvedKind, Unresolved> {
        let unresolved = match self.resolve(api_version, kind) {
            Err(other @ Unresolved::OtherVersion(_)) => other,
            resolved => return resolved,
        };
        let (group, _) = api_version.rsplit_once('/').unwrap_or_default();
        let name = GroupKind::new(group, kind);
        // That which is watched is known without a request.
        let watched = self.wanted_api(&name).map(|api| api.version.clone());
        let mut versions = watched.into_iter().chain(self.served_versions(&name));
        let of_version = |version: String| match group {
            "" => self.resolve(&version, kind).ok(),
            group => self.resolve(&format!("{group}/{version}"), kind).ok(),
        };
        versions.find_map(of_version).ok_or(unresolved)
    }

    fn served_versions(&self, name: &GroupKind) -> BTreeSet<String> {
        let definitions = self.shared.definitions.by_kind().unwrap_or_default();
        if let Some(known) = definitions.get(name) {
            return known.definition.served.clone();
        }
        let kinds = self.shared.discovery.kinds().unwrap_or_default();
        let versions = kinds.get(name);
        versions
            .map(|versions| versions.keys().cloned().collect())
            .unwrap_or_default()
    }
}
