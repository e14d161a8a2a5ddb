//! What a plugin can answer.

mod listed;
mod observed;
mod operation;
mod outcome;

pub use listed::{Listed, ListedItem};
pub use observed::{Observation, Observed};
pub use operation::Operation;
pub use outcome::Outcome;

/// Not an error, worth an event on the Kubernetes object.
#[derive(Debug, Clone)]
pub(crate) struct Warning {
    pub(crate) reason: String,
    pub(crate) message: String,
}
