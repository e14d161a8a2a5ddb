//! What is wrong with a desired object.

use super::object_id::ObjectId;

/// Why a desired object cannot be written, as a whole sentence. The others are.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DesiredError {
    /// No API server takes it.
    #[error(
        "cannot apply composed resource {resource_name:?}: it has no {missing}: the function that desires it must set apiVersion and kind"
    )]
    Incomplete {
        /// Composition resource name.
        resource_name: String,
        /// Which field is missing.
        missing: &'static str,
    },
    /// A namespaced composite resource composes nothing outside of its namespace.
    #[error(
        "cannot apply cluster scoped composed resource {resource_name:?} (a {kind} named {name}) for a namespaced composite resource."
    )]
    ClusterScoped {
        /// Composition resource name.
        resource_name: String,
        /// Its kind.
        kind: String,
        /// Its name, as far as it is known.
        name: String,
    },
    /// A cluster-scoped composite resource lends no namespace.
    #[error(
        "cannot apply composed resource {resource_name:?} (a {kind} named {name}) without a namespace: the function that desires it must set metadata.namespace, as the composite resource has none"
    )]
    NamespaceMissing {
        /// Composition resource name.
        resource_name: String,
        /// Its kind.
        kind: String,
        /// Its name, as far as it is known.
        name: String,
    },
    /// The namespace is none.
    #[error(
        "cannot apply composed resource {resource_name:?} because it has an invalid namespace {namespace:?}. Must be a valid RFC 1123 label."
    )]
    InvalidNamespace {
        /// Composition resource name.
        resource_name: String,
        /// The namespace.
        namespace: String,
    },
    /// The name is none.
    #[error(
        "cannot apply composed resource {resource_name:?} because it has an invalid name {name:?}. Must be a valid RFC 1123 subdomain name."
    )]
    InvalidName {
        /// Composition resource name.
        resource_name: String,
        /// The name.
        name: String,
    },
    /// A function desires another controller.
    #[error(
        "cannot apply composed resource {resource_name:?}: cannot set controller reference: {name} is already controlled by {kind} {owner} (UID {uid})"
    )]
    OtherController {
        /// Composition resource name.
        resource_name: String,
        /// Name of the composed resource; "it": it has none yet.
        name: String,
        /// Kind of the other controller.
        kind: String,
        /// Its name.
        owner: String,
        /// Its uid.
        uid: String,
    },
    /// It would own itself.
    #[error(
        "cannot apply composed resource {resource_name:?}: it is the composite resource itself: the function that desires it must return it as desired composite, or under another name"
    )]
    Itself {
        /// Composition resource name.
        resource_name: String,
    },
    /// Several composition resource names mean one object.
    #[error(
        "cannot apply composed resource {resource_name:?}: {id} is desired as {} too: give it one composition resource name, or each its own metadata.name",
        quoted(others)
    )]
    SameObject {
        /// Composition resource name.
        resource_name: String,
        /// The object.
        id: Box<ObjectId>,
        /// The other names.
        others: Vec<String>,
    },
}

fn quoted(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    quoted.join(", ")
}

/// What people are told of an object that is written nevertheless.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DesiredWarning {
    /// Event [`names::NAMESPACE_OVERRIDDEN`].
    #[error(
        "cannot create composed resource {resource_name:?} in namespace {desired:?}, using XR namespace {used:?} instead"
    )]
    NamespaceOverridden {
        /// Composition resource name.
        resource_name: String,
        /// What the function says.
        desired: String,
        /// The composite resource's.
        used: String,
    },
}
