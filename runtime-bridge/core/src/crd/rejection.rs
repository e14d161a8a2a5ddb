//! Why no CRD can be made for a kind.

use crate::kind::ResourceType;

/// A kind that cannot be served, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("kind {kind} cannot be served: {why}")]
pub struct KindRejected {
    /// Which kind.
    pub kind: ResourceType,
    /// What is wrong with it.
    pub why: Box<Rejection>,
}

/// What is wrong with a kind. Paths are JSON Pointers into the parameters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rejection {
    /// A schema is not of type `object`.
    #[error("its {which} schema is not a structural schema of type object")]
    NotAnObject {
        /// `parameters` or `status`.
        which: &'static str,
    },
    /// A field rule speaks of a field that the schema does not have.
    #[error("it has a rule for the field {path}, which is not in its parameters schema")]
    NoSuchField {
        /// The rule's path.
        path: String,
    },
    /// The field can only be given by reference, which is not served.
    #[error(
        "its field {path} can be given only as a reference to {to} (it is not in the parameters schema itself), and references are not served yet"
    )]
    NeedsReference {
        /// The rule's path.
        path: String,
        /// What it refers to.
        to: ResourceType,
    },
    /// Only strings come from Secrets.
    #[error("its sensitive field {path} is not of type string")]
    SensitiveNotString {
        /// The rule's path.
        path: String,
    },
    /// A sensitive field's reference would take the place of another field.
    #[error("its sensitive field {path} would become {name}, which exists already")]
    NameTaken {
        /// The rule's path.
        path: String,
        /// Name of the reference.
        name: String,
    },
    /// Another rule stands in the way: a merge key or a whole that holds the field.
    #[error("its sensitive field {path} is a key of a list, or lies in another sensitive field")]
    SensitiveMisplaced {
        /// The rule's path.
        path: String,
    },
    /// Old and new value of a field in a list cannot be told apart, unless the list is of type `map`.
    #[error(
        "its field {path} may be set only once, which cannot be enforced in a list that is not x-kubernetes-list-type map"
    )]
    SetOnceInList {
        /// The rule's path.
        path: String,
    },
    /// CEL cannot name the field.
    #[error(
        "its field {path} is required or may be set only once, and CEL cannot name the property {name:?}"
    )]
    NotInCel {
        /// Where the property stands.
        path: String,
        /// Its name.
        name: String,
    },
}
