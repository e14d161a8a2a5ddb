//! `KIND/NAME`, as people write it.

use std::str::FromStr;

use bridge_core::kind::ResourceType;
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
    api: ApiType,
    names: Vec<String>,
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
}
