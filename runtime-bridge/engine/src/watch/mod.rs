//! Watches: one per (CRD uid, kind, version) in the whole process, supervised, and started and stopped by plan.

/// Keeps a kind watched, and its listener told, until it is dropped.
pub struct Subscription {}
