//! What runs upstream is polled when due, and else waited for.

use std::ops::ControlFlow::Break;

use crate::external::OperationVerb;
use crate::managed::{
    context::ReconcileContext,
    poll::{poll as poll_now, wait_for_poll},
    rules, running,
    status::OperationReport,
    step::{Flow, NEXT},
};

/// A creation that runs may be deleted without waiting for its end.
fn is_deleted_early(ctx: &ReconcileContext, operation: &OperationReport) -> bool {
    ctx.deleting()
        && operation.verb == OperationVerb::Create
        && rules::may_be_deleted_while_created(ctx.snapshot)
        && !running::name_of(ctx, operation).is_empty()
}

/// The user changed something since, and an Update may go beside what runs.
fn is_updated_beside(ctx: &ReconcileContext, operation: &OperationReport) -> bool {
    let is_newer =
        ctx.snapshot.managed.generation != operation.generation && operation.verb != OperationVerb::Delete;
    is_newer
        && ctx.snapshot.kind.capabilities.concurrent_update
        && !ctx.deleting()
        && !running::name_of(ctx, operation).is_empty()
}

pub fn poll(ctx: &ReconcileContext) -> Flow {
    let due = ctx.memory.operation.is_poll_due(ctx.snapshot.now);
    match running::followed(ctx) {
        Some(operation) if due && !is_deleted_early(ctx, &operation) => {
            Break(poll_now(ctx, &operation, &running::name_of(ctx, &operation)))
        }
        Some(_) | None => NEXT,
    }
}

pub fn wait(ctx: &ReconcileContext) -> Flow {
    match running::followed(ctx) {
        Some(operation) if !is_deleted_early(ctx, &operation) && !is_updated_beside(ctx, &operation) => {
            Break(wait_for_poll(ctx, ctx.memory.operation.next_poll()))
        }
        Some(_) | None => NEXT,
    }
}
