//! SQS: the kind Queue.

mod create;
mod kind;
pub(super) mod model;
mod read;
mod write;

use crossbridge_sdk::{
    Call, Create, Delete, Failure, Kind, Known, Observed, Outcome, Resource, Update, async_trait,
};

pub(crate) use kind::Queue;
use model::{QueueParameters, QueueStatus};

#[async_trait]
impl Resource for Queue {
    type Parameters = QueueParameters;
    type Status = QueueStatus;

    fn kind() -> Kind {
        kind::definition()
    }

    async fn observe(
        &self,
        call: &Call,
        desired: &Known<QueueParameters>,
    ) -> Result<Observed<Self>, Failure> {
        let context = read::context(&self.sessions, call, &desired.json).await?;
        read::observe(&context, &desired.json).await
    }

    async fn create(&self, call: &Call, create: &Create<QueueParameters>) -> Result<Outcome<Self>, Failure> {
        create::create(&self.sessions, call, create).await
    }

    async fn update(&self, call: &Call, update: &Update<QueueParameters>) -> Result<Outcome<Self>, Failure> {
        let desired = &update.desired.parameters;
        desired.check()?;
        let context = read::context(&self.sessions, call, &update.desired.json).await?;
        write::update(&context, desired).await
    }

    async fn delete(&self, call: &Call, delete: &Delete<QueueParameters>) -> Result<Outcome<Self>, Failure> {
        let context = read::context(&self.sessions, call, &delete.desired.json).await?;
        write::delete(&context).await
    }
}
