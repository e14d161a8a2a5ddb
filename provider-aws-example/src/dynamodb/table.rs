//! The kind Table.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use aws_sdk_dynamodb::types::TableStatus as Status;
use crossbridge_sdk::serde_json::{Map, Value};
use crossbridge_sdk::{
    Call, Create, Delete, Failure, Kind, Known, Observation, Observed, Operation, OperationVerb, Outcome,
    Poll, Resource, Update, async_trait,
};

use super::look::{self, Found};
use super::model::{TableParameters, TableStatus};
use super::{aspects, change, check, kind, plan, wished};
use crate::handle::Handle;
use crate::ownership::{Owner, not_ours, wanted};
use crate::session::{Session, Sessions, region_of};
use crate::upstream::Steps;

/// How often to ask about a table that AWS works on.
const RHYTHM: Duration = Duration::from_secs(5);

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

    async fn session(&self, call: &Call, json: &Map<String, Value>) -> Result<Arc<Session>, Failure> {
        self.sessions.regional(&call.config, region_of(json)).await
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
        let steps = Steps::new(call.deadline);
        let session = self.session(call, &desired.json).await?;
        match look::look(&session, &steps, &call.target, desired.parameters.as_ref()).await? {
            Some(found) => Ok(Observation::from(found).into()),
            None => Ok(Observed::absent()),
        }
    }

    async fn create(&self, call: &Call, create: &Create<TableParameters>) -> Result<Outcome<Self>, Failure> {
        let steps = Steps::new(call.deadline);
        let wish = &create.desired.parameters;
        check::check(wish)?;
        let session = self.session(call, &create.desired.json).await?;
        if create.outcome_unknown
            && let Some(found) = look::look(&session, &steps, &call.target, Some(wish)).await?
        {
            return earlier_work(call, &session, found, wish);
        }
        let name = &call.target.external_name;
        let tags = wanted(wish.tags.as_ref(), &call.target.ownership_marker);
        let request = wished::create(session.dynamodb(), name, wish, &tags)?;
        let made = match steps.change("dynamodb:CreateTable", request.send()).await {
            Ok(made) => made.table_description,
            Err(refusal) if refusal.is("ResourceInUseException") => {
                let found = look::describe(session.dynamodb(), &steps, name).await?;
                let leaving = found.is_none_or(|table| table.table_status() == Some(&Status::Deleting));
                return Err(refusal.told_as(if leaving {
                    let message = format!("a former table {name:?} is still being deleted");
                    Failure::dependency_not_ready(message)
                        .reason("FormerTableDeleting")
                        .retry_after(RHYTHM)
                } else {
                    exists(name)
                }));
            }
            Err(refusal) => return Err(refusal.into()),
        };
        let handle = Handle::new(OperationVerb::Create, name, Some(&session.region));
        let arn = made.and_then(|table| table.table_arn).unwrap_or_default();
        Ok(outcome(call, &session, &handle, Some(wish))?.canonical_id(arn))
    }

    async fn update(&self, call: &Call, update: &Update<TableParameters>) -> Result<Outcome<Self>, Failure> {
        let steps = Steps::new(call.deadline);
        let wish = &update.desired.parameters;
        check::check(wish)?;
        let session = self.session(call, &update.desired.json).await?;
        let name = &call.target.external_name;
        let Some(found) = look::look(&session, &steps, &call.target, Some(wish)).await? else {
            return Err(Failure::not_found(format!("there is no table {name:?}")));
        };
        if found.owner(&call.target) == Owner::Another {
            return Err(not_ours(&format!("the table {name:?}")));
        }
        if found.running().is_some() || found.status != Status::Active {
            return Err(busy(&found));
        }
        if let Some((path, message)) = plan::immutable(wish, &found.parameters) {
            return Err(Failure::immutable_field(message).violation(path, message));
        }
        change::tags(&session, &steps, &found, wish, &call.target.ownership_marker).await?;
        if let Some(next) = plan::next(wish, &found.parameters) {
            change::send(&session, &steps, name, wish, next).await?;
            return outcome(call, &session, &found.handle(OperationVerb::Update), Some(wish));
        }
        // Last, as AWS may let these rest for an hour.
        aspects::converge(session.dynamodb(), &steps, name, wish, &found.parameters).await?;
        // The work is done, whether or not it can be looked at.
        match look::look(&session, &steps, &call.target, Some(wish)).await {
            Ok(Some(found)) => Ok(Outcome::observed(Observation::from(found))),
            _ => Ok(Outcome::completed()),
        }
    }

    async fn delete(&self, call: &Call, delete: &Delete<TableParameters>) -> Result<Outcome<Self>, Failure> {
        let steps = Steps::new(call.deadline);
        let wish = delete.desired.parameters.as_ref();
        let session = self.session(call, &delete.desired.json).await?;
        let name = &call.target.external_name;
        let Some(found) = look::look(&session, &steps, &call.target, None).await? else {
            return Ok(Outcome::already_done());
        };
        if found.owner(&call.target) != Owner::Ours {
            return Err(not_ours(&format!("the table {name:?}")));
        }
        let handle = found.handle(OperationVerb::Delete);
        if found.status == Status::Deleting {
            return outcome(call, &session, &handle, None);
        }
        if found.running().is_some() {
            return Err(busy(&found));
        }
        if found.parameters.deletion_protection_enabled == Some(true) {
            if wish.and_then(|wish| wish.deletion_protection_enabled) != Some(false) {
                let message =
                    "the table is protected against deletion: set deletionProtectionEnabled to false";
                let failure = Failure::invalid_spec(message).reason("DeletionProtected");
                return Err(failure.violation("/deletionProtectionEnabled", message));
            }
            change::unprotect(&session, &steps, name).await?;
        }
        match steps
            .change(
                "dynamodb:DeleteTable",
                session.dynamodb().delete_table().table_name(name).send(),
            )
            .await
        {
            Ok(_) => outcome(call, &session, &handle, None),
            Err(refusal) if refusal.is("ResourceNotFoundException") => Ok(Outcome::already_done()),
            Err(refusal) => Err(refusal.into()),
        }
    }

    async fn poll(&self, call: &Call, poll: &Poll<TableParameters>) -> Result<Outcome<Self>, Failure> {
        let handle = Handle::read(&poll.handle, &call.target.external_name)?;
        let steps = Steps::new(call.deadline);
        let wish = poll.desired.parameters.as_ref();
        let session = self
            .sessions
            .regional(&call.config, handle.region.as_deref())
            .await?;
        let found = look::look(&session, &steps, &call.target, wish).await?;
        match (handle.verb(), found) {
            (OperationVerb::Delete, None) => Ok(Outcome::completed()),
            (_, None) => Err(Failure::not_found(format!("the table {:?} is gone", handle.name))),
            (_, Some(found)) => follow(call, &session, &steps, &handle, found, wish).await,
        }
    }
}

/// Where an operation on a table that is there has got to.
async fn follow(
    call: &Call,
    session: &Session,
    steps: &Steps,
    handle: &Handle,
    mut found: Found,
    wish: Option<&TableParameters>,
) -> Result<Outcome<Table>, Failure> {
    match found.owner(&call.target) {
        Owner::Ours => {}
        Owner::Nobody if found.is_new(SystemTime::now()) => return outcome(call, session, handle, wish),
        Owner::Nobody | Owner::Another => return Err(not_ours(&format!("the table {:?}", handle.name))),
    }
    match (handle.verb(), found.running()) {
        (verb, Some(running)) if verb == running => outcome(call, session, handle, wish),
        (OperationVerb::Create, None) => {
            if let Some(wish) = wish {
                let client = session.dynamodb();
                match aspects::converge(client, steps, &found.name, wish, &found.parameters).await {
                    Ok(()) if steps.has_changed() => {
                        // The work is done, whether or not it can be looked at.
                        if let Ok(Some(again)) = look::look(session, steps, &call.target, Some(wish)).await {
                            found = again;
                        }
                    }
                    Ok(()) => {}
                    Err(failure) if change::is_final(&failure) => {
                        // The table is there; the update that follows tells what is wrong with the rest.
                    }
                    Err(failure) => return Err(failure),
                }
            }
            Ok(Outcome::observed(Observation::from(found)))
        }
        (OperationVerb::Delete, None) => {
            let message = format!(
                "the table {:?} is {} although it was deleted",
                found.name,
                found.status.as_str()
            );
            Err(Failure::operation_failed(message))
        }
        // What it did is done; what runs now is something else.
        (OperationVerb::Create | OperationVerb::Update, _) => Ok(Outcome::observed(Observation::from(found))),
        (OperationVerb::Delete, Some(_)) => Err(busy(&found)),
    }
}

/// A creation whose end was unknown has left this.
fn earlier_work(
    call: &Call,
    session: &Session,
    found: Found,
    wish: &TableParameters,
) -> Result<Outcome<Table>, Failure> {
    match found.owner(&call.target) {
        Owner::Another => Err(exists(&found.name)),
        Owner::Nobody => {
            let message = format!("there is a table {:?} whose tags are not known yet", found.name);
            Err(Failure::conflict(message)
                .reason("TagsUnknown")
                .retry_after(RHYTHM))
        }
        Owner::Ours if found.status == Status::Deleting => {
            let message = format!("a former table {:?} is still being deleted", found.name);
            Err(Failure::dependency_not_ready(message)
                .reason("FormerTableDeleting")
                .retry_after(RHYTHM))
        }
        Owner::Ours if found.status == Status::Creating || aspects::are_wished(wish) => {
            let arn = found.arn.clone();
            Ok(outcome(call, session, &found.handle(OperationVerb::Create), Some(wish))?.canonical_id(arn))
        }
        Owner::Ours => Ok(Outcome::already_done()
            .external_name(found.name)
            .canonical_id(found.arn)),
    }
}

/// An operation that runs.
fn outcome(
    call: &Call,
    session: &Session,
    handle: &Handle,
    wish: Option<&TableParameters>,
) -> Result<Outcome<Table>, Failure> {
    let (phase, message) = match handle.verb() {
        OperationVerb::Create => ("Creating", "AWS is creating the table"),
        OperationVerb::Update => ("Updating", "AWS is updating the table"),
        OperationVerb::Delete => ("Deleting", "AWS is deleting the table"),
    };
    let mut operation = Operation::new(handle.verb(), handle.text())
        .poll_after(session.settings.poll_interval(RHYTHM)?)
        .phase(phase)
        .message(message);
    // What only a finished table takes is set by the polls.
    if handle.verb() == OperationVerb::Create && wish.is_some_and(aspects::are_wished) {
        operation = operation.poll_driven();
    }
    Ok(Outcome::operation(operation).external_name(&call.target.external_name))
}

fn busy(found: &Found) -> Failure {
    let message = format!("the table {:?} is {}", found.name, found.status.as_str());
    Failure::conflict(message).reason("TableBusy").retry_after(RHYTHM)
}

fn exists(name: &str) -> Failure {
    Failure::already_exists(
        name,
        format!("a table {name:?} exists already in this account and region"),
    )
}
