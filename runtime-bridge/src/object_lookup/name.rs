//! `KIND/NAME`, as people write it.

use std::str::FromStr;

use bridge_core::{crd::PLUGIN, definition::Scope, kind::ResourceType};
use bridge_engine::object::ApiType;
use serde_json::Value;

/// A name as the user typed it, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ObjectName {
    kind: String,
    pub(super) name: String,
}

impl FromStr for ObjectName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => Ok(Self {
                kind: kind.to_owned(),
                name: name.to_owned(),
            }),
            _ => Err(format!(
                "{text:?} names no object: write KIND/NAME, as in bucket/logs"
            )),
        }
    }
}

/// What a CRD calls its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition {
    pub(super) api: ApiType,
    pub(super) role: KindRole,
    /// The plugin whose kind it is, where the CRD says so.
    pub(super) plugin: Option<String>,
    names: Vec<String>,
}

/// What the objects of a kind are to compositions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KindRole {
    /// Composite resources.
    Composite(Scope),
    /// Claims of composite resources.
    Claim,
    /// Neither.
    Other,
}

impl KindRole {
    /// By who controls the CRD, and by what that one puts into it.
    fn of(definition: &Value) -> Self {
        let owners = definition["metadata"]["ownerReferences"].as_array();
        let is_defined = owners.into_iter().flatten().any(|owner| {
            owner["controller"] == true
                && owner["kind"] == "CompositeResourceDefinition"
                && owner["apiVersion"]
                    .as_str()
                    .is_some_and(|version| version.starts_with("apiextensions.crossplane.io/"))
        });
        if !is_defined {
            return Self::Other;
        }
        let spec = &definition["spec"];
        let categories = spec["names"]["categories"].as_array();
        if categories.into_iter().flatten().any(|one| one == "claim") {
            return Self::Claim;
        }
        let stored = spec["versions"].as_array().into_iter().flatten();
        let fields = stored
            .filter(|version| version["storage"] == true)
            .map(|version| &version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]);
        let is_legacy = fields.into_iter().any(|fields| !fields["resourceRefs"].is_null());
        Self::Composite(match (is_legacy, spec["scope"] == "Namespaced") {
            (true, _) => Scope::LegacyCluster,
            (false, true) => Scope::Namespaced,
            (false, false) => Scope::Cluster,
        })
    }
}

impl Definition {
    pub(super) fn of(definition: &Value) -> Option<Self> {
        let spec = &definition["spec"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let (group, kind, plural) = (
            text(&spec["group"])?,
            text(&spec["names"]["kind"])?,
            text(&spec["names"]["plural"])?,
        );
        let version = spec["versions"]
            .as_array()?
            .iter()
            .find(|version| version["storage"] == true)
            .and_then(|version| text(&version["name"]))?;
        let short = spec["names"]["shortNames"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(text);
        let mut names: Vec<String> = short.collect();
        names.extend(text(&spec["names"]["singular"]));
        names.extend([kind.to_lowercase(), plural.clone(), format!("{plural}.{group}")]);
        let resource = ResourceType { group, version, kind };
        Some(Self {
            api: ApiType::new(&resource, &plural, spec["scope"] == "Namespaced"),
            role: KindRole::of(definition),
            plugin: text(&definition["metadata"]["annotations"][PLUGIN]),
            names,
        })
    }
}

impl ObjectName {
    /// The type that is meant.
    pub(super) fn find(&self, definitions: &[Definition]) -> Result<ApiType, String> {
        let wanted = self.kind.to_lowercase();
        let mut found = definitions
            .iter()
            .filter(|definition| definition.names.contains(&wanted));
        match (found.next(), found.next()) {
            (Some(one), None) => Ok(one.api.clone()),
            (None, _) => Err(format!("the cluster has no CRD of a kind {:?}", self.kind)),
            (Some(one), Some(other)) => Err(format!(
                "{:?} may be {} or {}: write it with its group",
                self.kind,
                in_full(&one.api),
                in_full(&other.api)
            )),
        }
    }
}

fn in_full(api: &ApiType) -> String {
    format!("{}.{}", api.plural, api.kind.group())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition(group: &str) -> Definition {
        let names = json!({ "kind": "Page", "plural": "pages", "singular": "page", "shortNames": ["pg"] });
        let versions = json!([{ "name": "v1alpha1", "storage": true }]);
        let spec = json!({ "group": group, "scope": "Namespaced", "names": names, "versions": versions });
        Definition::of(&json!({ "spec": spec })).expect("a definition")
    }

    #[test]
    fn a_kind_is_found_by_each_of_its_names() {
        let definitions = [definition("press.example.org")];
        for kind in ["Page", "page", "pages", "PG", "pages.press.example.org"] {
            let name: ObjectName = format!("{kind}/greeting").parse().expect(kind);
            let api = name.find(&definitions).expect(kind);
            assert_eq!((api.kind.kind(), api.namespaced), ("Page", true));
        }
    }

    #[test]
    fn an_ambiguous_or_unknown_name_is_explained() {
        let both = [definition("a.example.org"), definition("b.example.org")];
        let find = |text: &str| text.parse::<ObjectName>().and_then(|name| name.find(&both));
        assert_eq!(
            find("page/x"),
            Err(
                r#""page" may be pages.a.example.org or pages.b.example.org: write it with its group"#
                    .to_owned()
            )
        );
        assert!(find("pages.b.example.org/x").is_ok());
        assert_eq!(
            find("book/x"),
            Err(r#"the cluster has no CRD of a kind "book""#.to_owned())
        );
        assert_eq!(
            find("page"),
            Err(r#""page" names no object: write KIND/NAME, as in bucket/logs"#.to_owned())
        );
    }

    #[test]
    fn the_crds_of_definitions_are_known_by_controller_and_schema() {
        let role = |owner: &str, categories: Value, scope: &str, field: &str| {
            let schema =
                json!({ "openAPIV3Schema": { "properties": { "spec": { "properties": { field: {} } } } } });
            KindRole::of(&json!({
                "metadata": { "ownerReferences": [{
                    "apiVersion": "apiextensions.crossplane.io/v1", "kind": owner, "controller": true
                }]},
                "spec": {
                    "names": { "categories": categories },
                    "scope": scope,
                    "versions": [{ "storage": true, "schema": schema }],
                },
            }))
        };
        let definition = "CompositeResourceDefinition";
        let composite = || json!(["composite"]);
        assert_eq!(
            role(definition, composite(), "Namespaced", "crossplane"),
            KindRole::Composite(Scope::Namespaced)
        );
        assert_eq!(
            role(definition, composite(), "Cluster", "crossplane"),
            KindRole::Composite(Scope::Cluster)
        );
        assert_eq!(
            role(definition, composite(), "Cluster", "resourceRefs"),
            KindRole::Composite(Scope::LegacyCluster)
        );
        assert_eq!(
            role(definition, json!(["claim"]), "Namespaced", "resourceRef"),
            KindRole::Claim
        );
        assert_eq!(
            role("Something", composite(), "Namespaced", "crossplane"),
            KindRole::Other
        );
    }
}
