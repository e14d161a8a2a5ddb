//! Work upstream that outlasts a call.

use std::time::{Duration, SystemTime};

use crossbridge_types as types;
use jiff::Timestamp;

use crate::OperationVerb;

/// Work upstream that outlasts a call, and the handle by which any replica, and the next version, can follow it.
///
/// ```
/// use std::time::Duration;
/// use crossbridge_sdk::Operation;
///
/// let operation = Operation::create("restore:42").poll_after(Duration::from_secs(15)).phase("Copying").progress(40);
/// # let _ = operation;
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Operation(types::Operation);

impl Operation {
    /// An operation that creates. The handle is not empty, has at most 4 KiB, holds no secrets, and stays the same from poll to poll
    /// unless it must change: each change costs the bridge a write. [`handle::encode`](crate::handle::encode) writes one.
    pub fn create(handle: impl Into<String>) -> Self {
        Self::new(OperationVerb::Create, handle)
    }

    /// An operation that updates.
    pub fn update(handle: impl Into<String>) -> Self {
        Self::new(OperationVerb::Update, handle)
    }

    /// An operation that deletes.
    pub fn delete(handle: impl Into<String>) -> Self {
        Self::new(OperationVerb::Delete, handle)
    }

    /// An operation of this verb.
    pub fn new(verb: OperationVerb, handle: impl Into<String>) -> Self {
        Self(types::Operation {
            handle: handle.into(),
            verb,
            expire_time: None,
            poll_after: None,
            progress_percent: None,
            phase: String::new(),
            message: String::new(),
            poll_driven: false,
            upstream_operation_id: String::new(),
        })
    }

    /// Earliest next poll; the bridge takes more than an hour for an hour. Unset: the bridge's choice.
    pub fn poll_after(mut self, after: Duration) -> Self {
        self.0.poll_after = Some(after);
        self
    }

    /// How far it has got, 0 to 100.
    pub fn progress(mut self, percent: u8) -> Self {
        self.0.progress_percent = Some(percent);
        self
    }

    /// The step it is in, in `PascalCase`: a condition's reason.
    pub fn phase(mut self, phase: impl Into<String>) -> Self {
        self.0.phase = phase.into();
        self
    }

    /// Sets what users read of its progress.
    pub fn message(mut self, message: impl Into<String>) -> Self {
        self.0.message = message.into();
        self
    }

    /// Polls after this may answer [`Failure::operation_expired`](crate::Failure::operation_expired); at least 24 h ahead. Unset: never.
    pub fn expires(mut self, at: SystemTime) -> Self {
        // A time beyond the calendar (year 9999) is as good as never.
        self.0.expire_time = Timestamp::try_from(at).ok();
        self
    }

    /// Declares that it moves only when polled.
    pub fn poll_driven(mut self) -> Self {
        self.0.poll_driven = true;
        self
    }

    /// The upstream's own id, for support tickets.
    pub fn upstream_id(mut self, id: impl Into<String>) -> Self {
        self.0.upstream_operation_id = id.into();
        self
    }

    pub(crate) fn into_types(self) -> types::Operation {
        self.0
    }
}
