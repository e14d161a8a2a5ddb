//! Work upstream that outlasts a call.

use crossbridge_types::{Operation, OperationVerb, Rule, Violation, limits};

use super::scalar;
use crate::v1alpha1 as wire;

impl TryFrom<wire::Operation> for Operation {
    type Error = Violation;

    fn try_from(wire: wire::Operation) -> Result<Self, Violation> {
        let operation =
            Self {
                verb: match wire.verb() {
                    wire::OperationVerb::Unspecified => return Err(Violation::new("verb", Rule::Required)),
                    wire::OperationVerb::Create => OperationVerb::Create,
                    wire::OperationVerb::Update => OperationVerb::Update,
                    wire::OperationVerb::Delete => OperationVerb::Delete,
                },
                handle: wire.handle,
                expire_time: scalar::time(wire.expire_time, "expire_time")?,
                poll_after: scalar::advice(wire.poll_after, "poll_after")?,
                progress_percent: wire.progress_percent.map(u8::try_from).transpose().map_err(|_| {
                    Violation::new("progress_percent", Rule::OutOfRange { range: "0 to 100" })
                })?,
                phase: wire.phase,
                message: limits::cut(wire.message),
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
            expire_time: scalar::wire_time(operation.expire_time),
            poll_after: scalar::wire_duration(operation.poll_after),
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
