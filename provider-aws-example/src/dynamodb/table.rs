//! The kind Table.

use std::sync::Arc;
use std::time::SystemTime;

use aws_sdk_dynamodb::types::TableStatus as Status;
use crossbridge_sdk::{
    Call, Create, Delete, Failure, Kind, Known, Observation, Observed, OperationVerb, Outcome, Poll,
    Resource, Update, async_trait,
};

use super::look::Extent;
use super::model::{TableParameters, TableStatus};
use super::operation::TableHandle;
use super::work::Work;
use super::{aspects, check, kind, plan};
use crate::ownership::{Owner, not_ours};
use crate::session::{Sessions, region_of};

/// `DynamoDB` tables.
#[derive(Debug)]
pub(crate) struct Table {
    sessions: Arc<Sessions>,
}

impl Table {
    pub(crate) fn new(sessions: &Arc<Sessions>) -> Self {
        Self {
            sessions: Arc::clone(sessions),
        }
    }
}

#[async_trait]
impl Resource for Table {
    type Parameters = TableParameters;
    type Status = TableStatus;

    fn kind() -> Kind {
        kind::table()
    }

    async fn observe(
        &self,
        call: &Call,
        desired: &Known<TableParameters>,
    ) -> Result<Observed<Self>, Failure> {
        let work = Work::resume(&self.sessions, call, &desired.json).await?;
        let extent = Extent::of(desired.parameters.as_ref());
        let found = match call.target.external_name.as_str() {
            "" => work.find(extent).await?,
            name => work.look(name, extent).await?,
        };
        Ok(match found {
            Some(found) => Observation::from(found).into(),
            None => Observed::absent(),
        })
    }

    async fn create(&self, call: &Call, create: &Create<TableParameters>) -> Result<Outcome<Self>, Failure> {
        check::check(&create.desired.parameters)?;
        let work = Work::begin(&self.sessions, call, region_of(&create.desired.json)).await?;
        work.create(create).await
    }

    async fn update(&self, call: &Call, update: &Update<TableParameters>) -> Result<Outcome<Self>, Failure> {
        let wish = &update.desired.parameters;
        check::check(wish)?;
        let work = Work::resume(&self.sessions, call, &update.desired.json).await?;
        work.update(wish).await
    }

    async fn delete(&self, call: &Call, delete: &Delete<TableParameters>) -> Result<Outcome<Self>, Failure> {
        let work = Work::resume(&self.sessions, call, &delete.desired.json).await?;
        work.delete(delete.desired.parameters.as_ref()).await
    }

    async fn poll(&self, call: &Call, poll: &Poll<TableParameters>) -> Result<Outcome<Self>, Failure> {
        let handle = TableHandle::read(&poll.handle, &call.target.external_name)?;
        let work = Work::begin(&self.sessions, call, handle.details.region.as_deref()).await?;
        work.follow(&handle, poll.desired.parameters.as_ref()).await
    }
}

impl Work<'_> {
    async fn update(&self, wish: &TableParameters) -> Result<Outcome<Table>, Failure> {
        let target = &self.call.target;
        let name = &target.external_name;
        let Some(found) = self.look(name, Extent::Wished(wish)).await? else {
            return Err(Failure::not_found(format!("there is no table {name:?}")));
        };
        if self.owner(&found) == Owner::Another {
            return Err(not_ours(&format!("the table {name:?}")));
        }
        if wish
            .region
            .as_ref()
            .is_some_and(|region| *region != self.session.region)
        {
            let message = format!("the table is in {}, and tables do not move", self.session.region);
            return Err(Failure::immutable_field(message.clone()).violation("/region", message));
        }
        if found.running().is_some() || found.status != Status::Active {
            return Err(self.busy(&found));
        }
        if let Some((path, message)) = plan::immutable(wish, &found.parameters) {
            return Err(Failure::immutable_field(message).violation(path, message));
        }
        if let Some((path, message)) = plan::rebuilds(wish, &found.parameters) {
            return Err(Failure::invalid_spec(message.clone()).violation(path, message));
        }
        let tags = found.tags.change(wish.tags.as_ref(), &target.ownership_marker);
        self.tag(&found, tags.clone()).await?;
        if let Some(next) = plan::next(wish, &found.parameters) {
            let about = found.about.clone().step(next.to_string());
            self.send(name, wish, next).await?;
            let handle = found.handle(OperationVerb::Update, about.changed(SystemTime::now()));
            return Ok(self.under_way(&handle));
        }
        // Last, as AWS may let these rest for an hour.
        aspects::converge(self, &found, wish).await?;
        match self.look(name, Extent::Wished(wish)).await {
            // AWS lists tags late: these are known.
            Ok(Some(again)) => {
                let again = again.tagged(found.tags.with(tags));
                Ok(Outcome::observed(Observation::from(again)))
            }
            // The work is done, whether or not it can be looked at.
            _ => Ok(Outcome::completed()),
        }
    }

    async fn delete(&self, wish: Option<&TableParameters>) -> Result<Outcome<Table>, Failure> {
        let name = &self.call.target.external_name;
        let Some(found) = self.look(name, Extent::Bare).await? else {
            return Ok(Outcome::already_done());
        };
        if self.owner(&found) != Owner::Ours {
            return Err(not_ours(&format!("the table {name:?}")));
        }
        let about = found.about.clone().changed(SystemTime::now());
        let handle = found.handle(OperationVerb::Delete, about);
        match found.status {
            Status::Deleting => return Ok(self.under_way(&handle)),
            Status::Creating | Status::Updating => return Err(self.busy(&found)),
            _ => {}
        }
        if found.parameters.deletion_protection_enabled == Some(true) {
            if wish.and_then(|wish| wish.deletion_protection_enabled) != Some(false) {
                return Err(protected());
            }
            self.send(name, &found.parameters, plan::Change::DeletionProtection(false))
                .await?;
        }
        let request = self.client().delete_table().table_name(name).send();
        match self.steps.change("dynamodb:DeleteTable", request).await {
            Ok(_) => Ok(self.under_way(&handle)),
            Err(refusal) if refusal.is("ResourceNotFoundException") => Ok(Outcome::already_done()),
            // A look may be late to tell of it.
            Err(refusal) if refusal.message().contains("protected against deletion") => {
                Err(refusal.told_as(protected()))
            }
            Err(refusal) => Err(self.refused(refusal)),
        }
    }
}

fn protected() -> Failure {
    let message = "the table is protected against deletion: set deletionProtectionEnabled to false, or turn it off in AWS";
    Failure::dependency_not_ready(message)
        .reason("DeletionProtected")
        .violation("/deletionProtectionEnabled", message)
}
