//! The engine's state as one value, for `/debug/state` and for tests.

use serde::Serialize;

/// A snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EngineState {
    /// Every kind that is served or watched.
    pub kinds: Vec<KindState>,
}

/// One kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KindState {
    /// As `Bucket.s3.aws.crossbridge.dev`.
    pub kind: String,
    /// Objects in the store.
    pub objects: usize,
}
