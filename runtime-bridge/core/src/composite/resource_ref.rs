//! References to composed resources, as they stand in a composite resource.

use serde_json::{Map, Value, json};

use super::ObjectId;

/// One entry of `resourceRefs`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceRef {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// `None`: cluster-scoped, or in the namespace of a namespaced composite resource, which is not repeated in the reference.
    pub namespace: Option<String>,
    /// Name.
    pub name: String,
}

impl ResourceRef {
    /// Reads an entry; `None`: it names no object, as older controllers left some.
    pub fn parse(entry: &Value) -> Option<Self> {
        let text = |name: &str| entry[name].as_str().filter(|text| !text.is_empty());
        Some(Self {
            api_version: text("apiVersion")?.to_owned(),
            kind: text("kind")?.to_owned(),
            namespace: text("namespace").map(ToOwned::to_owned),
            name: text("name")?.to_owned(),
        })
    }

    /// As it is stored.
    pub fn to_value(&self) -> Value {
        let mut entry = Map::new();
        entry.insert("apiVersion".to_owned(), json!(self.api_version));
        entry.insert("kind".to_owned(), json!(self.kind));
        entry.insert("name".to_owned(), json!(self.name));
        if let Some(namespace) = &self.namespace {
            entry.insert("namespace".to_owned(), json!(namespace));
        }
        Value::Object(entry)
    }

    /// Which object it names, whatever the version. `home`: the namespace of the composite resource, if it has one.
    pub fn id(&self, home: Option<&str>) -> ObjectId {
        let group = self.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        ObjectId {
            group: group.to_owned(),
            kind: self.kind.clone(),
            namespace: home.map(ToOwned::to_owned).or_else(|| self.namespace.clone()),
            name: self.name.clone(),
        }
    }

    /// Whether it names this object: as [`id`](Self::id), with nothing copied.
    pub fn names(&self, id: &ObjectId, home: Option<&str>) -> bool {
        let group = self.api_version.rsplit_once('/').map_or("", |(group, _)| group);
        self.name == id.name
            && self.kind == id.kind
            && group == id.group
            && home.or(self.namespace.as_deref()) == id.namespace.as_deref()
    }

    /// By this text the entries are in order (reference 5.1, step 6).
    pub fn order(&self) -> String {
        let namespace = self.namespace.as_deref().unwrap_or_default();
        format!("{}{}{}{namespace}", self.api_version, self.kind, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_read_and_written_alike() {
        for entry in [
            json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a"}),
            json!({"apiVersion": "g.example/v1", "kind": "Thing", "name": "a", "namespace": "n"}),
        ] {
            assert_eq!(ResourceRef::parse(&entry).unwrap().to_value(), entry);
        }
        assert_eq!(
            ResourceRef::parse(&json!({"apiVersion": "v1", "kind": "ConfigMap"})),
            None
        );
    }

    #[test]
    fn a_namespaced_composite_keeps_its_resources_at_home() {
        let entry = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "namespace": "elsewhere"});
        let reference = ResourceRef::parse(&entry).unwrap();
        assert_eq!(reference.id(Some("home")).namespace.as_deref(), Some("home"));
        assert_eq!(reference.id(None).namespace.as_deref(), Some("elsewhere"));
    }

    #[test]
    fn it_names_what_its_id_says() {
        let entry = |version: &str, kind: &str, name: &str, namespace: Option<&str>| ResourceRef {
            api_version: version.to_owned(),
            kind: kind.to_owned(),
            namespace: namespace.map(ToOwned::to_owned),
            name: name.to_owned(),
        };
        let all = [
            entry("v1", "A", "a", None),
            entry("v2", "A", "a", None),
            entry("g/v1", "A", "a", None),
            entry("v1", "B", "a", None),
            entry("v1", "A", "b", None),
            entry("v1", "A", "a", Some("n")),
            entry("v1", "A", "a", Some("m")),
        ];
        for home in [None, Some("n")] {
            for (one, other) in all
                .iter()
                .flat_map(|one| all.iter().map(move |other| (one, other)))
            {
                let id = other.id(home);
                assert_eq!(
                    one.names(&id, home),
                    one.id(home) == id,
                    "{one:?} {other:?} {home:?}"
                );
            }
        }
    }
}
