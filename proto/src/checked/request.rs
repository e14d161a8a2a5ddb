//! What a plugin is asked about one resource.

use super::{Document, Secrets, Target, Violation, document, nested, text};
use crate::v1alpha1 as wire;

/// What the user asked for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Desired {
    /// The whole wish, without secrets.
    pub parameters: Document,
    /// JSON Pointer into `parameters` -> value that was read from a Secret.
    pub sensitive_values: Secrets<String>,
}

impl TryFrom<wire::DesiredState> for Desired {
    type Error = Violation;

    fn try_from(wire: wire::DesiredState) -> Result<Self, Violation> {
        let mut pointers: Vec<&str> = wire.sensitive_values.keys().map(String::as_str).collect();
        pointers.sort_unstable();
        for pointer in pointers {
            text::pointer(pointer, &format!("sensitive_values[{pointer:?}]"))?;
        }
        Ok(Self {
            parameters: document::required(wire.parameters, "parameters")?,
            sensitive_values: wire.sensitive_values.into(),
        })
    }
}

impl From<Desired> for wire::DesiredState {
    fn from(desired: Desired) -> Self {
        Self {
            parameters: Some(wire::Document::of(desired.parameters)),
            sensitive_values: desired.sensitive_values.into(),
        }
    }
}

/// Look.
#[derive(Debug, Clone, PartialEq)]
pub struct Observe {
    /// At what.
    pub target: Target,
    /// For comparison and for derived names.
    pub desired: Desired,
}

impl TryFrom<wire::ObserveRequest> for Observe {
    type Error = Violation;

    fn try_from(wire: wire::ObserveRequest) -> Result<Self, Violation> {
        Ok(Self {
            target: nested::required(wire.target, "target")?,
            desired: nested::required(wire.desired, "desired")?,
        })
    }
}

impl From<Observe> for wire::ObserveRequest {
    fn from(observe: Observe) -> Self {
        Self {
            target: Some(observe.target.into()),
            desired: Some(observe.desired.into()),
        }
    }
}

/// Make.
#[derive(Debug, Clone, PartialEq)]
pub struct Create {
    /// Where and for whom.
    pub target: Target,
    /// What.
    pub desired: Desired,
    /// A UUID that the bridge stored before.
    pub client_request_token: String,
    /// How an earlier call with this token ended is not known.
    pub outcome_unknown: bool,
}

impl TryFrom<wire::CreateRequest> for Create {
    type Error = Violation;

    fn try_from(wire: wire::CreateRequest) -> Result<Self, Violation> {
        text::uuid(&wire.client_request_token, "client_request_token")?;
        Ok(Self {
            target: nested::required(wire.target, "target")?,
            desired: nested::required(wire.desired, "desired")?,
            client_request_token: wire.client_request_token,
            outcome_unknown: wire.outcome_unknown,
        })
    }
}

impl From<Create> for wire::CreateRequest {
    fn from(create: Create) -> Self {
        Self {
            target: Some(create.target.into()),
            desired: Some(create.desired.into()),
            client_request_token: create.client_request_token,
            outcome_unknown: create.outcome_unknown,
        }
    }
}

/// Change in place.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// What; its external name is not empty.
    pub target: Target,
    /// Into what.
    pub desired: Desired,
    /// JSON Pointers that were found to differ.
    pub changed_paths: Vec<String>,
    /// From the last observation; empty: none.
    pub etag: String,
}

impl TryFrom<wire::UpdateRequest> for Update {
    type Error = Violation;

    fn try_from(wire: wire::UpdateRequest) -> Result<Self, Violation> {
        let target: Target = nested::required(wire.target, "target")?;
        text::required(&target.external_name, "target.external_name")?;
        for (index, path) in wire.changed_paths.iter().enumerate() {
            text::pointer(path, &format!("changed_paths[{index}]"))?;
        }
        Ok(Self {
            target,
            desired: nested::required(wire.desired, "desired")?,
            changed_paths: wire.changed_paths,
            etag: wire.etag,
        })
    }
}

impl From<Update> for wire::UpdateRequest {
    fn from(update: Update) -> Self {
        Self {
            target: Some(update.target.into()),
            desired: Some(update.desired.into()),
            changed_paths: update.changed_paths,
            etag: update.etag,
        }
    }
}

/// Remove.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// What; its external name is not empty.
    pub target: Target,
    /// Last known wish.
    pub desired: Option<Desired>,
    /// From the last observation; empty: none.
    pub etag: String,
}

impl TryFrom<wire::DeleteRequest> for Delete {
    type Error = Violation;

    fn try_from(wire: wire::DeleteRequest) -> Result<Self, Violation> {
        let target: Target = nested::required(wire.target, "target")?;
        text::required(&target.external_name, "target.external_name")?;
        Ok(Self {
            target,
            desired: nested::optional(wire.desired, "desired")?,
            etag: wire.etag,
        })
    }
}

impl From<Delete> for wire::DeleteRequest {
    fn from(delete: Delete) -> Self {
        Self {
            target: Some(delete.target.into()),
            desired: delete.desired.map(Into::into),
            etag: delete.etag,
        }
    }
}

/// Follow an operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Poll {
    /// Of what.
    pub target: Target,
    /// As stored; not empty, at most 4 KiB.
    pub handle: String,
    /// Today's wish.
    pub desired: Option<Desired>,
}

impl TryFrom<wire::PollOperationRequest> for Poll {
    type Error = Violation;

    fn try_from(wire: wire::PollOperationRequest) -> Result<Self, Violation> {
        text::required(&wire.handle, "handle")?;
        text::at_most(&wire.handle, text::STATE_LIMIT, "handle")?;
        Ok(Self {
            target: nested::required(wire.target, "target")?,
            handle: wire.handle,
            desired: nested::optional(wire.desired, "desired")?,
        })
    }
}

impl From<Poll> for wire::PollOperationRequest {
    fn from(poll: Poll) -> Self {
        Self {
            target: Some(poll.target.into()),
            handle: poll.handle,
            desired: poll.desired.map(Into::into),
        }
    }
}
