//! Where the objects are that a scenario names.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::scenario::{Unexpected, plural};

const NAMESPACE: &str = "default";
const DEFINITION: &str = "CompositeResourceDefinition";
const CRD: &str = "CustomResourceDefinition";
/// Kind, API version, whether it has a namespace.
const BUILT_IN: [(&str, &str, bool); 8] = [
    ("ConfigMap", "v1", true),
    ("Namespace", "v1", false),
    (CRD, "apiextensions.k8s.io/v1", false),
    (DEFINITION, "apiextensions.crossplane.io/v2", false),
    ("Composition", "apiextensions.crossplane.io/v1", false),
    (super::PLUGIN_KIND, "fake.example.org/v1alpha1", true),
    ("Usage", "protection.crossplane.io/v1beta1", true),
    ("ClusterUsage", "protection.crossplane.io/v1beta1", false),
];

/// What is known of kinds, and noted of objects.
#[derive(Debug)]
pub(super) struct Objects {
    /// By kind: its API version, and whether it has a namespace.
    kinds: BTreeMap<String, (String, bool)>,
    /// What was applied, first things first.
    pub(super) applied: Vec<String>,
    /// uids, by name.
    pub(super) noted: BTreeMap<String, String>,
}

/// `Kind/name`, `Kind/name@namespace`.
struct Named<'a> {
    kind: &'a str,
    name: &'a str,
    namespace: &'a str,
}

impl<'a> Named<'a> {
    fn read(reference: &'a str) -> Result<Self, Unexpected> {
        let (kind, rest) = reference
            .split_once('/')
            .ok_or_else(|| Unexpected(format!("{reference:?} is not `Kind/name`")))?;
        let (name, namespace) = rest.split_once('@').unwrap_or((rest, NAMESPACE));
        Ok(Self {
            kind,
            name,
            namespace,
        })
    }
}

impl Objects {
    pub(super) fn new() -> Self {
        let kinds =
            BUILT_IN.map(|(kind, version, namespaced)| (kind.to_owned(), (version.to_owned(), namespaced)));
        Self {
            kinds: kinds.into(),
            applied: Vec::new(),
            noted: BTreeMap::new(),
        }
    }

    /// Takes note of an object that is applied. Returns how it is named.
    pub(super) fn take_note(&mut self, object: &Value) -> String {
        let text = |pointer: &str| {
            let found = object.pointer(pointer).and_then(Value::as_str);
            found.unwrap_or_default()
        };
        let (kind, name) = (text("/kind"), text("/metadata/name"));
        if let Some((version, _)) = self.kinds.get_mut(kind) {
            // Definitions have two.
            text("/apiVersion").clone_into(version);
        }
        if [DEFINITION, CRD].contains(&kind) {
            self.define(object);
        }
        let reference = match text("/metadata/namespace") {
            "" => format!("{kind}/{name}"),
            namespace => format!("{kind}/{name}@{namespace}"),
        };
        if !self.applied.contains(&reference) {
            self.applied.push(reference.clone());
        }
        reference
    }

    /// The kinds that a definition defines.
    fn define(&mut self, definition: &Value) {
        let spec = &definition["spec"];
        let text = |pointer: &str| spec.pointer(pointer).and_then(Value::as_str);
        let version = |group: &str, name: &str| format!("{group}/{name}");
        let (Some(group), Some(name)) = (text("/group"), text("/versions/0/name")) else {
            return;
        };
        let kinds = [
            (text("/names/kind"), text("/scope") == Some("Namespaced")),
            (text("/claimNames/kind"), true),
        ];
        for (kind, namespaced) in kinds {
            if let Some(kind) = kind {
                self.kinds
                    .insert(kind.to_owned(), (version(group, name), namespaced));
            }
        }
    }

    /// The path of `Kind/name` or `Kind/name@namespace`.
    pub(super) fn path(&self, reference: &str) -> Result<String, Unexpected> {
        let Named {
            kind,
            name,
            namespace,
        } = Named::read(reference)?;
        let known = self.kinds.get(kind);
        let (version, namespaced) =
            known.ok_or_else(|| Unexpected(format!("no kind {kind} is known here")))?;
        let root = if version.contains('/') {
            format!("/apis/{version}")
        } else {
            format!("/api/{version}")
        };
        let place = if *namespaced {
            format!("/namespaces/{namespace}")
        } else {
            String::new()
        };
        Ok(format!("{root}{place}/{}/{name}", plural(kind)))
    }

    /// A text in which `${name}` is replaced by the noted uid.
    pub(super) fn fill(&self, text: &str) -> String {
        let fill = |text: String, (name, uid): (&String, &String)| text.replace(&format!("${{{name}}}"), uid);
        self.noted.iter().fold(text.to_owned(), fill)
    }

    /// The same within all texts of a value.
    pub(super) fn fill_all(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.fill(text).into(),
            Value::Array(items) => items.iter().map(|item| self.fill_all(item)).collect(),
            Value::Object(fields) => {
                let fields = fields.iter();
                fields
                    .map(|(name, field)| (name.clone(), self.fill_all(field)))
                    .collect()
            }
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Objects;

    #[test]
    fn an_object_is_found_by_its_kind_its_definition_and_its_namespace() {
        let mut objects = Objects::new();
        let definition = json!({
            "apiVersion": "apiextensions.crossplane.io/v1", "kind": "CompositeResourceDefinition",
            "metadata": {"name": "xpurchases.shop.example.org"},
            "spec": {
                "group": "shop.example.org", "names": {"kind": "XPurchase"}, "claimNames": {"kind": "Purchase"},
                "versions": [{"name": "v1"}],
            },
        });
        let path = |objects: &Objects, reference| objects.path(reference).unwrap();
        assert!(objects.path("Purchase/web").is_err());
        assert_eq!(
            objects.take_note(&definition),
            "CompositeResourceDefinition/xpurchases.shop.example.org"
        );
        assert_eq!(
            path(&objects, "Purchase/web@shop"),
            "/apis/shop.example.org/v1/namespaces/shop/purchases/web"
        );
        assert_eq!(
            path(&objects, "XPurchase/web"),
            "/apis/shop.example.org/v1/xpurchases/web"
        );
        assert_eq!(
            path(&objects, "ConfigMap/a"),
            "/api/v1/namespaces/default/configmaps/a"
        );
    }

    #[test]
    fn noted_uids_are_filled_in() {
        let mut objects = Objects::new();
        objects.noted.insert("held".to_owned(), "u-1".to_owned());
        let filled = objects.fill_all(&json!({"a": ["all/${held}", 1], "b": "${other}"}));
        assert_eq!(filled, json!({"a": ["all/u-1", 1], "b": "${other}"}));
    }
}
