//! Strings of compositions that other programs and people know: to the letter Crossplane's where Crossplane has them.

/// Finalizer of a composite resource.
pub const FINALIZER: &str = "composite.apiextensions.crossplane.io";
/// Label of a composite resource and of what it composes: the name of the root composite resource.
pub const COMPOSITE: &str = "crossplane.io/composite";
/// Label: name of the claim. Set with [`CLAIM_NAMESPACE`] or not at all.
pub const CLAIM_NAME: &str = "crossplane.io/claim-name";
/// Label: namespace of the claim.
pub const CLAIM_NAMESPACE: &str = "crossplane.io/claim-namespace";
/// Annotation of a composed resource: its composition resource name.
pub const RESOURCE_NAME: &str = "crossplane.io/composition-resource-name";

/// Annotation: name of what is outside.
pub const EXTERNAL_NAME: &str = "crossplane.io/external-name";

/// `"true"` pauses.
pub const PAUSED: &str = "crossplane.io/paused";
/// Annotation of a composite resource: Go duration between looks at it though nothing changed.
pub const POLL_INTERVAL: &str = "crossplane.io/poll-interval";
/// Annotation: opaque token. A new one asks for everything to be tried again now.
pub const RECONCILE_REQUESTED: &str = "crossplane.io/reconcile-requested-at";
/// Kubernetes' own finalizer: dependants lose their owner, and stay.
pub const ORPHAN_FINALIZER: &str = "orphan";

/// What all our own annotations begin with: functions and `render` never see them.
pub const OUR_PREFIX: &str = "crossbridge.dev/";
/// Annotation of a composite resource: what its steps required last, see [`requires`](super::requires).
pub const REQUIRES: &str = "crossbridge.dev/requires";
/// Annotation of a composed resource: what was written last, see [`AppliedMark`](super::AppliedMark).
pub const APPLIED: &str = "crossbridge.dev/applied";

/// Annotation of a composite resource that is being deleted: uids of what it composed, or `all/` and its own uid. These are left behind.
pub const RELEASE: &str = "crossbridge.dev/release";
/// Annotation of a composite resource: Go duration after which its deletion is overdue.
pub const DELETION_DEADLINE: &str = "crossbridge.dev/deletion-deadline";
/// Label of what is in use.
pub const IN_USE: &str = "crossplane.io/in-use";

/// Field manager of what is created.
pub const CREATED_MANAGER: &str = "crossbridge.dev/created";
/// Field manager of composite resources, claims and definitions.
pub const CROSSPLANE_MANAGER: &str = "crossplane";
/// What the field managers of composed resources begin with; 64 hex digits follow.
pub const COMPOSED_MANAGER_PREFIX: &str = "apiextensions.crossplane.io/composed/";

/// Reason of the event when a function's namespace gives way to that of the composite resource.
pub const NAMESPACE_OVERRIDDEN: &str = "NamespaceOverridden";
