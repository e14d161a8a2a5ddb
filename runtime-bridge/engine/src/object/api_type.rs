use bridge_core::{kind::ResourceType, watch_plan::GroupKind};

use super::Key;

/// One served API type: how its objects are addressed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiType {
    /// Group and kind.
    pub kind: GroupKind,
    /// Version that is read and written.
    pub version: String,
    /// As in URLs.
    pub plural: String,
    /// False: cluster-scoped.
    pub namespaced: bool,
}

impl ApiType {
    /// Of a kind that a plugin published.
    pub fn new(resource_type: &ResourceType, plural: &str, namespaced: bool) -> Self {
        Self {
            kind: GroupKind::new(&resource_type.group, &resource_type.kind),
            version: resource_type.version.clone(),
            plural: plural.to_owned(),
            namespaced,
        }
    }

    /// Secrets, without their data.
    pub fn secrets() -> Self {
        Self {
            kind: GroupKind::new("", "Secret"),
            version: "v1".to_owned(),
            plural: "secrets".to_owned(),
            namespaced: true,
        }
    }

    /// Custom resource definitions.
    pub fn definitions() -> Self {
        Self {
            kind: GroupKind::new("apiextensions.k8s.io", "CustomResourceDefinition"),
            version: "v1".to_owned(),
            plural: "customresourcedefinitions".to_owned(),
            namespaced: false,
        }
    }

    /// What the API server and those behind it serve, by group and version.
    pub fn api_services() -> Self {
        Self {
            kind: GroupKind::new("apiregistration.k8s.io", "APIService"),
            version: "v1".to_owned(),
            plural: "apiservices".to_owned(),
            namespaced: false,
        }
    }

    /// Served by every API server, without a definition and without asking: what the engine itself lives on.
    pub fn is_always_served(&self) -> bool {
        [Self::secrets(), Self::definitions()]
            .iter()
            .any(|api| api.kind == self.kind)
    }

    /// Of a group that no definition can have, as its name has no dot: discovery knows it.
    pub(crate) fn is_core(&self) -> bool {
        !self.kind.group().contains('.')
    }

    /// Secrets: only metadata is listed and watched, and of that no annotations, which may repeat the data.
    pub fn is_metadata_only(&self) -> bool {
        self.kind.group().is_empty() && self.kind.kind() == "Secret"
    }

    /// `group/version`, or `version` in the core group.
    pub fn api_version(&self) -> String {
        if self.kind.group().is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.kind.group(), self.version)
        }
    }

    /// URL path of the collection: in one namespace, or everywhere.
    pub fn collection_path(&self, namespace: Option<&str>) -> String {
        let root = if self.kind.group().is_empty() {
            "api"
        } else {
            "apis"
        };
        match namespace {
            Some(namespace) => {
                format!(
                    "/{root}/{}/namespaces/{namespace}/{}",
                    self.api_version(),
                    self.plural
                )
            }
            None => format!("/{root}/{}/{}", self.api_version(), self.plural),
        }
    }

    /// URL path of one object. Names may come from users' documents: one that would lead elsewhere is refused.
    pub fn object_path(&self, key: &Key) -> Result<String, BadName> {
        for part in [key.namespace().unwrap_or("-"), key.name()] {
            if !is_path_segment(part) {
                return Err(BadName(part.to_owned()));
            }
        }
        Ok(format!(
            "{}/{}",
            self.collection_path(key.namespace()),
            key.name()
        ))
    }
}

/// A name that no object can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a valid name")]
pub struct BadName(String);

fn is_path_segment(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '_');
    !name.is_empty() && name != "." && name != ".." && name.chars().all(allowed)
}
