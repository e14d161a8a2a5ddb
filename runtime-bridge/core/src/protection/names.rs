//! Strings of usages that other programs and people know: to the letter Crossplane's where Crossplane has them.

pub use crate::composite::names::IN_USE;

/// Finalizer of a usage.
pub const FINALIZER: &str = "usage.apiextensions.crossplane.io";
/// Annotation of a usage: what uses what, or why; shown as a column.
pub const DETAILS: &str = "crossplane.io/usage-details";
/// Annotation of a usage: the objects that it is about, by uid, see [`Record`](super::Record).
pub const RECORD: &str = "crossbridge.dev/usage";
/// Annotation of a used object: by what it is in use, for people; whoever refuses its deletion shows it.
pub const IN_USE_BY: &str = "crossbridge.dev/in-use-by";
/// Annotation of a used object: uids of the usages that hold its label, separated by commas.
pub const HELD_BY: &str = "crossbridge.dev/in-use-held-by";
/// Annotation of a used object: uid of a usage that lets it go. It makes another version of the object, and is taken off again.
pub const LET_GO_BY: &str = "crossbridge.dev/in-use-let-go-by";
/// Annotation of a used object: the propagation policy of the last deletion that was refused.
pub const ATTEMPT: &str = "usage.crossplane.io/deletion-attempt-with-policy";
/// Annotation of a used object: when that was (RFC 3339). An attempt without a time is never repeated.
pub const ATTEMPTED_AT: &str = "crossbridge.dev/deletion-attempted-at";

/// Group of usages.
pub const GROUP: &str = "protection.crossplane.io";
/// Group of legacy usages.
pub const LEGACY_GROUP: &str = "apiextensions.crossplane.io";
