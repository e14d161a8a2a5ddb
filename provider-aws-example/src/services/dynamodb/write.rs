//! Updating and deleting a table.

pub(super) mod errors;
pub(super) mod features;
pub(super) mod plan;
mod request;

use std::time::SystemTime;

use aws_sdk_dynamodb::types::TableStatus as Status;
use crossbridge_sdk::{Failure, Observation, OperationVerb, Outcome};

use super::kind::Table;
use super::model::{TableParameters, to_api};
use super::operation::in_progress;
use super::read::{ObservedTable, ReadScope, client, read};
use crate::context::{CallContext, absent, finish};
use crate::tags::TagChange;
use crate::validation::immutable;
use errors::{explain, table_busy};
use plan::TableChange;
use request::send;

/// Sends the next change that the desired state needs. What takes time comes one change at a time, each an operation.
pub(super) async fn update(
    context: &CallContext<'_>,
    desired: &TableParameters,
) -> Result<Outcome<Table>, Failure> {
    let name = context.external_name();
    let region = &context.session.region;
    let Some(observed) = read(context, name, ReadScope::Desired(desired)).await? else {
        return Err(absent(format!("the table {name:?}")));
    };
    context.check_not_foreign(&observed.tags, format!("the table {name:?}"))?;
    if desired.region.as_ref().is_some_and(|desired| desired != region) {
        let message = format!("the table is in {region}, and cannot be moved");
        return Err(immutable("/region", message));
    }
    if observed.running_operation().is_some() || observed.status != Status::Active {
        return Err(table_busy(context, &observed));
    }
    if let Some((path, message)) = plan::fixed::immutable_difference(desired, &observed.parameters) {
        return Err(Failure::immutable_field(message).violation(path, message));
    }
    if let Some((path, message)) = plan::fixed::index_rebuild(desired, &observed.parameters) {
        return Err(Failure::invalid_spec(message.clone()).violation(path, message));
    }
    let tag_change = context.tag_change(&observed.tags, desired.tags.as_ref());
    tag(context, &observed, tag_change.clone()).await?;
    if let Some(change) = plan::next_change(desired, &observed.parameters) {
        let operation = observed.identity.clone().with_step(change.to_string());
        send(context, name, desired, change).await?;
        let operation = operation.with_started_at(SystemTime::now());
        return Ok(in_progress(
            context,
            &observed.handle(OperationVerb::Update, operation),
        ));
    }
    // Last, as AWS may reject these for an hour.
    features::converge(context, &observed, desired).await?;
    Ok(finish(async {
        // AWS lists tags late: these have been written.
        let tags = observed.tags.after(tag_change);
        let read = read(context, name, ReadScope::Desired(desired)).await?;
        Ok(read.map(|read| Observation::from(read.with_tags(tags))))
    })
    .await)
}

pub(super) async fn delete(
    context: &CallContext<'_>,
    desired: Option<&TableParameters>,
) -> Result<Outcome<Table>, Failure> {
    let name = context.external_name();
    let Some(observed) = read(context, name, ReadScope::Identity).await? else {
        return Ok(Outcome::already_done());
    };
    context.check_owned(&observed.tags, format!("the table {name:?}"))?;
    let operation = observed.identity.clone().with_started_at(SystemTime::now());
    let handle = observed.handle(OperationVerb::Delete, operation);
    match observed.status {
        Status::Deleting => return Ok(in_progress(context, &handle)),
        Status::Creating | Status::Updating => return Err(table_busy(context, &observed)),
        _ => {}
    }
    if observed.parameters.deletion_protection_enabled == Some(true) {
        if desired.and_then(|desired| desired.deletion_protection_enabled) != Some(false) {
            return Err(deletion_protected());
        }
        let change = TableChange::DeletionProtection(false);
        send(context, name, &observed.parameters, change).await?;
    }
    let request = client(&context.session).delete_table().table_name(name).send();
    match context.requests.write("dynamodb:DeleteTable", request).await {
        Ok(_) => Ok(in_progress(context, &handle)),
        Err(error) if error.has_code("ResourceNotFoundException") => Ok(Outcome::already_done()),
        // A read may be stale.
        Err(error) if error.message().contains("protected against deletion") => {
            Err(error.into_failure(deletion_protected()))
        }
        Err(error) => Err(explain(context, error)),
    }
}

async fn tag(context: &CallContext<'_>, observed: &ObservedTable, change: TagChange) -> Result<(), Failure> {
    let client = client(&context.session);
    let set = async |tags| {
        let request = client
            .tag_resource()
            .resource_arn(&observed.arn)
            .set_tags(Some(to_api::tags(&tags)?));
        let request = context.requests.write("dynamodb:TagResource", request.send());
        request.await.map(drop).map_err(|error| explain(context, error))
    };
    let remove = async |keys| {
        let request = client
            .untag_resource()
            .resource_arn(&observed.arn)
            .set_tag_keys(Some(keys));
        let request = context.requests.write("dynamodb:UntagResource", request.send());
        request.await.map(drop).map_err(|error| explain(context, error))
    };
    change.apply(set, remove).await
}

fn deletion_protected() -> Failure {
    let message = "the table is protected against deletion: set deletionProtectionEnabled to false, or turn it off in AWS";
    Failure::dependency_not_ready(message)
        .reason("DeletionProtected")
        .violation("/deletionProtectionEnabled", message)
}
