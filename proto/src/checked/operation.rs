//! Work upstream that outlasts a call.

use std::time::{Duration, SystemTime};

use super::{Rule, Violation, text};
use crate::v1alpha1 as wire;

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

impl Operation {
    /// Checks sizes and forms.
    pub fn check(&self) -> Result<(), Violation> {
        text::required(&self.handle, "handle")?;
        text::at_most(&self.handle, text::STATE_LIMIT, "handle")?;
        if self.progress_percent.is_some_and(|percent| percent > 100) {
            return Err(progress_out_of_range());
        }
        if !self.phase.is_empty() {
            text::pascal_case(&self.phase, "phase")?;
        }
        Ok(())
    }
}

fn progress_out_of_range() -> Violation {
    Violation::new("progress_percent", Rule::OutOfRange { range: "0 to 100" })
}

impl TryFrom<wire::Operation> for Operation {
    type Error = Violation;

    fn try_from(wire: wire::Operation) -> Result<Self, Violation> {
        let operation = Self {
            verb: match wire.verb() {
                wire::OperationVerb::Unspecified => return Err(Violation::new("verb", Rule::Required)),
                wire::OperationVerb::Create => OperationVerb::Create,
                wire::OperationVerb::Update => OperationVerb::Update,
                wire::OperationVerb::Delete => OperationVerb::Delete,
            },
            handle: wire.handle,
            expire_time: text::time(wire.expire_time, "expire_time")?,
            poll_after: text::advice(wire.poll_after, "poll_after")?,
            progress_percent: wire
                .progress_percent
                .map(u8::try_from)
                .transpose()
                .map_err(|_| progress_out_of_range())?,
            phase: wire.phase,
            message: wire.message,
            poll_driven: wire.poll_driven,
            upstream_operation_id: wire.upstream_operation_id,
        };
        operation.check()?;
        Ok(operation)
    }
}

impl From<Operation> for wire::Operation {
    fn from(operation: Operation) -> Self {
        Self {
            handle: operation.handle,
            verb: wire::OperationVerb::from(operation.verb).into(),
            expire_time: operation.expire_time.map(Into::into),
            poll_after: text::wire_duration(operation.poll_after),
            progress_percent: operation.progress_percent.map(i32::from),
            phase: operation.phase,
            message: operation.message,
            poll_driven: operation.poll_driven,
            upstream_operation_id: operation.upstream_operation_id,
        }
    }
}

impl From<OperationVerb> for wire::OperationVerb {
    fn from(verb: OperationVerb) -> Self {
        match verb {
            OperationVerb::Create => Self::Create,
            OperationVerb::Update => Self::Update,
            OperationVerb::Delete => Self::Delete,
        }
    }
}
