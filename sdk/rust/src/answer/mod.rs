//! What a plugin can answer.

mod listed;
mod observed;
mod operation;
mod outcome;

pub use listed::{Listed, ListedItem};
pub use observed::{Observation, Observed};
pub use operation::Operation;
pub use outcome::Outcome;
pub(crate) use outcome::OutcomeResult;
