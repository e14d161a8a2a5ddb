//! Polling an operation. AWS finishes it by itself, except for what only a finished table allows.

use std::time::SystemTime;

use aws_sdk_dynamodb::types::TableStatus as Status;
use crossbridge_sdk::{Call, Failure, FailureCode, Observation, OperationVerb, Outcome, Poll};

use super::{TableHandle, in_progress};
use crate::context::CallContext;
use crate::services::dynamodb::kind::Table;
use crate::services::dynamodb::model::TableParameters;
use crate::services::dynamodb::read::{ObservedTable, ReadScope, context_in, describe, read, read_described};
use crate::services::dynamodb::write::{features, plan};
use crate::session::Sessions;
use crate::tags::Ownership;

pub(in crate::services::dynamodb) async fn poll(
    sessions: &Sessions,
    call: &Call,
    poll: &Poll<TableParameters>,
) -> Result<Outcome<Table>, Failure> {
    let handle = &TableHandle::decode(&poll.handle, &call.target.external_name)?;
    let context = &context_in(sessions, call, handle.details.region.as_deref()).await?;
    let desired = poll.desired.parameters.as_ref();
    let is_deletion = handle.verb() == OperationVerb::Delete;
    let operation = &handle.details;
    // Another table may have the name now.
    let description = describe(context, &handle.name).await?;
    let Some(description) = description.filter(|description| operation.is_on(description)) else {
        return match handle.verb() {
            OperationVerb::Delete => Ok(Outcome::completed()),
            _ if operation.is_recent(SystemTime::now()) => Ok(in_progress(context, handle)),
            _ => {
                let message = format!("the table {:?} was deleted during the operation", handle.name);
                Err(Failure::operation_failed(message).reason("Deleted"))
            }
        };
    };
    if is_deletion && description.table_status() == Some(&Status::Deleting) {
        // It is known by its id; its tags may be gone already.
        return Ok(in_progress(context, handle));
    }
    let scope = if is_deletion {
        ReadScope::Identity
    } else {
        ReadScope::of(desired)
    };
    let observed = read_described(context, &handle.name, description, scope).await?;
    let is_recent_table = observed.identity.is_recent(SystemTime::now());
    if context.ownership(&observed.tags) == Ownership::Unmarked && is_recent_table {
        return Ok(in_progress(context, handle));
    }
    context.check_owned(&observed.tags, format!("the table {:?}", handle.name))?;
    match (handle.verb(), observed.running_operation()) {
        (verb, Some(running)) if verb == running => Ok(in_progress(context, handle)),
        (OperationVerb::Create, None) if operation.poll_driven => {
            finish_creation(context, observed, desired).await
        }
        (OperationVerb::Update, None) if is_step_pending(handle, &observed, desired) => {
            Ok(in_progress(context, handle))
        }
        (OperationVerb::Delete, _) if operation.is_recent(SystemTime::now()) => {
            Ok(in_progress(context, handle))
        }
        (OperationVerb::Delete, _) => {
            let (name, status) = (&observed.name, observed.status_text());
            let message = format!("the table {name:?} is {status} although its deletion was accepted");
            Err(Failure::operation_failed(message))
        }
        // The operation has ended; what runs now is another one.
        (OperationVerb::Create | OperationVerb::Update, _) => {
            Ok(Outcome::observed(Observation::from(observed)))
        }
    }
}

/// Sets what could not be given at creation. Only polls that the bridge guards get here.
async fn finish_creation(
    context: &CallContext<'_>,
    mut observed: ObservedTable,
    desired: Option<&TableParameters>,
) -> Result<Outcome<Table>, Failure> {
    let Some(desired) = desired else {
        return Ok(Outcome::observed(Observation::from(observed)));
    };
    match features::converge(context, &observed, desired).await {
        Ok(()) if context.requests.has_changed() => {
            // The writes have succeeded, whether or not the table can be read just now.
            if let Ok(Some(read)) = read(context, &observed.name, ReadScope::Desired(desired)).await {
                observed = read;
            }
        }
        Ok(()) => {}
        // The table exists; the update that follows reports what is wrong with the rest.
        Err(failure) if needs_spec_change(&failure) => {}
        Err(failure) => return Err(failure),
    }
    Ok(Outcome::observed(Observation::from(observed)))
}

/// Whether AWS does not report yet a step that it has accepted.
fn is_step_pending(
    handle: &TableHandle,
    observed: &ObservedTable,
    desired: Option<&TableParameters>,
) -> bool {
    let next = desired.and_then(|desired| plan::next_change(desired, &observed.parameters));
    let step = handle.details.step.as_deref();
    step.is_some()
        && step == next.map(|change| change.to_string()).as_deref()
        && handle.details.is_recent(SystemTime::now())
}

/// Whether a retry is of no use as long as the spec or the permissions stay.
fn needs_spec_change(failure: &Failure) -> bool {
    matches!(
        failure.code(),
        Some(FailureCode::InvalidSpec | FailureCode::Unsupported | FailureCode::PermissionDenied)
    )
}
