//! Definitions of composite resources: what a `CompositeResourceDefinition` (XRD) says, and the terms of the type that it defines.
//!
//! A definition is read as `apiextensions.crossplane.io/v1`, in which both of its versions are stored. The CRDs that follow from it are
//! made in [`crate::crd`].

mod fields;
mod rejection;
mod standing;
pub mod teardown;
mod terms;
#[cfg(test)]
mod tests;

pub use self::{
    fields::{Definition, DefinitionVersion, DeletePolicy, ExtraMetadata, Names, Scope, UpdatePolicy},
    rejection::{DefinitionRejected, Side},
    standing::{SideState, Standing},
    terms::{ClaimTerms, Machinery, Terms, readable_version},
};

/// API group of definitions, compositions and revisions.
pub const GROUP: &str = "apiextensions.crossplane.io";

/// API group and version in which definitions, compositions and revisions are read, and named as owners.
pub const API_VERSION: &str = "apiextensions.crossplane.io/v1";

/// Kind of a definition.
pub const KIND: &str = "CompositeResourceDefinition";

/// Plural of the kind of a definition.
pub const PLURAL: &str = "compositeresourcedefinitions";

/// Finalizer of a definition: its composite resources, and their CRD, go before it.
pub const DEFINED_FINALIZER: &str = "defined.apiextensions.crossplane.io";

/// Finalizer of a definition with claims: they, and their CRD, go before it.
pub const OFFERED_FINALIZER: &str = "offered.apiextensions.crossplane.io";
