//! CloudFront: the kind Distribution.

mod create;
mod kind;
pub(super) mod model;
mod operation;
mod read;
mod write;

use crossbridge_sdk::{
    Call, Create, Delete, Failure, Kind, Known, Observed, Outcome, Poll, Resource, Update, async_trait,
};

pub(crate) use kind::Distribution;
use model::{DistributionParameters, DistributionStatus};

#[async_trait]
impl Resource for Distribution {
    type Parameters = DistributionParameters;
    type Status = DistributionStatus;

    fn kind() -> Kind {
        kind::definition()
    }

    async fn observe(
        &self,
        call: &Call,
        _desired: &Known<DistributionParameters>,
    ) -> Result<Observed<Self>, Failure> {
        let context = read::context(&self.sessions, call).await?;
        read::find::observe(&context).await
    }

    async fn create(
        &self,
        call: &Call,
        create: &Create<DistributionParameters>,
    ) -> Result<Outcome<Self>, Failure> {
        let context = read::context(&self.sessions, call).await?;
        create::create(&context, create).await
    }

    async fn update(
        &self,
        call: &Call,
        update: &Update<DistributionParameters>,
    ) -> Result<Outcome<Self>, Failure> {
        let context = read::context(&self.sessions, call).await?;
        write::update(&context, update).await
    }

    async fn delete(
        &self,
        call: &Call,
        delete: &Delete<DistributionParameters>,
    ) -> Result<Outcome<Self>, Failure> {
        let context = read::context(&self.sessions, call).await?;
        write::delete::delete(&context, &delete.etag).await
    }

    async fn poll(&self, call: &Call, poll: &Poll<DistributionParameters>) -> Result<Outcome<Self>, Failure> {
        operation::poll::poll(&self.sessions, call, poll).await
    }
}
