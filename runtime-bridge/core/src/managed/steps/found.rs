//! What is found under the resource's name, and whether that is this object's at all.

use std::ops::ControlFlow::Break;

use crate::managed::{
    context::{Found, ReconcileContext},
    rules,
    step::{Flow, NEXT},
};
use crate::reasons::StopReason;

pub fn observe(ctx: &ReconcileContext) -> Flow {
    match ctx.found() {
        Found::Unobserved(name) => Break(ctx.observe(name)),
        Found::Unidentified | Found::Exists(..) | Found::Absent(_) => NEXT,
    }
}

/// What was found is in another account than ours: it is left alone, and ours is not forgotten.
pub fn stop_in_another_account(ctx: &ReconcileContext) -> Flow {
    let (Some(record), Found::Exists(_, observation)) = (ctx.record(), ctx.found()) else {
        return NEXT;
    };
    if !rules::found_in_another_account(ctx.snapshot, record, observation) {
        return NEXT;
    }
    let now = ctx.snapshot.config.as_ref().map_or("", |config| &config.identity);
    Break(ctx.stop(
        StopReason::ConfigIdentityChanged,
        format!(
            "the ProviderConfig is now authenticated as {now:?}, and {:?} was created as {:?}: what has this name there is another one; put the ProviderConfig back",
            observation.external_name, record.config.identity
        ),
    ))
}

pub fn stop_at_foreign_owner(ctx: &ReconcileContext) -> Flow {
    let owner = ctx
        .observation()
        .and_then(|observation| rules::foreign_owner(ctx.snapshot, observation));
    match owner {
        Some(why) => Break(ctx.stop(StopReason::DoublyOwned, why)),
        None => NEXT,
    }
}
