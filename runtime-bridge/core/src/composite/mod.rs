//! Composite resources: what they are to compose, and what of it is to be written.
//!
//! Each module imports those below it alone:
//!
//! ```text
//! pipeline/*                                    runs the functions of a composition, without I/O
//! desired                                       composed resources from what the functions desire
//! present  requires  name                       comparison, stored requirements, names
//! digest                                        equality of content
//! desired_error  object_id  strictness  names    data
//! ```

mod choose;
#[cfg(test)]
mod choose_tests;
mod desired;
mod desired_error;
mod digest;
mod name;
pub mod names;
mod object_id;
mod pipeline;
mod present;
pub mod requires;
#[cfg(test)]
mod sample;
mod strictness;

pub use choose::{
    Choice, ChoiceChange, ChoiceEvent, Chosen, Library, Missing, Preferences, Selected, choose,
};
pub use desired::{
    ComposedResource, CompositeIdentity, DesiredContext, DesiredResources, ObservedName, Scope,
    desired_resources,
};
pub use desired_error::{DesiredError, DesiredWarning};
pub use digest::{AppliedMark, BodyDigest, ContentDigest, Written, for_functions};
pub use name::{child_name, composed_manager, is_valid_name, is_valid_namespace};
pub use object_id::ObjectId;
pub use pipeline::{
    CredentialSpec, Found, Limits, Lookup, Next, Pipeline, PipelineSpec, PipelineSpecError, RunFailure,
    RunInput, RunOutcome, StepFailure, StepResult, StepSpec, Violation,
};
pub use present::{Difference, Seen, differences};
pub use requires::StepRequirements;
pub use strictness::Strictness;
