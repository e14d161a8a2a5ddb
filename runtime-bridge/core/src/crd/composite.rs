//! The CRD of a definition's composite resources, equal to Crossplane's field by field.

use serde_json::{Map, Value, json};

use super::{
    column,
    generated::{Generated, status},
    machinery::{choice, fields, reference, resource_refs},
};
use crate::definition::{Definition, DefinitionRejected, Side, Terms};

/// The CRD of a definition's composite resources. It bears no mark but the owner reference of the definition.
///
/// # Errors
/// [`DefinitionRejected`]: a version without a schema, or one that is none. Whether it is a structural one is left to the API server.
pub fn composite(definition: &Definition, terms: &Terms) -> Result<Value, DefinitionRejected> {
    let path = terms.machinery.path().join(".");
    let revision = format!(".{path}.compositionRevisionRef.name");
    let mut of_revision = column("COMPOSITIONREVISION", "string", &revision);
    of_revision["priority"] = json!(1);
    let generated = Generated {
        side: Side::Composite,
        names: &definition.names,
        category: "composite",
        namespaced: terms.is_namespaced(),
        spec: spec(terms),
        status: status(terms.is_legacy()),
        columns: vec![
            column("COMPOSITION", "string", &format!(".{path}.compositionRef.name")),
            of_revision,
        ],
    };
    generated.crd(definition)
}

fn spec(terms: &Terms) -> Map<String, Value> {
    let mut machinery = choice(terms.default_update_policy);
    machinery.insert("resourceRefs".into(), resource_refs(!terms.is_namespaced()));
    if terms.is_legacy() {
        let claim = ["apiVersion", "kind", "namespace", "name"];
        machinery.insert("claimRef".into(), reference(&claim));
        let secret = ["name", "namespace"];
        machinery.insert("writeConnectionSecretToRef".into(), reference(&secret));
        return machinery;
    }
    fields([(
        "crossplane",
        json!({
            "type": "object",
            "description": "Configures how Crossplane will reconcile this composite resource",
            "properties": machinery,
        }),
    )])
}
