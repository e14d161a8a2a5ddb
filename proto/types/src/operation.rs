//! Work upstream that outlasts a call.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Rule, Violation, check};

/// What an operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[allow(missing_docs)]
pub enum OperationVerb {
    Create,
    Update,
    Delete,
}

/// Work upstream that outlasts a call, and the handle by which any process can follow it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    /// Opaque, self-contained, not empty, at most 4 KiB, no secrets.
    pub handle: String,
    /// The kind of call that it continues.
    pub verb: OperationVerb,
    /// Polls after this may find it expired; `None`: never.
    pub expire_time: Option<Timestamp>,
    /// Earliest next poll; at most an hour ahead.
    pub poll_after: Option<Duration>,
    /// From 0 to 100; `None`: not reported.
    pub progress_percent: Option<u8>,
    /// `PascalCase` step; empty: not reported.
    pub phase: String,
    /// What is going on, for people; empty: not reported.
    pub message: String,
    /// Whether it moves only when polled.
    pub poll_driven: bool,
    /// The upstream's own id; empty: none.
    pub upstream_operation_id: String,
}

impl Operation {
    /// Checks sizes and forms.
    ///
    /// # Errors
    /// The first field that breaks a rule.
    pub fn check(&self) -> Result<(), Violation> {
        check::required(&self.handle, "handle")?;
        check::at_most(&self.handle, check::STATE_LIMIT, "handle")?;
        check::name(&self.upstream_operation_id, "upstream_operation_id")?;
        if self.progress_percent.is_some_and(|percent| percent > 100) {
            return Err(Violation::new(
                "progress_percent",
                Rule::OutOfRange { range: "0 to 100" },
            ));
        }
        if !self.phase.is_empty() {
            check::pascal_case(&self.phase, "phase")?;
        }
        Ok(())
    }
}
