//! The aggregated discovery document (`apidiscovery.k8s.io`).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// One kind in one version, as it is addressed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
    /// It can be listed and watched.
    pub(crate) watchable: bool,
}

/// What one group holds in one version.
#[derive(Debug, Clone, PartialEq, Eq)]
struct GroupVersion {
    /// The API server behind it has answered.
    current: bool,
    resources: Vec<Resource>,
}

/// All groups and versions.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Document(BTreeMap<(String, String), GroupVersion>);

impl Document {
    /// From the documents of the core group and of all others.
    pub(super) fn read(parts: &[Value]) -> Result<Self, String> {
        let mut groups = BTreeMap::new();
        for part in parts {
            if part["kind"] != "APIGroupDiscoveryList" {
                return Err(format!("it answered with {}", part["kind"]));
            }
            let list = List::deserialize(part).map_err(|error| error.to_string())?;
            for group in list.items {
                for version in group.versions {
                    let id = (group.metadata.name.clone(), version.name.clone());
                    groups.insert(id, version.into());
                }
            }
        }
        Ok(Self(groups))
    }

    /// An API server that did not answer yet since this one started holds what it held before.
    pub(super) fn completed(mut self, former: Option<Self>) -> Self {
        for (id, before) in former.into_iter().flat_map(|former| former.0) {
            if let Some(now) = self.0.get_mut(&id)
                && !now.current
                && now.resources.is_empty()
            {
                now.resources = before.resources;
            }
        }
        self
    }

    pub(super) fn resources(&self, group: &str, version: &str) -> &[Resource] {
        self.get(group, version)
            .map(|found| found.resources.as_slice())
            .unwrap_or_default()
    }

    pub(super) fn is_current(&self, group: &str, version: &str) -> bool {
        self.get(group, version).is_some_and(|found| found.current)
    }

    fn get(&self, group: &str, version: &str) -> Option<&GroupVersion> {
        self.0.get(&(group.to_owned(), version.to_owned()))
    }
}

#[derive(Deserialize)]
struct List {
    items: Vec<Group>,
}

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    metadata: Named,
    #[serde(default)]
    versions: Vec<Version>,
}

#[derive(Deserialize, Default)]
struct Named {
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    #[serde(rename = "version")]
    name: String,
    #[serde(default)]
    freshness: String,
    #[serde(default)]
    resources: Vec<WireResource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WireResource {
    resource: String,
    #[serde(default)]
    response_kind: Option<ResponseKind>,
    #[serde(default)]
    scope: String,
    /// An API server behind may have none, as `null`.
    verbs: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct ResponseKind {
    #[serde(default)]
    kind: String,
}

impl From<Version> for GroupVersion {
    fn from(version: Version) -> Self {
        let mut resources: Vec<Resource> = version
            .resources
            .into_iter()
            .filter_map(|resource| {
                let verb = |verb: &str| resource.verbs.iter().flatten().any(|known| known == verb);
                Some(Resource {
                    watchable: verb("list") && verb("watch"),
                    kind: resource.response_kind?.kind,
                    plural: resource.resource,
                    namespaced: resource.scope == "Namespaced",
                })
            })
            .filter(|resource| !resource.kind.is_empty())
            .collect();
        // Of several resources of one kind the one that can be watched is meant.
        resources.sort_by_key(|resource| !resource.watchable);
        Self {
            current: version.freshness != "Stale",
            resources,
        }
    }
}
