//! S3: the kind Bucket.

mod create;
mod kind;
pub(super) mod model;
mod read;
mod write;

use crossbridge_sdk::{
    Call, Create, Delete, Failure, Kind, Known, Observed, Outcome, Resource, Update, async_trait,
};

use crate::context::CallContext;
use crate::session::region_of;
pub(crate) use kind::Bucket;
use model::{BucketParameters, BucketStatus};

#[async_trait]
impl Resource for Bucket {
    type Parameters = BucketParameters;
    type Status = BucketStatus;

    fn kind() -> Kind {
        kind::definition()
    }

    async fn observe(
        &self,
        call: &Call,
        desired: &Known<BucketParameters>,
    ) -> Result<Observed<Self>, Failure> {
        let region = region_of(&desired.json);
        let context = CallContext::regional(&self.sessions, call, region).await?;
        read::observe(&self.sessions, context).await
    }

    async fn create(&self, call: &Call, create: &Create<BucketParameters>) -> Result<Outcome<Self>, Failure> {
        let region = create.desired.parameters.region.as_deref();
        create.desired.parameters.check()?;
        let context = CallContext::regional(&self.sessions, call, region).await?;
        create::create(&self.sessions, context, create).await
    }

    async fn update(&self, call: &Call, update: &Update<BucketParameters>) -> Result<Outcome<Self>, Failure> {
        let desired = &update.desired.parameters;
        desired.check()?;
        let context = CallContext::regional(&self.sessions, call, desired.region.as_deref()).await?;
        write::update(&self.sessions, context, desired).await
    }

    async fn delete(&self, call: &Call, delete: &Delete<BucketParameters>) -> Result<Outcome<Self>, Failure> {
        let region = region_of(&delete.desired.json);
        let context = CallContext::regional(&self.sessions, call, region).await?;
        write::delete(&self.sessions, context).await
    }
}
