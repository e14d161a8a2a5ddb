//! What users apply.

use serde_json::{Value, json};

use crate::simulation::function_host::FUNCTION;

/// API group of what users define.
pub(super) const GROUP: &str = "shop.example.org";
/// Where everything is that has a namespace.
pub(super) const NAMESPACE: &str = "default";
/// So many programs differ; then they repeat themselves.
const VARIANTS: u32 = 4;

/// A kind that users make objects of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Composite resources of a namespace.
    Order,
    /// Claims of cluster-scoped ones.
    Purchase,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Order, Self::Purchase];

    pub(super) fn plural(self) -> &'static str {
        match self {
            Self::Order => "orders",
            Self::Purchase => "purchases",
        }
    }

    /// Plural of the composite resources behind it.
    pub(super) fn composite_plural(self) -> &'static str {
        match self {
            Self::Order => "orders",
            Self::Purchase => "xpurchases",
        }
    }

    pub(super) fn composite_kind(self) -> &'static str {
        match self {
            Self::Order => "Order",
            Self::Purchase => "XPurchase",
        }
    }

    /// Of its objects.
    pub(super) fn collection(self) -> String {
        format!("/apis/{GROUP}/v1/namespaces/{NAMESPACE}/{}", self.plural())
    }

    /// Of its definitions: the version in which it is written.
    pub(super) fn definitions(self) -> String {
        let version = match self {
            Self::Order => "v2",
            Self::Purchase => "v1",
        };
        format!("/apis/apiextensions.crossplane.io/{version}/compositeresourcedefinitions")
    }

    /// Its definition.
    pub(super) fn definition(self) -> Value {
        let plural = self.composite_plural();
        let mut spec = json!({
            "group": GROUP,
            "names": {"kind": self.composite_kind(), "plural": plural},
            "versions": [{
                "name": "v1", "served": true, "referenceable": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
                    "type": "object", "properties": {"size": {"type": "integer"}},
                }}}},
            }],
        });
        match self {
            Self::Order => spec["scope"] = "Namespaced".into(),
            Self::Purchase => spec["claimNames"] = json!({"kind": "Purchase", "plural": "purchases"}),
        }
        json!({"metadata": {"name": format!("{plural}.{GROUP}")}, "spec": spec})
    }

    /// Its composition. `variant`: which program.
    pub(super) fn composition(self, variant: u32) -> Value {
        json!({
            "metadata": {"name": self.composite_plural()},
            "spec": {
                "compositeTypeRef": {"apiVersion": format!("{GROUP}/v1"), "kind": self.composite_kind()},
                "mode": "Pipeline",
                "pipeline": [{
                    "step": "compose", "functionRef": {"name": FUNCTION}, "input": self.program(variant),
                }],
            },
        })
    }

    /// What the function does.
    pub(super) fn program(self, variant: u32) -> Value {
        let resources: serde_json::Map<String, Value> = self
            .resources(variant)
            .into_iter()
            .map(|resource| (resource.name.to_owned(), resource.entry()))
            .collect();
        json!({"apiVersion": "fake.example.org/v1", "kind": "Program", "resources": resources})
    }

    /// What is composed, whatever it is desired by.
    pub(super) fn resources(self, variant: u32) -> Vec<Desired> {
        let variant = variant % VARIANTS;
        let config_map = |name: &'static str, data: Value| {
            let mut object = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"labels": {"role": name}}, "data": data,
            });
            if self == Self::Purchase {
                object["metadata"]["namespace"] = NAMESPACE.into();
            }
            Desired {
                name,
                object,
                sizes: None,
            }
        };
        // A field comes and goes, and a label.
        let mut store = json!({"variant": variant.to_string()});
        if variant % 2 == 1 {
            store["odd"] = "yes".into();
        }
        let mut all = vec![
            config_map("store", store),
            config_map("page", json!({"fixed": "yes"})),
        ];
        if variant >= 2 {
            all[1].object["metadata"]["labels"]["late"] = "yes".into();
        }
        all.push(Desired {
            sizes: Some(vec![2, 3]),
            ..config_map("cache", json!({"variant": variant.to_string()}))
        });
        if self == Self::Order {
            let of = |role: &str| {
                json!({"apiVersion": "v1", "kind": "ConfigMap", "resourceSelector": {
                    "matchControllerRef": true, "matchLabels": {"role": role},
                }})
            };
            all.push(Desired {
                name: "usage",
                object: json!({
                    "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage",
                    "spec": {"of": of("store"), "by": of("page")},
                }),
                sizes: Some(vec![1, 2]),
            });
        }
        all
    }
}

/// A resource that the function desires.
pub(super) struct Desired {
    /// Its composition resource name.
    pub(super) name: &'static str,
    pub(super) object: Value,
    /// The sizes of the composite resource for which it is desired; `None`: all.
    sizes: Option<Vec<u32>>,
}

impl Desired {
    /// Whether a composite resource of this size has it.
    pub(super) fn is_for(&self, size: u64) -> bool {
        let sizes = self.sizes.as_ref();
        sizes.is_none_or(|sizes| sizes.iter().any(|one| u64::from(*one) == size))
    }

    fn entry(&self) -> Value {
        let mut entry = json!({"object": self.object, "ready": "always"});
        if let Some(sizes) = &self.sizes {
            let of = |size: &u32| json!({"equals": {"path": "/spec/size", "value": size}});
            entry["when"] = json!({"any": sizes.iter().map(of).collect::<Vec<_>>()});
        }
        entry
    }
}
