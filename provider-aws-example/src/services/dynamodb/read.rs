//! Reads a table: its description, its tags, its features.

mod features;
pub(super) mod find;

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{IndexStatus, TableDescription, TableStatus as Status};
use aws_smithy_types::date_time::Format;
use crossbridge_sdk::serde_json::{Map, Value};
use crossbridge_sdk::{Call, Failure, Observation, Operation, OperationVerb};

use super::kind::Table;
use super::model::from_api;
use super::model::state::{self, encode_state};
use super::model::{TableParameters, TableStatus};
use super::operation::{TableHandle, TableOperation};
use crate::context::CallContext;
use crate::session::{Session, Sessions, region_of};
use crate::tags::ObservedTags;

/// Between two polls of a table that AWS works on.
const DEFAULT_POLL_INTERVAL: Duration = Duration::from_secs(5);

/// How much is read beside the description and the tags: the rest takes requests of its own, of which AWS allows few.
#[derive(Debug, Clone, Copy)]
pub(super) enum ReadScope<'a> {
    /// Nothing: only what identifies the table and its owner.
    Identity,
    /// What the desired state has an opinion on.
    Desired(&'a TableParameters),
    /// Everything, where no desired state is known.
    Complete,
}

impl<'a> ReadScope<'a> {
    pub(super) fn of(desired: Option<&'a TableParameters>) -> Self {
        desired.map_or(Self::Complete, Self::Desired)
    }

    fn desired(self) -> Option<&'a TableParameters> {
        match self {
            Self::Desired(desired) => Some(desired),
            Self::Identity | Self::Complete => None,
        }
    }

    fn covers(self, is_desired: impl Fn(&TableParameters) -> bool) -> bool {
        match self {
            Self::Identity => false,
            Self::Desired(desired) => is_desired(desired),
            Self::Complete => true,
        }
    }
}

/// A table as AWS reports it.
#[derive(Debug)]
pub(super) struct ObservedTable {
    pub(super) name: String,
    region: String,
    pub(super) arn: String,
    pub(super) status: Status,
    pub(super) tags: ObservedTags,
    pub(super) parameters: TableParameters,
    /// The identity of the table, for operations on it.
    pub(super) identity: TableOperation,
    endpoint: String,
    description: TableDescription,
}

pub(super) fn client(session: &Session) -> Client {
    session.client(Client::new)
}

/// The context of a call about a table that may exist: in the region that the bridge has stored, else in the desired one.
pub(super) async fn context<'a>(
    sessions: &Sessions,
    call: &'a Call,
    desired: &Map<String, Value>,
) -> Result<CallContext<'a>, Failure> {
    let known = state::region(call)?;
    context_in(sessions, call, known.as_deref().or(region_of(desired))).await
}

/// The context of a call about a table in `region`, else in the region of the config.
pub(super) async fn context_in<'a>(
    sessions: &Sessions,
    call: &'a Call,
    region: Option<&str>,
) -> Result<CallContext<'a>, Failure> {
    CallContext::regional(sessions, call, region)
        .await?
        .with_poll_interval(DEFAULT_POLL_INTERVAL)
}

/// Asks AWS to describe a table; `None`: AWS reports that it does not exist.
pub(super) async fn describe(
    context: &CallContext<'_>,
    name: &str,
) -> Result<Option<TableDescription>, Failure> {
    let request = client(&context.session).describe_table().table_name(name).send();
    match context.requests.read("dynamodb:DescribeTable", request).await {
        Ok(response) => match response.table {
            Some(description) => Ok(Some(description)),
            // No absence: a server on the way answered with nothing.
            None => Err(context.incomplete_response("a table")),
        },
        // Only this is absence: a 404 of a proxy in between is not.
        Err(error) if error.has_code("ResourceNotFoundException") => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Reads a table and its tags; `None`: AWS reports that it does not exist.
pub(super) async fn read(
    context: &CallContext<'_>,
    name: &str,
    scope: ReadScope<'_>,
) -> Result<Option<ObservedTable>, Failure> {
    match describe(context, name).await? {
        Some(description) => read_described(context, name, description, scope).await.map(Some),
        None => Ok(None),
    }
}

/// Reads what the description of a table lacks.
pub(super) async fn read_described(
    context: &CallContext<'_>,
    name: &str,
    description: TableDescription,
    scope: ReadScope<'_>,
) -> Result<ObservedTable, Failure> {
    let Some(status) = description.table_status().cloned() else {
        return Err(context.incomplete_response("a table"));
    };
    let arn = description.table_arn().unwrap_or_default().to_owned();
    let desired = scope.desired();
    let desired_ttl = desired.and_then(|desired| desired.time_to_live.as_ref());
    // Only a table whose creation is finished, and whose deletion has not begun, has these.
    let is_settled = !matches!(status, Status::Creating | Status::Deleting);
    let reads_ttl = is_settled && scope.covers(|desired| desired.time_to_live.is_some());
    let reads_backups =
        is_settled && scope.covers(|desired| desired.point_in_time_recovery_enabled.is_some());
    let (tags, time_to_live, backups) = tokio::try_join!(
        tags(context, name, &arn),
        features::time_to_live_if(reads_ttl, context, name, desired_ttl),
        features::backups_if(reads_backups, context, name),
    )?;
    let region = &context.session.region;
    let mut parameters = from_api::parameters(&description, region, desired);
    parameters.time_to_live = time_to_live;
    parameters.point_in_time_recovery_enabled = backups;
    let observed = ObservedTable {
        name: name.to_owned(),
        region: region.clone(),
        arn,
        status,
        tags: ObservedTags::default(),
        parameters,
        identity: TableOperation::on(&description, region),
        endpoint: context.session.endpoint("dynamodb"),
        description,
    };
    Ok(observed.with_tags(tags))
}

async fn tags(context: &CallContext<'_>, name: &str, arn: &str) -> Result<ObservedTags, Failure> {
    let client = client(&context.session);
    let mut tags = Vec::new();
    let mut next = None;
    loop {
        let request = client
            .list_tags_of_resource()
            .resource_arn(arn)
            .set_next_token(next.take());
        let page = match context
            .requests
            .read("dynamodb:ListTagsOfResource", request.send())
            .await
        {
            Ok(page) => page,
            // The owner is unknown: neither this object nor none, and the table is not absent.
            Err(error) if error.has_code("ResourceNotFoundException") => {
                let message = format!(
                    "the tags of the table {name:?} cannot be read, as it was just created or is being deleted"
                );
                let unknown = Failure::conflict(message).reason("TagsUnknown");
                return Err(error.into_failure(unknown.retry_after(context.poll_interval)));
            }
            Err(error) => return Err(error.into()),
        };
        tags.extend(page.tags.unwrap_or_default());
        next = page.next_token;
        if next.is_none() {
            return Ok(tags.into_iter().map(|tag| (tag.key, tag.value)).collect());
        }
    }
}

impl ObservedTable {
    /// The table with these tags, which AWS may report late.
    pub(super) fn with_tags(mut self, tags: ObservedTags) -> Self {
        self.parameters.tags = Some(tags.of_user());
        self.tags = tags;
        self
    }

    /// The handle of an operation on this table.
    pub(super) fn handle(&self, verb: OperationVerb, operation: TableOperation) -> TableHandle {
        TableHandle::new(verb, &self.name, operation)
    }

    /// The operation that AWS carries out on the table, if it is one that can be polled.
    pub(super) fn running_operation(&self) -> Option<OperationVerb> {
        match self.status {
            Status::Creating => Some(OperationVerb::Create),
            Status::Updating => Some(OperationVerb::Update),
            Status::Deleting => Some(OperationVerb::Delete),
            // A new index is filled, and an old one emptied, while the table is active.
            Status::Active if self.changing_index().is_some() => Some(OperationVerb::Update),
            _ => None,
        }
    }

    /// The status of the table, for people; that of an index where the table itself is active.
    pub(super) fn status_text(&self) -> String {
        match self.changing_index() {
            Some((name, status)) if self.status == Status::Active => {
                format!("ACTIVE, and its index {name:?} is {}", status.as_str())
            }
            _ => self.status.as_str().to_owned(),
        }
    }

    fn changing_index(&self) -> Option<(&str, &IndexStatus)> {
        let indexes = self.description.global_secondary_indexes().iter();
        indexes
            .filter_map(|index| Some((index.index_name().unwrap_or_default(), index.index_status()?)))
            .find(|(_, status)| **status != IndexStatus::Active)
    }
}

impl From<ObservedTable> for Observation<Table> {
    fn from(observed: ObservedTable) -> Self {
        let created = observed.description.creation_date_time();
        let status = TableStatus {
            arn: observed.arn.clone(),
            id: observed.description.table_id().map(ToOwned::to_owned),
            status: observed.status.as_str().to_owned(),
            creation_time: created.and_then(|time| time.fmt(Format::DateTime).ok()),
            stream_arn: observed.description.latest_stream_arn().map(ToOwned::to_owned),
        };
        // An operation that is only observed is never poll-driven: what polls would do besides, the next update does.
        let running = observed
            .running_operation()
            .map(|verb| (verb, observed.handle(verb, observed.identity.clone())));
        let mut observation = Self::new(&observed.name, observed.parameters)
            .canonical_id(&observed.arn)
            .found_marker(observed.tags.marker())
            .provider_state(encode_state(&observed.region))
            .connection("arn", observed.arn.as_bytes())
            .connection("endpoint", observed.endpoint.as_bytes())
            .connection("name", observed.name.as_bytes());
        if let Some(stream) = &status.stream_arn {
            observation = observation.connection("streamArn", stream.as_bytes());
        }
        observation = match &observed.status {
            // A table serves requests while it is updated.
            Status::Active | Status::Updating => observation.ready(),
            other => observation.not_ready(format!("the table is {}", other.as_str())),
        };
        observation = match running {
            Some((OperationVerb::Delete, _)) => observation.deleting(),
            Some((verb, handle)) => observation.operation(Operation::new(verb, handle.encode())),
            None => observation,
        };
        observation.status(status)
    }
}
