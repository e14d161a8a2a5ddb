//! Reading a table.

use aws_sdk_dynamodb::types::{IndexStatus, TableDescription, TableStatus as Status};
use aws_smithy_types::date_time::Format;
use crossbridge_sdk::{Failure, Observation, Operation, OperationVerb};

use super::model::{TableParameters, TableStatus};
use super::operation::{About, TableHandle};
use super::state::state;
use super::table::Table;
use super::work::Work;
use super::{aspects, observed};
use crate::ownership::FoundTags;

/// How much is read beside the description and the tags: the rest has requests of its own, of which AWS takes few.
#[derive(Debug, Clone, Copy)]
pub(super) enum Extent<'a> {
    /// Nothing: only what the table is and whose.
    Bare,
    /// What is wished for.
    Wished(&'a TableParameters),
    /// Everything, where no wish is known.
    Whole,
}

impl<'a> Extent<'a> {
    pub(super) fn of(wish: Option<&'a TableParameters>) -> Self {
        wish.map_or(Self::Whole, Self::Wished)
    }

    fn wish(self) -> Option<&'a TableParameters> {
        match self {
            Self::Wished(wish) => Some(wish),
            Self::Bare | Self::Whole => None,
        }
    }

    fn covers(self, is_wished: impl Fn(&TableParameters) -> bool) -> bool {
        match self {
            Self::Bare => false,
            Self::Wished(wish) => is_wished(wish),
            Self::Whole => true,
        }
    }
}

/// Reads what is asked for.
async fn when<T>(asked: bool, read: impl Future<Output = Result<T, Failure>>) -> Result<Option<T>, Failure> {
    if asked { read.await.map(Some) } else { Ok(None) }
}

/// A table as it was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) name: String,
    region: String,
    pub(super) arn: String,
    pub(super) status: Status,
    pub(super) tags: FoundTags,
    pub(super) parameters: TableParameters,
    pub(super) about: About,
    endpoint: String,
    table: TableDescription,
}

impl Work<'_> {
    /// What AWS says of a table; `None`: there is none.
    pub(super) async fn describe(&self, name: &str) -> Result<Option<TableDescription>, Failure> {
        let request = self.client().describe_table().table_name(name).send();
        match self.steps.read("dynamodb:DescribeTable", request).await {
            Ok(answer) => match answer.table {
                Some(table) => Ok(Some(table)),
                // No absence: somebody on the way answered with nothing.
                None => Err(self.incomplete()),
            },
            // Only this is absence: a 404 of a proxy in between is not.
            Err(refusal) if refusal.is("ResourceNotFoundException") => Ok(None),
            Err(refusal) => Err(refusal.into()),
        }
    }

    fn incomplete(&self) -> Failure {
        Failure::unavailable("AWS answered without a table").effect(self.steps.effect())
    }

    /// Reads a table and whose it is; `None`: there is none.
    pub(super) async fn look(&self, name: &str, extent: Extent<'_>) -> Result<Option<Found>, Failure> {
        match self.describe(name).await? {
            Some(table) => self.read(name, table, extent).await.map(Some),
            None => Ok(None),
        }
    }

    /// Reads what the description of a table does not tell.
    pub(super) async fn read(
        &self,
        name: &str,
        table: TableDescription,
        extent: Extent<'_>,
    ) -> Result<Found, Failure> {
        let Some(status) = table.table_status().cloned() else {
            return Err(self.incomplete());
        };
        let arn = table.table_arn().unwrap_or_default().to_owned();
        let wish = extent.wish();
        let wished = wish.and_then(|wish| wish.time_to_live.as_ref());
        // Only a table that is done with creation, and not on its way out, has these.
        let settled = !matches!(status, Status::Creating | Status::Deleting);
        let expires = settled && extent.covers(|wish| wish.time_to_live.is_some());
        let backed_up = settled && extent.covers(|wish| wish.point_in_time_recovery_enabled.is_some());
        let (tags, time_to_live, backups) = tokio::try_join!(
            self.tags(name, &arn),
            when(expires, aspects::time_to_live(self, name, wished)),
            when(backed_up, aspects::backups(self, name)),
        )?;
        let mut parameters = observed::parameters(&table, &self.session.region, wish);
        parameters.time_to_live = time_to_live;
        parameters.point_in_time_recovery_enabled = backups;
        let found = Found {
            name: name.to_owned(),
            region: self.session.region.clone(),
            arn,
            status,
            tags: FoundTags::default(),
            parameters,
            about: About::of(&table, &self.session.region),
            endpoint: self.session.endpoint("dynamodb"),
            table,
        };
        Ok(found.tagged(tags))
    }

    pub(super) async fn tags(&self, name: &str, arn: &str) -> Result<FoundTags, Failure> {
        let mut found = Vec::new();
        let mut next = None;
        loop {
            let request = self
                .client()
                .list_tags_of_resource()
                .resource_arn(arn)
                .set_next_token(next.take());
            let page = match self
                .steps
                .read("dynamodb:ListTagsOfResource", request.send())
                .await
            {
                Ok(page) => page,
                // Whose it is cannot be told: neither ours nor nobody's, and not absent.
                Err(refusal) if refusal.is("ResourceNotFoundException") => {
                    let message = format!(
                        "the tags of the table {name:?} cannot be read, as it is very new or on its way out"
                    );
                    let unknown = Failure::conflict(message).reason("TagsUnknown");
                    return Err(refusal.told_as(unknown.retry_after(self.pace)));
                }
                Err(refusal) => return Err(refusal.into()),
            };
            found.extend(page.tags.unwrap_or_default());
            next = page.next_token;
            if next.is_none() {
                return Ok(found.into_iter().map(|tag| (tag.key, tag.value)).collect());
            }
        }
    }
}

impl Found {
    /// The same with these tags.
    pub(super) fn tagged(mut self, tags: FoundTags) -> Self {
        self.parameters.tags = Some(tags.of_user());
        self.tags = tags;
        self
    }

    pub(super) fn handle(&self, verb: OperationVerb, about: About) -> TableHandle {
        TableHandle::new(verb, &self.name, about)
    }

    /// What AWS is doing with the table, if anything that can be followed.
    pub(super) fn running(&self) -> Option<OperationVerb> {
        match self.status {
            Status::Creating => Some(OperationVerb::Create),
            Status::Updating => Some(OperationVerb::Update),
            Status::Deleting => Some(OperationVerb::Delete),
            // A new index is filled, and an old one emptied, while the table counts as active.
            Status::Active if self.busy_index().is_some() => Some(OperationVerb::Update),
            _ => None,
        }
    }

    /// Its status, for people; that of an index where the table itself is done.
    pub(super) fn doing(&self) -> String {
        match self.busy_index() {
            Some((name, status)) if self.status == Status::Active => {
                format!("ACTIVE, and its index {name:?} is {}", status.as_str())
            }
            _ => self.status.as_str().to_owned(),
        }
    }

    fn busy_index(&self) -> Option<(&str, &IndexStatus)> {
        let indexes = self.table.global_secondary_indexes().iter();
        indexes
            .filter_map(|index| Some((index.index_name().unwrap_or_default(), index.index_status()?)))
            .find(|(_, status)| **status != IndexStatus::Active)
    }
}

impl From<Found> for Observation<Table> {
    fn from(found: Found) -> Self {
        let created = found.table.creation_date_time();
        let status = TableStatus {
            arn: found.arn.clone(),
            id: found.table.table_id().map(ToOwned::to_owned),
            status: found.status.as_str().to_owned(),
            creation_time: created.and_then(|time| time.fmt(Format::DateTime).ok()),
            stream_arn: found.table.latest_stream_arn().map(ToOwned::to_owned),
        };
        // Told by a look, no operation is poll-driven: what it would do besides, the next update does.
        let running = found
            .running()
            .map(|verb| (verb, found.handle(verb, found.about.clone())));
        let mut observation = Self::new(&found.name, found.parameters)
            .canonical_id(&found.arn)
            .found_marker(found.tags.marker())
            .provider_state(state(&found.region))
            .connection("arn", found.arn.as_bytes())
            .connection("endpoint", found.endpoint.as_bytes())
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
