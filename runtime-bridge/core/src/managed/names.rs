//! Strings that other programs and people know: to the letter Crossplane's where Crossplane has them.

/// Finalizer of a managed resource (crossplane-runtime).
pub const FINALIZER: &str = "finalizer.managedresource.crossplane.io";
/// Name in the external system.
pub const EXTERNAL_NAME: &str = "crossplane.io/external-name";
/// RFC 3339 seconds: a create of a cloud-named kind is about to be sent.
pub const CREATE_PENDING: &str = "crossplane.io/external-create-pending";
/// RFC 3339 seconds: it is confirmed.
pub const CREATE_SUCCEEDED: &str = "crossplane.io/external-create-succeeded";
/// RFC 3339 seconds: it certainly had no effect.
pub const CREATE_FAILED: &str = "crossplane.io/external-create-failed";
/// `"true"` pauses.
pub const PAUSED: &str = "crossplane.io/paused";
/// Go duration between drift polls.
pub const POLL_INTERVAL: &str = "crossplane.io/poll-interval";
/// Opaque token: reconcile now.
pub const RECONCILE_REQUESTED: &str = "crossplane.io/reconcile-requested-at";
/// Our record: what must survive.
pub const RECORD: &str = "crossbridge.dev/record";
/// A person's answer to `CreateOutcomeUnknown`: `absent/<question>` or `exists/<question>/<name>`.
pub const CREATE_OUTCOME: &str = "crossbridge.dev/create-outcome";
/// A person's word that a resource is ours: its marker, else its name.
pub const ADOPT: &str = "crossbridge.dev/adopt";
/// A person's word that this generation may replace the resource.
pub const APPROVE_REPLACEMENT: &str = "crossbridge.dev/approve-replacement";
/// A person's word that the object of this uid may go without its resource.
pub const ORPHAN: &str = "crossbridge.dev/orphan";

/// Kubernetes' own finalizers, which wait for nobody we could wait for.
pub const GARBAGE_COLLECTION_FINALIZERS: [&str; 2] = ["foregroundDeletion", "orphan"];
