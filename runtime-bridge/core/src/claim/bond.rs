//! Whose a composite resource is, as a claim sees it.

use serde_json::Value;

use super::{names, object::Claim};
use crate::{composite::LiveObject, rule::Rule};

/// Whose a composite resource is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bond {
    /// The claim's.
    Ours,
    /// A former claim's of the same namespace and name.
    Former,
    /// Nobody's.
    None,
    /// Of the claim of this name.
    Others(String),
}

impl Bond {
    /// By the reference of the composite resource, and by the uid of who bound it, if that is known.
    pub fn of(claim: &Claim, xr: &LiveObject) -> Self {
        // What composes it would set it back without end, and deletes it: no claim's, whatever it refers to.
        if xr.controller().is_some() {
            return Self::None;
        }
        let reference = &xr.object()["spec"]["claimRef"];
        if reference.is_null() {
            return Self::None;
        }
        let text = |field: &str| reference[field].as_str().unwrap_or_default();
        let is_same = (text("kind"), text("namespace"), text("name"))
            == (claim.kind(), claim.namespace(), claim.name())
            && group(text("apiVersion")) == group(claim.api_version());
        if !is_same && !Rule::OthersCompositeIsLeftAlone.is_off() {
            return Self::Others(text("name").to_owned());
        }
        match xr.annotation(names::CLAIM_UID) {
            Some(uid) if uid != claim.uid() && !Rule::FormerClaimIsAnother.is_off() => Self::Former,
            _ => Self::Ours,
        }
    }
}

/// How a composite resource names a claim.
pub(super) fn reference(claim: &Claim) -> Value {
    serde_json::json!({
        "apiVersion": claim.api_version(),
        "kind": claim.kind(),
        "namespace": claim.namespace(),
        "name": claim.name(),
    })
}

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::claim::sample::{claim, xr};

    #[test]
    fn a_bond_is_of_kind_namespace_name_and_uid() {
        let with = |pointer: &str, value: Value| {
            let mut xr = xr();
            *xr.object_mut().pointer_mut(pointer).unwrap() = value;
            Bond::of(&claim(), &xr)
        };
        assert_eq!(Bond::of(&claim(), &xr()), Bond::Ours);
        // Another version of the kind is the same kind.
        assert_eq!(
            with("/spec/claimRef/apiVersion", json!("shop.example.org/v2")),
            Bond::Ours
        );
        assert_eq!(with("/spec/claimRef", Value::Null), Bond::None);
        for (field, value) in [
            ("apiVersion", "other.example.org/v1"),
            ("kind", "Other"),
            ("namespace", "other"),
        ] {
            let bond = with(&format!("/spec/claimRef/{field}"), json!(value));
            assert_eq!(bond, Bond::Others("shop".to_owned()), "{field}");
        }
        assert_eq!(
            with("/spec/claimRef/name", json!("b")),
            Bond::Others("b".to_owned())
        );
        let annotations = "/metadata/annotations";
        assert_eq!(
            with(annotations, json!({names::CLAIM_UID: "another"})),
            Bond::Former
        );
        let composed =
            json!([{"apiVersion": "v1", "kind": "Parent", "name": "p", "uid": "p", "controller": true}]);
        let mut nested = xr();
        nested.object_mut()["metadata"]["ownerReferences"] = composed;
        assert_eq!(Bond::of(&claim(), &nested), Bond::None);
        // Crossplane notes no uid.
        assert_eq!(with(annotations, json!({})), Bond::Ours);
    }
}
