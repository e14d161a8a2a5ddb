//! CRDs as values: the envelope is the bridge's, the parameters and the status are the kind's.
//!
//! What a kind declares and the bridge does not serve yet (references, late initialisation) is left out of the CRD, whose descriptions
//! say so; a kind that makes no sense without it is refused by name. There is no `initProvider` yet.

mod cel;
mod claim;
mod compare;
mod composite;
mod condition;
mod config;
mod crossplane;
mod definition_write;
mod generated;
#[cfg(test)]
mod generated_tests;
mod machinery;
mod managed;
mod pointer;
mod rejection;
mod schema;
mod sensitive;
mod set_once;
mod status;
mod stored_form;
#[cfg(test)]
mod tests;
mod version;

use serde_json::{Map, Value, json};

pub use claim::claim;
pub use compare::differences;
pub use composite::composite;
pub use config::{cluster_provider_config, provider_config};
pub use crossplane::CROSSPLANE;
pub use definition_write::{CrdConflict, CrdWrite, DEFINITION_MANAGER, plan_write};
pub use managed::managed;
pub use rejection::{KindRejected, Rejection};
pub use sensitive::{SecretRef, SecretRefError, SplitParameters, split_secret_refs};
pub use version::{
    BRIDGE_VERSION, PLUGIN, PLUGIN_VERSION, is_noted, newer, note_plugin, note_versions, other_owner,
    serves_all,
};

/// Label on each CRD that the bridge made; its value is [`MANAGED_BY`]. A CRD without it is never overwritten.
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";

/// Value of [`MANAGED_BY_LABEL`].
pub const MANAGED_BY: &str = "crossbridge";

/// Kind of the namespaced config.
pub const PROVIDER_CONFIG: &str = "ProviderConfig";

/// Kind of the cluster-scoped config.
pub const CLUSTER_PROVIDER_CONFIG: &str = "ClusterProviderConfig";

/// Version of both config kinds.
pub const CONFIG_VERSION: &str = "v1alpha1";

/// What makes one CRD differ from another, beside its schema.
struct Names<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
    plural: &'a str,
    singular: &'a str,
    short: Vec<String>,
    categories: Vec<String>,
    namespaced: bool,
}

/// A CRD of one served version with a status subresource. Empty lists are left out, as the API server would.
fn definition(names: &Names<'_>, columns: &[Value], schema: &Value) -> Value {
    let mut accepted = json!({
        "kind": names.kind,
        "listKind": format!("{}List", names.kind),
        "plural": names.plural,
        "singular": names.singular,
        "categories": names.categories,
    });
    if !names.short.is_empty() {
        accepted["shortNames"] = json!(names.short);
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": format!("{}.{}", names.plural, names.group),
            "labels": { MANAGED_BY_LABEL: MANAGED_BY },
        },
        "spec": {
            "group": names.group,
            "names": accepted,
            "scope": if names.namespaced { "Namespaced" } else { "Cluster" },
            "versions": [{
                "name": names.version,
                "served": true,
                "storage": true,
                "subresources": { "status": {} },
                "additionalPrinterColumns": columns,
                "schema": { "openAPIV3Schema": schema },
            }],
        },
    })
}

/// The outermost schema: `spec` and `status` inside what every object has.
fn object_schema(description: &str, spec: Value, status: Value) -> Value {
    let mut properties = Map::new();
    properties.insert("apiVersion".into(), json!({ "type": "string" }));
    properties.insert("kind".into(), json!({ "type": "string" }));
    properties.insert("metadata".into(), json!({ "type": "object" }));
    properties.insert("spec".into(), spec);
    properties.insert("status".into(), status);
    let mut schema = json!({ "type": "object", "required": ["spec"], "properties": properties });
    if !description.is_empty() {
        schema["description"] = json!(description);
    }
    schema
}

fn column(name: &str, data_type: &str, json_path: &str) -> Value {
    json!({ "name": name, "type": data_type, "jsonPath": json_path })
}
