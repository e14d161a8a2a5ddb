//! Requests about one resource.
//!
//! A deadline travels in the metadata of a call: read from the wire, a [`Call`] has the last time there is, until its receiver sets it.

use crossbridge_types::{Call, DesiredState, Observe, Target, Verb, Violation};
use jiff::Timestamp;

use super::nested;
use crate::v1alpha1 as wire;

impl TryFrom<wire::ObserveRequest> for Observe {
    type Error = Violation;

    fn try_from(wire: wire::ObserveRequest) -> Result<Self, Violation> {
        Ok(Self {
            target: nested::required(wire.target, "target")?,
            desired: nested::required(wire.desired, "desired")?,
        })
    }
}

impl wire::ObserveRequest {
    /// The wire form of a request to observe.
    ///
    /// # Errors
    /// A sensitive value that is no text.
    pub fn of(target: &Target, desired: &DesiredState) -> Result<Self, Violation> {
        Ok(Self {
            target: Some(target.into()),
            desired: Some(wire_desired(desired)?),
        })
    }
}

/// A call of this verb, with what every request has.
fn call(verb: Verb, target: Option<wire::Target>, desired: Option<DesiredState>) -> Result<Call, Violation> {
    Ok(Call::new(
        verb,
        nested::required(target, "target")?,
        desired.unwrap_or_default(),
        Timestamp::MAX,
    ))
}

fn required(desired: Option<wire::DesiredState>) -> Result<Option<DesiredState>, Violation> {
    nested::required(desired, "desired").map(Some)
}

fn optional(desired: Option<wire::DesiredState>) -> Result<Option<DesiredState>, Violation> {
    nested::optional(desired, "desired")
}

fn checked(call: Call) -> Result<Call, Violation> {
    call.check()?;
    Ok(call)
}

fn wire_desired(desired: &DesiredState) -> Result<wire::DesiredState, Violation> {
    wire::DesiredState::try_from(desired).map_err(|violation| violation.within("desired"))
}

impl TryFrom<wire::CreateRequest> for Call {
    type Error = Violation;

    fn try_from(wire: wire::CreateRequest) -> Result<Self, Violation> {
        checked(Self {
            token: wire.client_request_token,
            outcome_unknown: wire.outcome_unknown,
            ..call(Verb::Create, wire.target, required(wire.desired)?)?
        })
    }
}

impl TryFrom<&Call> for wire::CreateRequest {
    type Error = Violation;

    fn try_from(call: &Call) -> Result<Self, Violation> {
        Ok(Self {
            target: Some((&call.target).into()),
            desired: Some(wire_desired(&call.desired)?),
            client_request_token: call.token.clone(),
            outcome_unknown: call.outcome_unknown,
        })
    }
}

impl TryFrom<wire::UpdateRequest> for Call {
    type Error = Violation;

    fn try_from(wire: wire::UpdateRequest) -> Result<Self, Violation> {
        checked(Self {
            changed_paths: wire.changed_paths,
            etag: wire.etag,
            ..call(Verb::Update, wire.target, required(wire.desired)?)?
        })
    }
}

impl TryFrom<&Call> for wire::UpdateRequest {
    type Error = Violation;

    fn try_from(call: &Call) -> Result<Self, Violation> {
        Ok(Self {
            target: Some((&call.target).into()),
            desired: Some(wire_desired(&call.desired)?),
            changed_paths: call.changed_paths.clone(),
            etag: call.etag.clone(),
        })
    }
}

impl TryFrom<wire::DeleteRequest> for Call {
    type Error = Violation;

    fn try_from(wire: wire::DeleteRequest) -> Result<Self, Violation> {
        checked(Self {
            etag: wire.etag,
            ..call(Verb::Delete, wire.target, optional(wire.desired)?)?
        })
    }
}

impl TryFrom<&Call> for wire::DeleteRequest {
    type Error = Violation;

    fn try_from(call: &Call) -> Result<Self, Violation> {
        Ok(Self {
            target: Some((&call.target).into()),
            desired: Some(wire_desired(&call.desired)?),
            etag: call.etag.clone(),
        })
    }
}

impl TryFrom<wire::PollOperationRequest> for Call {
    type Error = Violation;

    fn try_from(wire: wire::PollOperationRequest) -> Result<Self, Violation> {
        checked(Self {
            handle: wire.handle,
            ..call(Verb::Poll, wire.target, optional(wire.desired)?)?
        })
    }
}

impl TryFrom<&Call> for wire::PollOperationRequest {
    type Error = Violation;

    fn try_from(call: &Call) -> Result<Self, Violation> {
        Ok(Self {
            target: Some((&call.target).into()),
            handle: call.handle.clone(),
            desired: Some(wire_desired(&call.desired)?),
        })
    }
}
