//! What one response may ask for.

use std::fmt;

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
    /// Conditions of one response.
    pub conditions: usize,
    /// Bytes of a condition's type.
    pub condition_type_bytes: usize,
    /// Bytes of a composition resource name.
    pub resource_name_bytes: usize,
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
            conditions: 100,
            // As much as Kubernetes allows its own conditions.
            condition_type_bytes: 316,
            resource_name_bytes: 1024,
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

/// Bytes that a message shows of a name that is too long.
const SHOWN: usize = 64;

/// The beginning of a name that is too long: a status that held all of it might be too large to be stored.
pub(super) fn beginning(name: &str) -> String {
    if name.len() <= SHOWN {
        return name.to_owned();
    }
    let end = name.floor_char_boundary(SHOWN - '…'.len_utf8());
    format!("{}…", &name[..end])
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
    /// [`Limits::conditions`].
    #[error("it returned {count} conditions, more than {limit}: return fewer")]
    Conditions {
        /// How many.
        count: usize,
        /// At most.
        limit: usize,
    },
    /// Conditions are told apart by their types.
    #[error("it returned a condition with an empty type: the function must set it")]
    EmptyConditionType,
    /// [`Limits::condition_type_bytes`].
    #[error("it returned a condition of type {beginning:?}, longer than {limit} bytes: shorten the type")]
    ConditionType {
        /// Beginning of the type.
        beginning: String,
        /// At most.
        limit: usize,
    },
    /// An object composed under it would read as one without a composition resource name.
    #[error("it desires a resource with an empty composition resource name: the function must name it")]
    EmptyResourceName,
    /// [`Limits::resource_name_bytes`].
    #[error(
        "it desires a resource of composition resource name {beginning:?}, longer than {limit} bytes: shorten the name"
    )]
    ResourceName {
        /// Beginning of the name.
        beginning: String,
        /// At most.
        limit: usize,
    },
}
