//! What users apply.

use kube::{
    Api, Client,
    api::{ApiResource, DynamicObject, GroupVersionKind},
};
use serde_json::{Value, json};

pub(crate) use crate::managed::GROUP;
use crate::managed::{VERSION, parameters};

/// The function that nearly all compositions call.
pub(crate) const FUNCTION: &str = "f";
/// Another one, which may be in trouble.
pub(crate) const OTHER_FUNCTION: &str = "g";
/// The group of definitions and compositions.
pub(crate) const APIEXTENSIONS: &str = "apiextensions.crossplane.io";
/// The group of usages.
pub(crate) const PROTECTION: &str = "protection.crossplane.io";

/// What composite resources are composed of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Composed {
    /// Objects of a kind that has no controller of its own. They are ready as soon as they are observed.
    Parts,
    /// Managed resources of `bench-plugin`. They are ready as soon as their condition says so.
    Managed,
    /// Objects of a kind that no list shows in the version that is composed.
    Unconvertible,
}

/// A kind of composite resources, each with one composition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Composite {
    pub(crate) kind: &'static str,
    pub(crate) plural: &'static str,
    /// That its composition calls.
    pub(crate) function: &'static str,
    /// Of each composite resource.
    pub(crate) composed: usize,
    pub(crate) of: Composed,
    /// For how long a response of the function is good.
    pub(crate) ttl_seconds: Option<u64>,
    /// Kind and plural of its claims; without them it is namespaced.
    pub(crate) claim: Option<(&'static str, &'static str)>,
    /// Each of the objects is used by the next one, unless the composite resource is of size 2.
    pub(crate) is_chain: bool,
}

/// Of 4 objects.
pub(crate) const ORDER: Composite = Composite {
    kind: "Order",
    plural: "orders",
    function: FUNCTION,
    composed: 4,
    of: Composed::Parts,
    ttl_seconds: None,
    claim: None,
    is_chain: false,
};
/// Of 4 objects, by a claim.
pub(crate) const PURCHASE: Composite = Composite {
    kind: "XPurchase",
    plural: "xpurchases",
    function: FUNCTION,
    composed: 4,
    of: Composed::Parts,
    ttl_seconds: None,
    claim: Some(("Purchase", "purchases")),
    is_chain: false,
};
/// Of 10 objects.
pub(crate) const BATCH: Composite = Composite {
    kind: "Batch",
    plural: "batches",
    function: FUNCTION,
    composed: 10,
    of: Composed::Parts,
    ttl_seconds: None,
    claim: None,
    is_chain: false,
};
/// Of 10 objects, run again each minute.
pub(crate) const TIMED: Composite = Composite {
    kind: "Timed",
    plural: "timeds",
    function: FUNCTION,
    composed: 10,
    of: Composed::Parts,
    ttl_seconds: Some(60),
    claim: None,
    is_chain: false,
};
/// Of 1 object.
pub(crate) const SINGLE: Composite = Composite {
    kind: "Single",
    plural: "singles",
    function: FUNCTION,
    composed: 1,
    of: Composed::Parts,
    ttl_seconds: None,
    claim: None,
    is_chain: false,
};

/// Of 4 objects that use each other.
pub(crate) const CHAIN: Composite = Composite {
    kind: "Chain",
    plural: "chains",
    function: FUNCTION,
    composed: 4,
    of: Composed::Parts,
    ttl_seconds: None,
    claim: None,
    is_chain: true,
};

/// Of 1000 objects.
pub(crate) const LARGE: Composite = Composite {
    kind: "Large",
    plural: "larges",
    composed: 1000,
    ..SINGLE
};

/// Of 1 object, by the other function.
pub(crate) const STUCK: Composite = Composite {
    kind: "Stuck",
    plural: "stucks",
    function: OTHER_FUNCTION,
    ..SINGLE
};
/// Of 1 object of a kind that cannot be watched.
pub(crate) const UNWATCHED: Composite = Composite {
    kind: "Unwatched",
    plural: "unwatcheds",
    of: Composed::Unconvertible,
    ..SINGLE
};

/// Of 4 managed resources.
pub(crate) const MANAGED_ORDER: Composite = Composite {
    of: Composed::Managed,
    ..ORDER
};
/// Of 4 managed resources, by a claim.
pub(crate) const MANAGED_PURCHASE: Composite = Composite {
    of: Composed::Managed,
    ..PURCHASE
};

/// Those that both sides serve, and those of ours alone.
const ALL: [Composite; 6] = [ORDER, PURCHASE, BATCH, TIMED, SINGLE, CHAIN];
/// Those that both sides serve, the ones of 4 with managed resources.
const ALL_MANAGED: [Composite; 4] = [MANAGED_ORDER, MANAGED_PURCHASE, BATCH, TIMED];

impl Composed {
    /// On a control plane where those of 4 objects have these.
    pub(crate) fn composites(self) -> &'static [Composite] {
        match self {
            Self::Parts => &ALL,
            Self::Managed => &ALL_MANAGED,
            Self::Unconvertible => &[],
        }
    }

    pub(crate) fn resource(self) -> ApiResource {
        match self {
            Self::Parts => resource(GROUP, "v1", "Part", "parts"),
            Self::Managed => resource(GROUP, VERSION, "Named", "named"),
            Self::Unconvertible => resource(GROUP, "v2", "Gadget", "gadgets"),
        }
    }

    fn spec(self, edition: u32) -> Value {
        match self {
            Self::Parts | Self::Unconvertible => json!({
                "edition": edition, "description": "d".repeat(400),
                "tags": {"team": "web", "tier": "front"},
            }),
            Self::Managed => json!({"forProvider": parameters(400)}),
        }
    }

    /// When the function says that one is ready, on both sides alike.
    fn ready(self, name: &str) -> Value {
        match self {
            Self::Parts | Self::Unconvertible => json!({"exists": name}),
            Self::Managed => json!({"isTrue": {"of": name, "condition": "Ready"}}),
        }
    }
}

impl Composite {
    /// Of what users create: the claims, where there are any.
    pub(crate) fn of_users(&self) -> ApiResource {
        let (kind, plural) = self.claim.unwrap_or((self.kind, self.plural));
        resource(GROUP, "v1", kind, plural)
    }

    pub(crate) fn resource(&self) -> ApiResource {
        resource(GROUP, "v1", self.kind, self.plural)
    }

    pub(crate) fn definition(&self) -> Value {
        let version = json!({
            "name": "v1", "served": true, "referenceable": true,
            "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"type": "object", "properties": {
                    "size": {"type": "integer"}, "description": {"type": "string"},
                }}},
            }},
        });
        let mut definition = json!({
            "apiVersion": "apiextensions.crossplane.io/v2",
            "kind": "CompositeResourceDefinition",
            "metadata": {"name": format!("{}.{GROUP}", self.plural)},
            "spec": {
                "group": GROUP,
                "names": {"kind": self.kind, "plural": self.plural},
                "scope": "Namespaced",
                "versions": [version],
            },
        });
        if let Some((kind, plural)) = self.claim {
            definition["apiVersion"] = "apiextensions.crossplane.io/v1".into();
            definition["spec"]["scope"] = "LegacyCluster".into();
            definition["spec"]["claimNames"] = json!({"kind": kind, "plural": plural});
        }
        definition
    }

    /// The pipeline of its composition: one step. `edition` is in the first of the composed parts; the last is not desired by an XR of size 2.
    pub(crate) fn pipeline(&self, edition: u32) -> Value {
        let of = self.of.resource();
        let mut resources: serde_json::Map<String, Value> = (0..self.composed)
            .map(|number| {
                let name = format!("part-{number}");
                let mut object = json!({
                    "apiVersion": of.api_version, "kind": of.kind,
                    "spec": self.of.spec(if number == 0 { edition } else { 0 }),
                });
                if self.claim.is_some() {
                    object["metadata"]["namespace"] = "default".into();
                }
                if self.is_chain {
                    object["metadata"]["labels"] = json!({"part": name});
                }
                let when = if number + 1 == self.composed && !self.is_chain {
                    not_of_size_2()
                } else {
                    json!("always")
                };
                let ready = self.of.ready(&name);
                (name, json!({"object": object, "when": when, "ready": ready}))
            })
            .collect();
        if self.is_chain {
            resources.extend((1..self.composed).map(|number| (format!("usage-{number}"), usage(number))));
        }
        let mut input = json!({"apiVersion": "fn.example.org/v1", "kind": "Program", "resources": resources});
        if let Some(ttl) = self.ttl_seconds {
            input["ttlSeconds"] = ttl.into();
        }
        json!([{"step": "compose", "functionRef": {"name": self.function}, "input": input}])
    }

    pub(crate) fn composition(&self) -> Value {
        json!({
            "apiVersion": "apiextensions.crossplane.io/v1",
            "kind": "Composition",
            "metadata": {"name": self.plural},
            "spec": {
                "compositeTypeRef": {"apiVersion": format!("{GROUP}/v1"), "kind": self.kind},
                "mode": "Pipeline",
                "pipeline": self.pipeline(1),
            },
        })
    }

    /// What a user creates.
    pub(crate) fn manifest(&self, name: &str) -> DynamicObject {
        object(json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": self.of_users().kind,
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"size": 1, "description": "d".repeat(200)},
        }))
    }
}

fn not_of_size_2() -> Value {
    json!({"not": {"equals": {"path": "/spec/size", "value": 2}}})
}

/// Of an object of the chain by the one before it.
fn usage(number: usize) -> Value {
    let part = |number: usize| {
        json!({"apiVersion": format!("{GROUP}/v1"), "kind": "Part", "resourceSelector": {
            "matchControllerRef": true, "matchLabels": {"part": format!("part-{number}")},
        }})
    };
    let object = json!({
        "apiVersion": format!("{PROTECTION}/v1beta1"), "kind": "Usage",
        "spec": {"of": part(number), "by": part(number - 1)},
    });
    json!({"object": object, "when": not_of_size_2(), "ready": "always"})
}

/// The CRD of parts.
pub(crate) fn part_definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("parts.{GROUP}")},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"kind": "Part", "plural": "parts"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": {
                    "type": "object",
                    "properties": {
                        "edition": {"type": "integer"}, "description": {"type": "string"},
                        "touched": {"type": "integer"},
                        "tags": {"type": "object", "additionalProperties": {"type": "string"}},
                    },
                }}}},
            }],
        },
    })
}

pub(crate) fn resource(group: &str, version: &str, kind: &str, plural: &str) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

/// Definitions, compositions and the like, which are in no namespace.
pub(crate) fn cluster_wide(
    client: &Client,
    group: &str,
    version: &str,
    kind: &str,
    plural: &str,
) -> Api<DynamicObject> {
    Api::all_with(client.clone(), &resource(group, version, kind, plural))
}

/// # Panics
/// If it is none.
pub(crate) fn object(value: Value) -> DynamicObject {
    serde_json::from_value(value).expect("an object")
}
