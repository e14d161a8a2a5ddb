//! Creating a table, and resuming a creation whose outcome is unknown.

use std::time::SystemTime;

use aws_sdk_dynamodb::types::TableStatus as Status;
use crossbridge_sdk::{Call, Create, Failure, OperationVerb, Outcome};

use super::kind::Table;
use super::model::state::encode_state;
use super::model::{TableParameters, to_api};
use super::operation::{TableHandle, TableOperation, in_progress};
use super::read::{ObservedTable, ReadScope, client, context_in, describe, read, read_described};
use super::write::errors::{explain, former_table_deleting};
use super::write::features;
use crate::api::ApiError;
use crate::context::CallContext;
use crate::session::{Sessions, region_of};
use crate::tags::{Ownership, with_marker};

pub(super) async fn create(
    sessions: &Sessions,
    call: &Call,
    create: &Create<TableParameters>,
) -> Result<Outcome<Table>, Failure> {
    let desired = &create.desired.parameters;
    desired.check()?;
    let context = &context_in(sessions, call, region_of(&create.desired.json)).await?;
    let name = context.external_name();
    if create.outcome_unknown
        && let Some(observed) = read(context, name, ReadScope::Identity).await?
    {
        return resume(context, &observed, desired);
    }
    let tags = with_marker(desired.tags.as_ref(), context.marker());
    let request = to_api::create_table(&client(&context.session), name, desired, &tags)?;
    let description = match context
        .requests
        .write("dynamodb:CreateTable", request.send())
        .await
    {
        Ok(response) => response.table_description,
        Err(error) if error.has_code("ResourceInUseException") => {
            return name_in_use(context, error, create).await;
        }
        Err(error) => return Err(explain(context, error)),
    };
    let region = &context.session.region;
    let operation = description
        .as_ref()
        .map(|description| TableOperation::on(description, region));
    let operation = operation
        .unwrap_or_default()
        .with_poll_driven(features::are_desired(desired));
    let handle = TableHandle::new(OperationVerb::Create, name, operation);
    let arn = description
        .and_then(|description| description.table_arn)
        .unwrap_or_default();
    Ok(in_progress(context, &handle).canonical_id(arn))
}

/// AWS has a table of this name: perhaps one that a read, which may be stale, has not shown.
async fn name_in_use(
    context: &CallContext<'_>,
    error: ApiError,
    create: &Create<TableParameters>,
) -> Result<Outcome<Table>, Failure> {
    let name = context.external_name();
    let failure = match describe(context, name).await? {
        Some(description) if description.table_status() != Some(&Status::Deleting) => {
            if create.outcome_unknown {
                let observed = read_described(context, name, description, ReadScope::Identity).await?;
                return resume(context, &observed, &create.desired.parameters);
            }
            already_exists(name)
        }
        _ => former_table_deleting(context, name),
    };
    Err(error.into_failure(failure))
}

/// A table exists: created by an earlier request of this creation, or by another owner.
fn resume(
    context: &CallContext<'_>,
    observed: &ObservedTable,
    desired: &TableParameters,
) -> Result<Outcome<Table>, Failure> {
    let name = &observed.name;
    let poll_driven = features::are_desired(desired);
    let is_recent = observed.identity.is_recent(SystemTime::now());
    match ExistingTable::classify(context.ownership(&observed.tags), &observed.status, is_recent) {
        ExistingTable::Deleting => Err(former_table_deleting(context, name)),
        ExistingTable::OwnerUnknown => {
            let message = format!("the table {name:?} exists, and its tags are not known yet");
            let unknown = Failure::conflict(message).reason("TagsUnknown");
            Err(unknown.retry_after(context.poll_interval))
        }
        ExistingTable::Foreign => Err(already_exists(name)),
        ExistingTable::Created if !poll_driven => Ok(Outcome::already_done()
            .external_name(name)
            .canonical_id(&observed.arn)
            .provider_state(encode_state(&context.session.region))),
        ExistingTable::Created | ExistingTable::Creating => {
            let operation = observed.identity.clone().with_poll_driven(poll_driven);
            let handle = observed.handle(OperationVerb::Create, operation);
            Ok(in_progress(context, &handle).canonical_id(&observed.arn))
        }
    }
}

/// What an existing table means for a creation whose outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExistingTable {
    /// A former table is being deleted: the name is not free yet.
    Deleting,
    /// The table has no marker, which may not be visible yet.
    OwnerUnknown,
    Foreign,
    Creating,
    Created,
}

impl ExistingTable {
    fn classify(ownership: Ownership, status: &Status, is_recent: bool) -> Self {
        match ownership {
            _ if *status == Status::Deleting => Self::Deleting,
            Ownership::Unmarked if is_recent => Self::OwnerUnknown,
            // Ours was created with its marker.
            Ownership::Unmarked | Ownership::Foreign => Self::Foreign,
            Ownership::Owned if *status == Status::Creating => Self::Creating,
            Ownership::Owned => Self::Created,
        }
    }
}

fn already_exists(name: &str) -> Failure {
    Failure::already_exists(
        name,
        format!("a table {name:?} already exists in this account and region"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unmarked_table_may_be_ours_while_it_is_recent() {
        for (ownership, status, is_recent, expected) in [
            (Ownership::Owned, Status::Creating, true, ExistingTable::Creating),
            (Ownership::Owned, Status::Active, false, ExistingTable::Created),
            (Ownership::Owned, Status::Updating, false, ExistingTable::Created),
            (Ownership::Owned, Status::Deleting, true, ExistingTable::Deleting),
            (
                Ownership::Foreign,
                Status::Deleting,
                true,
                ExistingTable::Deleting,
            ),
            (Ownership::Foreign, Status::Creating, true, ExistingTable::Foreign),
            (
                Ownership::Unmarked,
                Status::Creating,
                true,
                ExistingTable::OwnerUnknown,
            ),
            (
                Ownership::Unmarked,
                Status::Active,
                true,
                ExistingTable::OwnerUnknown,
            ),
            (Ownership::Unmarked, Status::Active, false, ExistingTable::Foreign),
        ] {
            let existing = ExistingTable::classify(ownership, &status, is_recent);
            assert_eq!(existing, expected, "{ownership:?} {status:?} {is_recent}");
        }
    }
}
