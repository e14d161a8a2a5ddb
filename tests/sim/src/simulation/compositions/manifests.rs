//! What users apply.

use serde_json::{Value, json};

use super::{functions::ProgramOptions, secrets, settings};
use crate::simulation::function_host::FUNCTION;

/// API group of what users define.
pub(super) const GROUP: &str = "shop.example.org";
/// Where everything is that has a namespace.
pub(super) const NAMESPACE: &str = "default";
/// So many programs differ; then they repeat themselves.
const VARIANTS: u32 = 4;
/// What a claim says in places of the machinery.
pub(super) const MEDDLED: &str = "meddled";
/// The field that an edited definition has.
pub(super) const EDITED: &str = "note";

/// A kind that users make objects of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Composite resources of a namespace.
    Order,
    /// Claims of cluster-scoped ones.
    Purchase,
    /// Composite resources that compose an [`Order`](Self::Order).
    Chain,
    /// Composite resources that compose a managed resource of the plugin.
    Shop,
}

impl Kind {
    /// Of every seed; others are where the plan has objects of them.
    pub(super) const ALWAYS: [Self; 2] = [Self::Order, Self::Purchase];

    pub(super) fn plural(self) -> &'static str {
        match self {
            Self::Order => "orders",
            Self::Purchase => "purchases",
            Self::Chain => "chains",
            Self::Shop => "shops",
        }
    }

    /// Plural of the composite resources behind it.
    pub(super) fn composite_plural(self) -> &'static str {
        match self {
            Self::Purchase => "xpurchases",
            other => other.plural(),
        }
    }

    pub(super) fn composite_kind(self) -> &'static str {
        match self {
            Self::Order => "Order",
            Self::Purchase => "XPurchase",
            Self::Chain => "Chain",
            Self::Shop => "Shop",
        }
    }

    /// Of its objects.
    pub(super) fn collection(self) -> String {
        format!("/apis/{GROUP}/v1/namespaces/{NAMESPACE}/{}", self.plural())
    }

    /// Of its definitions: the version in which it is written.
    pub(super) fn definitions(self) -> String {
        let version = match self {
            Self::Purchase => "v1",
            _ => "v2",
        };
        format!("/apis/apiextensions.crossplane.io/{version}/compositeresourcedefinitions")
    }

    /// Name of its definition, and of the CRD of its composite resources.
    pub(super) fn definition_name(self) -> String {
        format!("{}.{GROUP}", self.composite_plural())
    }

    /// Its definition. `edits`: how often it was edited.
    pub(super) fn definition(self, edits: u32) -> Value {
        let plural = self.composite_plural();
        let mut spec = json!({
            "group": GROUP,
            "names": {"kind": self.composite_kind(), "plural": plural},
            "versions": self.versions(edits),
        });
        match self {
            Self::Purchase => spec["claimNames"] = json!({"kind": "Purchase", "plural": "purchases"}),
            _ => spec["scope"] = "Namespaced".into(),
        }
        json!({"metadata": {"name": self.definition_name()}, "spec": spec})
    }

    /// Its versions, the schema of which an edit gives a field, and the next one takes it away.
    pub(super) fn versions(self, edits: u32) -> Value {
        let mut properties = json!({"size": {"type": "integer"}});
        if edits % 2 == 1 {
            properties[EDITED] = json!({"type": "string"});
        }
        let mut spec = json!({"type": "object", "properties": properties});
        if edits % 2 == 1 && self == Self::Purchase {
            spec["x-kubernetes-preserve-unknown-fields"] = true.into();
        }
        json!([{
            "name": "v1", "served": true, "referenceable": true,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        }])
    }

    /// Its composition. `variant`: which program.
    pub(super) fn composition(self, variant: u32, options: &ProgramOptions) -> Value {
        let mut step = json!({
            "step": "compose", "functionRef": {"name": FUNCTION}, "input": self.program(variant, options),
        });
        let mut spec = json!({
            "compositeTypeRef": {"apiVersion": format!("{GROUP}/v1"), "kind": self.composite_kind()},
            "mode": "Pipeline",
        });
        if options.has_secrets && self == Self::Purchase {
            spec["writeConnectionSecretsToNamespace"] = NAMESPACE.into();
            step["input"]["credential"] = secrets::DETAILS.into();
            step["credentials"] = secrets::credentials();
        }
        spec["pipeline"] = json!([step]);
        json!({"metadata": {"name": self.composite_plural()}, "spec": spec})
    }

    /// What the function does.
    fn program(self, variant: u32, options: &ProgramOptions) -> Value {
        let mut resources: serde_json::Map<String, Value> = self
            .resources(variant)
            .into_iter()
            .map(|resource| (resource.name.to_owned(), resource.entry()))
            .collect();
        if options.has_settings {
            resources[settings::holder(self)]["copies"] = settings::copies();
        }
        let mut program =
            json!({"apiVersion": "fake.example.org/v1", "kind": "Program", "resources": resources});
        if options.has_settings {
            program["requires"] = settings::requirements();
        }
        if let Some(ttl) = options.ttl {
            program["ttlSeconds"] = ttl.into();
        }
        program
    }

    /// What is composed, whatever it is desired by.
    pub(super) fn resources(self, variant: u32) -> Vec<Desired> {
        let variant = variant % VARIANTS;
        match self {
            Self::Order | Self::Purchase => self.config_maps(variant),
            Self::Chain => chained(variant),
            Self::Shop => managed(variant),
        }
    }

    /// `ConfigMaps`, and with an order a usage.
    fn config_maps(self, variant: u32) -> Vec<Desired> {
        let config_map = |name: &'static str, data: Value| {
            let mut desired = config_map(name, data);
            if self == Self::Purchase {
                desired.object["metadata"]["namespace"] = NAMESPACE.into();
            }
            desired
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
            let (of, by) = (by_role(CONFIG_MAP, "store"), by_role(CONFIG_MAP, "page"));
            all.push(Desired {
                sizes: Some(vec![1, 2]),
                ..usage(&of, &by, false)
            });
        }
        all
    }
}

/// What a claim may say of the machinery, if its schema lets it.
pub(super) fn meddling() -> Value {
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": MEDDLED});
    json!({
        "metadata": {
            "annotations": {"crossbridge.dev/applied": MEDDLED, "crossbridge.dev/claim": MEDDLED},
            "labels": {"crossplane.io/composite": MEDDLED},
        },
        "spec": {"claimRef": reference, "resourceRefs": [reference]},
    })
}

/// API version and kind.
type Typed = (&'static str, &'static str);

const CONFIG_MAP: Typed = ("v1", "ConfigMap");
const ORDER: Typed = ("shop.example.org/v1", "Order");
const TABLE: Typed = ("fake.example.org/v1alpha1", super::run::PLUGIN_KIND);

fn object((api_version, kind): Typed, role: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"labels": {"role": role}}})
}

fn config_map(name: &'static str, data: Value) -> Desired {
    let mut object = object(CONFIG_MAP, name);
    object["data"] = data;
    Desired::always(name, object)
}

/// What the same composite resource composes for this role.
fn by_role((api_version, kind): Typed, role: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "resourceSelector": {
        "matchControllerRef": true, "matchLabels": {"role": role},
    }})
}

fn usage(of: &Value, by: &Value, replays: bool) -> Desired {
    let mut object = json!({
        "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage", "spec": {"of": of, "by": by},
    });
    if replays {
        object["spec"]["replayDeletion"] = true.into();
    }
    Desired::always("usage", object)
}

/// An order, whose size is one of the program's, and what uses it.
fn chained(variant: u32) -> Vec<Desired> {
    let mut order = object(ORDER, "link");
    order["spec"] = json!({"size": 1 + variant});
    vec![
        Desired {
            waits: true,
            ..Desired::always("link", order)
        },
        config_map("note", json!({"variant": variant.to_string()})),
        Desired {
            sizes: Some(vec![1, 2]),
            ..usage(&by_role(ORDER, "link"), &by_role(CONFIG_MAP, "note"), false)
        },
    ]
}

/// A managed resource, whose external name is the same each time, and what uses it.
fn managed(variant: u32) -> Vec<Desired> {
    let mut table = object(TABLE, "till");
    table["metadata"]["annotations"] = json!({"crossplane.io/external-name": "till"});
    table["spec"] = json!({"forProvider": {"size": 1 + variant}});
    vec![
        Desired {
            waits: true,
            ..Desired::always("till", table)
        },
        config_map("page", json!({"variant": variant.to_string()})),
        Desired {
            sizes: Some(vec![1, 3]),
            ..usage(&by_role(TABLE, "till"), &by_role(CONFIG_MAP, "page"), true)
        },
    ]
}

/// A resource that the function desires.
pub(super) struct Desired {
    /// Its composition resource name.
    pub(super) name: &'static str,
    pub(super) object: Value,
    /// The sizes of the composite resource for which it is desired; `None`: all.
    sizes: Option<Vec<u32>>,
    /// It is ready once it says so.
    waits: bool,
}

impl Desired {
    fn always(name: &'static str, object: Value) -> Self {
        Self {
            name,
            object,
            sizes: None,
            waits: false,
        }
    }

    /// Whether a composite resource of this size has it.
    pub(super) fn is_for(&self, size: u64) -> bool {
        let sizes = self.sizes.as_ref();
        sizes.is_none_or(|sizes| sizes.iter().any(|one| u64::from(*one) == size))
    }

    fn entry(&self) -> Value {
        let mut entry = json!({"object": self.object, "ready": "always"});
        if self.waits {
            entry["ready"] = json!({"isTrue": {"of": self.name, "condition": "Ready"}});
        }
        if let Some(sizes) = &self.sizes {
            let of = |size: &u32| json!({"equals": {"path": "/spec/size", "value": size}});
            entry["when"] = json!({"any": sizes.iter().map(of).collect::<Vec<_>>()});
        }
        entry
    }
}
