//! Definitions of composite resources: what a `CompositeResourceDefinition` (XRD) says, and the terms of the type that it defines.
//!
//! A definition is read as `apiextensions.crossplane.io/v1`, in which both of its versions are stored. The CRDs that follow from it are
//! made in [`crate::crd`].

mod fields;
mod rejection;
mod terms;
#[cfg(test)]
mod tests;

pub use self::{
    fields::{Definition, DefinitionVersion, DeletePolicy, ExtraMetadata, Names, Scope, UpdatePolicy},
    rejection::{DefinitionRejected, Side},
    terms::{ClaimTerms, Machinery, Terms},
};

/// API group of definitions, compositions and revisions.
pub const GROUP: &str = "apiextensions.crossplane.io";

/// API group and version in which definitions, compositions and revisions are read, and named as owners.
pub const API_VERSION: &str = "apiextensions.crossplane.io/v1";

/// Kind of a definition.
pub const KIND: &str = "CompositeResourceDefinition";
