//! The CRD of a definition's claims, equal to Crossplane's field by field.

use serde_json::{Map, Value};

use super::{
    column,
    generated::{Generated, status},
    machinery::{choice, delete_policy, reference},
};
use crate::definition::{ClaimTerms, Definition, DefinitionRejected, Side, Terms};

/// The CRD of a definition's claims; `None`: it offers none.
///
/// # Errors
/// [`DefinitionRejected`]: as of [`composite`](super::composite()).
pub fn claim(definition: &Definition, terms: &Terms) -> Result<Option<Value>, DefinitionRejected> {
    let (Some(names), Some(claim)) = (&definition.claim_names, &terms.claim) else {
        return Ok(None);
    };
    let secret = ".spec.writeConnectionSecretToRef.name";
    let generated = Generated {
        side: Side::Claim,
        names,
        category: "claim",
        namespaced: true,
        spec: spec(claim),
        status: status(true),
        columns: vec![column("CONNECTION-SECRET", "string", secret)],
    };
    generated.crd(definition).map(Some)
}

/// The update policy has no default: one would be copied to the composite resource, in place of its own.
fn spec(claim: &ClaimTerms) -> Map<String, Value> {
    let mut machinery = choice(None);
    machinery.insert(
        "compositeDeletePolicy".into(),
        delete_policy(claim.default_delete_policy),
    );
    let composite = ["apiVersion", "kind", "name"];
    machinery.insert("resourceRef".into(), reference(&composite));
    machinery.insert("writeConnectionSecretToRef".into(), reference(&["name"]));
    machinery
}
