//! Compositions and their revisions: what a revision holds, when one is made, adopted, renumbered or collected, and whether its functions can compose.

mod content;
mod objects;
mod plan;
#[cfg(test)]
mod tests;
mod valid_pipeline;

pub use self::{
    content::Content,
    objects::{Composition, Revision, TypeRef, Validity},
    plan::{Collection, RevisionStep, RevisionUpdate, plan},
    valid_pipeline::{ActiveFunction, PipelineCheck, check_pipeline},
};

/// Kind of a composition.
pub const COMPOSITION: &str = "Composition";

/// Kind of a revision.
pub const COMPOSITION_REVISION: &str = "CompositionRevision";

/// Label of a revision: name of its composition.
pub const COMPOSITION_NAME: &str = "crossplane.io/composition-name";

/// Label of a revision: the beginning of the digest of its content, by whoever made it.
pub const COMPOSITION_HASH: &str = "crossplane.io/composition-hash";
