//! Work upstream that outlasts a call.

use std::time::{Duration, SystemTime};

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum OperationVerb {
    Create,
    Update,
    Delete,
}

/// Work upstream that outlasts a call, and the handle by which anybody can follow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Opaque, self-contained, not empty, at most 4 KiB, no secrets.
    pub handle: String,
    /// What it does.
    pub verb: OperationVerb,
    /// Polls after this may find it expired.
    pub expire_time: Option<SystemTime>,
    /// Earliest next poll.
    pub poll_after: Option<Duration>,
    /// 0 to 100.
    pub progress_percent: Option<u8>,
    /// `PascalCase` step; empty: not told.
    pub phase: String,
    /// For people; empty: nothing to say.
    pub message: String,
    /// It moves only when polled.
    pub poll_driven: bool,
    /// The upstream's own id; empty: none.
    pub upstream_operation_id: String,
}
