//! DynamoDB: the kind Table.

mod create;
mod kind;
pub(super) mod model;
mod operation;
mod read;
mod write;

use crossbridge_sdk::{
    Call, Create, Delete, Failure, Kind, Known, Observed, Outcome, Poll, Resource, Update, async_trait,
};

pub(crate) use kind::Table;
use model::{TableParameters, TableStatus};

#[async_trait]
impl Resource for Table {
    type Parameters = TableParameters;
    type Status = TableStatus;

    fn kind() -> Kind {
        kind::definition()
    }

    async fn observe(
        &self,
        call: &Call,
        desired: &Known<TableParameters>,
    ) -> Result<Observed<Self>, Failure> {
        let context = read::context(&self.sessions, call, &desired.json).await?;
        read::find::observe(&context, desired.parameters.as_ref()).await
    }

    async fn create(&self, call: &Call, create: &Create<TableParameters>) -> Result<Outcome<Self>, Failure> {
        Box::pin(create::create(&self.sessions, call, create)).await
    }

    async fn update(&self, call: &Call, update: &Update<TableParameters>) -> Result<Outcome<Self>, Failure> {
        let desired = &update.desired.parameters;
        desired.check()?;
        let context = read::context(&self.sessions, call, &update.desired.json).await?;
        write::update(&context, desired).await
    }

    async fn delete(&self, call: &Call, delete: &Delete<TableParameters>) -> Result<Outcome<Self>, Failure> {
        let context = read::context(&self.sessions, call, &delete.desired.json).await?;
        write::delete(&context, delete.desired.parameters.as_ref()).await
    }

    async fn poll(&self, call: &Call, poll: &Poll<TableParameters>) -> Result<Outcome<Self>, Failure> {
        Box::pin(operation::poll::poll(&self.sessions, call, poll)).await
    }
}
