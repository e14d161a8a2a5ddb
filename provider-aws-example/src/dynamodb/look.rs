//! Reading a table.

use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{IndexStatus, TableDescription, TableStatus as Status};
use crossbridge_sdk::{Failure, Observation, Operation, OperationVerb, Target};

use super::model::{TableParameters, TableStatus};
use super::table::Table;
use super::{aspects, observed};
use crate::handle::Handle;
use crate::ownership::{FoundTags, MARKER_TAG, Owner};
use crate::session::Session;
use crate::upstream::{Refusal, Steps};

/// AWS tells of tags late: for so long after a table was made, none say nothing.
pub(super) const TAGS_SETTLE: Duration = Duration::from_secs(30);

/// A table as it was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) name: String,
    pub(super) region: String,
    pub(super) arn: String,
    pub(super) status: Status,
    pub(super) tags: FoundTags,
    pub(super) parameters: TableParameters,
    table: TableDescription,
}

/// What AWS says of a table; `None`: there is none.
pub(super) async fn describe(
    client: &Client,
    steps: &Steps,
    name: &str,
) -> Result<Option<TableDescription>, Refusal> {
    match steps
        .read(
            "dynamodb:DescribeTable",
            client.describe_table().table_name(name).send(),
        )
        .await
    {
        Ok(answer) => Ok(answer.table),
        // Only this is absence: a 404 of a proxy in between is not.
        Err(refusal) if refusal.is("ResourceNotFoundException") => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

/// Reads a table and whose it is; `None`: there is none.
pub(super) async fn look(
    session: &Session,
    steps: &Steps,
    target: &Target,
    wish: Option<&TableParameters>,
) -> Result<Option<Found>, Failure> {
    let name = &target.external_name;
    let client = session.dynamodb();
    let Some(table) = describe(client, steps, name).await? else {
        return Ok(None);
    };
    let status = table.table_status().cloned().unwrap_or(Status::Active);
    let arn = table.table_arn().unwrap_or_default().to_owned();
    let mut parameters = observed::parameters(&table, &session.region, wish);
    let tags = if settled(&status) {
        let wished = wish.and_then(|wish| wish.time_to_live.as_ref());
        let (tags, time_to_live, backups) = tokio::try_join!(
            tags(client, steps, &arn),
            aspects::time_to_live(client, steps, name, wished),
            aspects::backups(client, steps, name),
        )?;
        parameters.time_to_live = Some(time_to_live);
        parameters.point_in_time_recovery_enabled = Some(backups);
        tags
    } else {
        match tags(client, steps, &arn).await {
            // A table on its way out has no readable tags. As nothing is done to it any more, it may pass for ours.
            Err(refusal) if status == Status::Deleting && refusal.is("ResourceNotFoundException") => {
                [(MARKER_TAG, target.ownership_marker.as_str())]
                    .into_iter()
                    .collect()
            }
            answer => answer?,
        }
    };
    parameters.tags = Some(tags.of_user());
    Ok(Some(Found {
        name: name.clone(),
        region: session.region.clone(),
        arn,
        status,
        tags,
        parameters,
        table,
    }))
}

async fn tags(client: &Client, steps: &Steps, arn: &str) -> Result<FoundTags, Refusal> {
    let mut found = Vec::new();
    let mut next = None;
    loop {
        let request = client
            .list_tags_of_resource()
            .resource_arn(arn)
            .set_next_token(next.take());
        let page = steps.read("dynamodb:ListTagsOfResource", request.send()).await?;
        found.extend(page.tags.unwrap_or_default());
        next = page.next_token;
        if next.is_none() {
            return Ok(found.into_iter().map(|tag| (tag.key, tag.value)).collect());
        }
    }
}

/// Whether a table is done with creation, and not on its way out.
fn settled(status: &Status) -> bool {
    !matches!(status, Status::Creating | Status::Deleting)
}

impl Found {
    pub(super) fn owner(&self, target: &Target) -> Owner {
        self.tags.owner(target)
    }

    /// Whether its tags may still be unknown to AWS's own readers.
    pub(super) fn is_new(&self, now: SystemTime) -> bool {
        let created = self
            .table
            .creation_date_time()
            .and_then(|time| SystemTime::try_from(*time).ok());
        created.is_some_and(|created| now.duration_since(created).is_ok_and(|age| age < TAGS_SETTLE))
    }

    pub(super) fn handle(&self, verb: OperationVerb) -> Handle {
        Handle::new(verb, &self.name, Some(&self.region))
    }

    fn indexes_are_busy(&self) -> bool {
        let indexes = self.table.global_secondary_indexes();
        indexes.iter().any(|index| {
            index
                .index_status()
                .is_some_and(|status| *status != IndexStatus::Active)
        })
    }

    /// What AWS is doing with the table, if anything that can be followed.
    pub(super) fn running(&self) -> Option<OperationVerb> {
        match self.status {
            Status::Creating => Some(OperationVerb::Create),
            Status::Updating => Some(OperationVerb::Update),
            Status::Deleting => Some(OperationVerb::Delete),
            // A new index is filled, and an old one emptied, while the table counts as active.
            Status::Active if self.indexes_are_busy() => Some(OperationVerb::Update),
            _ => None,
        }
    }
}

impl From<Found> for Observation<Table> {
    fn from(found: Found) -> Self {
        let status = TableStatus {
            arn: found.arn.clone(),
            id: found.table.table_id().map(ToOwned::to_owned),
            status: found.status.as_str().to_owned(),
            stream_arn: found.table.latest_stream_arn().map(ToOwned::to_owned),
        };
        let running = found.running().map(|verb| (verb, found.handle(verb)));
        let mut observation = Self::new(&found.name, found.parameters)
            .canonical_id(&found.arn)
            .found_marker(found.tags.marker())
            .connection("arn", found.arn.as_bytes())
            .connection("name", found.name.as_bytes());
        if let Some(stream) = &status.stream_arn {
            observation = observation.connection("streamArn", stream.as_bytes());
        }
        observation = match &found.status {
            // A table that is updated serves all the same.
            Status::Active | Status::Updating => observation.ready(),
            other => observation.not_ready(format!("the table is {}", other.as_str())),
        };
        observation = match running {
            Some((OperationVerb::Delete, _)) => observation.deleting(),
            Some((verb, handle)) => observation.operation(Operation::new(verb, handle.text())),
            None => observation,
        };
        observation.status(status)
    }
}
