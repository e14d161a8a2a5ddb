//! What one response may ask for.

use std::fmt;

use super::super::Strictness;

/// The most that one response, and one request, may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Composed resources of one composite resource.
    pub composed: usize,
    /// Bytes of one desired object, as JSON.
    pub object_bytes: usize,
    /// Maps and lists within each other, the object itself included.
    pub nesting: usize,
    /// Requirements of one response.
    pub requirements: usize,
    /// Objects that are shown in one request because they are required.
    pub required_objects: usize,
    /// Results of one response.
    pub results: usize,
    /// Whether objects that no API server takes are passed on.
    pub strictness: Strictness,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            composed: 2_000,
            object_bytes: 1024 * 1024,
            nesting: 100,
            requirements: 200,
            required_objects: 10_000,
            results: 100,
            strictness: Strictness::Live,
        }
    }
}

/// Which object of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DesiredName {
    /// The composite resource.
    Composite,
    /// The composed resource of this composition resource name.
    Composed(String),
}

impl fmt::Display for DesiredName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Composite => f.write_str("desired composite resource"),
            Self::Composed(name) => write!(f, "desired resource {name:?}"),
        }
    }
}

/// How a response is out of bounds. What is counted stands in the text only where it is the function's own choice.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// [`Limits::composed`].
    #[error(
        "it desires {count} composed resources, more than {limit}: compose fewer, or nest composite resources"
    )]
    Composed {
        /// How many.
        count: usize,
        /// At most.
        limit: usize,
    },
    /// No API server takes it.
    #[error("{object} has no {missing}: the function must set apiVersion and kind")]
    Incomplete {
        /// Which.
        object: DesiredName,
        /// Which field is missing.
        missing: &'static str,
    },
    /// [`Limits::object_bytes`].
    #[error("{object} is larger than {limit} bytes: no API server would store it")]
    Size {
        /// Which.
        object: DesiredName,
        /// At most.
        limit: usize,
    },
    /// [`Limits::nesting`].
    #[error("{object} is nested deeper than {limit} maps and lists")]
    Nesting {
        /// Which.
        object: DesiredName,
        /// At most.
        limit: usize,
    },
    /// [`Limits::requirements`].
    #[error("it requires {count} selections of resources and schemas, more than {limit}: require fewer")]
    Requirements {
        /// How many.
        count: usize,
        /// At most.
        limit: usize,
    },
    /// [`Limits::required_objects`].
    #[error("what it requires selects more than {limit} objects: select by namespace, name or labels")]
    RequiredObjects {
        /// At most.
        limit: usize,
    },
    /// [`Limits::results`].
    #[error("it returned {count} results, more than {limit}: return fewer")]
    Results {
        /// How many.
        count: usize,
        /// At most.
        limit: usize,
    },
}
