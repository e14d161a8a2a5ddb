//! Calls without a deadline, with too long a one, and too late.

use std::time::Duration;

use tonic::{Code, Status};

use super::{DEADLINE_REQUIRED, EXPIRED_DEADLINE, LONG_DEADLINE, nothing_made};
use crate::{
    assertion::Assertion,
    client::{CallOptions, describe},
    kind_context::KindContext,
    verdict::{Judgement, Stop},
};

pub(super) async fn run(ctx: &KindContext) -> Result<(), Stop> {
    let cases: [(&'static Assertion, CallOptions); 3] = [
        (DEADLINE_REQUIRED, CallOptions::without_deadline()),
        (LONG_DEADLINE, CallOptions::within(Duration::from_secs(75))),
        (EXPIRED_DEADLINE, ctx.options().expired()),
    ];
    for (assertion, options) in cases {
        rejected_create(ctx, assertion, options).await?;
        rejected_change(ctx, assertion, options).await?;
    }
    Ok(())
}

async fn rejected_create(
    ctx: &KindContext,
    assertion: &'static Assertion,
    options: CallOptions,
) -> Result<(), Stop> {
    let mut resource = ctx.resource()?;
    let response = ctx.create_under(&mut resource, false, options).await;
    let judgement = not_begun("Create", response.map(drop));
    if judgement.is_ok() {
        resource.rejected = true;
        ctx.run_ctx.registry.add(&resource);
    }
    let created = nothing_made(ctx, &resource).await?;
    ctx.run_ctx.judge(assertion, judgement.and(created));
    ctx.remove(&resource).await
}

/// Update and Delete of what does not exist: nothing comes of them in any case.
async fn rejected_change(
    ctx: &KindContext,
    assertion: &'static Assertion,
    options: CallOptions,
) -> Result<(), Stop> {
    let mut resource = ctx.resource()?;
    if resource.name().is_empty() {
        resource = resource.with_name(&ctx.unused_name("")?);
    }
    if ctx.kind.capabilities.can_update {
        let response = ctx.run_ctx.client.update(resource.update(), options).await;
        ctx.run_ctx
            .judge(assertion, not_begun("Update", response.map(drop)));
    }
    if ctx.kind.capabilities.can_delete {
        let response = ctx.run_ctx.client.delete(resource.delete(), options).await;
        ctx.run_ctx
            .judge(assertion, not_begun("Delete", response.map(drop)));
    }
    Ok(())
}

fn not_begun(method: &str, response: Result<(), Status>) -> Judgement {
    match response {
        Err(status) if status.code() == Code::FailedPrecondition => Ok(()),
        Err(status) => Err(format!(
            "{method}: expected FAILED_PRECONDITION, got {}",
            describe(&status)
        )),
        Ok(()) => Err(format!("{method}: expected FAILED_PRECONDITION, got an answer")),
    }
}
