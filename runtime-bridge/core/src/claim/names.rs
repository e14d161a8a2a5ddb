//! Strings of claims that other programs and people know: to the letter Crossplane's where Crossplane has them.

pub use crate::composite::names::IN_USE;

/// Finalizer of a claim.
pub const FINALIZER: &str = "finalizer.apiextensions.crossplane.io";
/// Annotation: the name of what is outside, which travels both ways.
pub const EXTERNAL_NAME: &str = "crossplane.io/external-name";
/// Field manager of what a claim wants of its composite resource.
pub const CLAIM_MANAGER: &str = "apiextensions.crossplane.io/claim";
/// Annotation of a composite resource: uid of the claim that bound it. A reference has no uid, and another claim may have the name by now.
pub const CLAIM_UID: &str = "crossbridge.dev/claim";
/// Annotations that begin with this speak of one object, as the label of what is in use does.
pub const USAGE_PREFIX: &str = "usage.crossplane.io/";
