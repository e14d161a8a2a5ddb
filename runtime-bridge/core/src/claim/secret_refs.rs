//! Which connection Secret is copied, and where to.

use super::object::Claim;
use crate::composite::LiveObject;

/// The Secret of a composite resource and the one that its claim wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretRefs {
    /// Namespace of the composite resource's.
    pub source_namespace: String,
    /// Its name.
    pub source: String,
    /// Name of the claim's, in the claim's namespace.
    pub target: String,
}

impl SecretRefs {
    /// `None`: one of the two has none.
    pub fn of(claim: &Claim, xr: &LiveObject) -> Option<Self> {
        let of_xr = &xr.object()["spec"]["writeConnectionSecretToRef"];
        let text =
            |value: &serde_json::Value| Some(value.as_str()?.to_owned()).filter(|text| !text.is_empty());
        Some(Self {
            source_namespace: text(&of_xr["namespace"])?,
            source: text(&of_xr["name"])?,
            target: text(&claim.spec()["writeConnectionSecretToRef"]["name"])?,
        })
    }
}

/// How the two are known; `None`: there is no such Secret, or nobody watches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SecretVersions {
    /// Version of the composite resource's.
    pub source: Option<u64>,
    /// Version of the claim's.
    pub target: Option<u64>,
}
