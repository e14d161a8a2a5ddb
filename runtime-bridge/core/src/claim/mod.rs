//! Claims: which composite resource a claim has, what of the two crosses to the other, and what is to be written for it.
//!
//! Each module imports those below it alone:
//!
//! ```text
//! machine                               the decisions as the driver runs them
//! decide  steps/*                       the order of one reconcile
//! results  outcome                      what came of an action, what a step may end with
//! standing  status                      what the claim says of itself
//! write  bind                           what of the composite resource the claim takes, and the other way round
//! blocked                               what keeps it from deleting its composite resource
//! rules  facts                          predicates, and what follows from a snapshot alone
//! decision  snapshot  memory            what is decided, from what
//! candidates  bond                      names of a composite resource, and whose it is
//! body  object  secret_refs  names      data
//! ```

mod bind;
mod blocked;
#[cfg(test)]
mod blocked_tests;
mod body;
mod bond;
mod candidates;
mod decide;
#[cfg(test)]
mod decide_tests;
mod decision;
mod facts;
mod machine;
mod memory;
pub mod names;
mod object;
mod outcome;
mod results;
mod rules;
#[cfg(test)]
mod sample;
mod secret_refs;
mod snapshot;
mod standing;
mod status;
mod steps;
mod write;

pub use body::CompositeBody;
pub use bond::Bond;
pub use candidates::{bound_elsewhere, candidates, is_taken};
pub use decide::decide;
pub use decision::{Action, ClaimWrite, CompositeChange, CompositeDeletion, StatusWrite};
pub use machine::{Additions, ClaimMachine};
pub use memory::ClaimMemory;
pub use object::Claim;
pub use results::{Performed, Propagated, PropagationFailure};
pub use secret_refs::{SecretRefs, SecretVersions};
pub use snapshot::Snapshot;
