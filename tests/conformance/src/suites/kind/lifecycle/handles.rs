//! Operations and their handles.

use super::{
    assertions::{
        FOREIGN_HANDLE, FOREIGN_NOT_POLLED, FORMER_POLLED, HANDLE_STABLE, OLD_HANDLES, PROGRESS,
        TERMINAL_RESPONSE_STABLE, UNKNOWN_HANDLE,
    },
    judge,
};
use crate::{
    client::describe,
    kind_context::{CallTrace, KindContext, TestResource, new_marker},
    verdict::Stop,
};

/// The course of an operation.
pub(super) fn course(ctx: &KindContext, trace: &CallTrace) {
    let run_ctx = &ctx.run_ctx;
    if trace.handles().is_empty() {
        for assertion in [PROGRESS, HANDLE_STABLE] {
            run_ctx.not_applicable(assertion, "it was done at once");
        }
    } else {
        run_ctx.judge(PROGRESS, judge::progress_monotonic(trace));
        run_ctx.judge(HANDLE_STABLE, judge::handle_stable(trace));
    }
}

/// Handles that the plugin never gave.
pub(super) async fn garbage(ctx: &KindContext, resource: &TestResource, trace: &CallTrace) {
    let hands_out = !trace.handles().is_empty();
    for garbage in ["garbage", "{\"v\":9}", "\u{7}"] {
        let poll = resource.poll(garbage);
        let response = ctx.run_ctx.client.poll_operation(poll, ctx.options()).await;
        ctx.run_ctx.judge(
            UNKNOWN_HANDLE,
            judge::unknown_handle_rejected(response, hands_out),
        );
    }
}

/// Every handle that was given out, polled again after the end.
pub(super) async fn old(ctx: &KindContext, resource: &TestResource, trace: &CallTrace) {
    let handles = trace.handles();
    if handles.is_empty() {
        for assertion in [OLD_HANDLES, TERMINAL_RESPONSE_STABLE] {
            ctx.run_ctx.not_applicable(assertion, "it was done at once");
        }
    }
    for handle in handles {
        let poll = resource.poll(handle);
        let response = ctx.run_ctx.client.poll_operation(poll, ctx.options()).await;
        ctx.run_ctx.judge(OLD_HANDLES, judge::handle_accepted(&response));
        ctx.run_ctx.judge(
            TERMINAL_RESPONSE_STABLE,
            judge::same_terminal_response(trace, response),
        );
    }
}

/// A handle of this resource's, polled as another's, and under another marker and the former one.
pub(super) async fn others(
    ctx: &KindContext,
    resource: &TestResource,
    trace: &CallTrace,
) -> Result<(), Stop> {
    let run_ctx = &ctx.run_ctx;
    let handles = trace.handles();
    let Some(handle) = handles.last() else {
        for assertion in [FOREIGN_HANDLE, FOREIGN_NOT_POLLED, FORMER_POLLED] {
            run_ctx.not_applicable(assertion, "it was done at once");
        }
        return Ok(());
    };
    let poll = |resource: &TestResource| {
        run_ctx
            .client
            .poll_operation(resource.poll(handle), ctx.options())
    };
    let other = resource.clone().with_name(&ctx.unused_name("")?);
    run_ctx.judge(FOREIGN_HANDLE, judge::not_shown(poll(&other).await));
    if !ctx.kind.capabilities.holds_marker {
        for assertion in [FOREIGN_NOT_POLLED, FORMER_POLLED] {
            run_ctx.not_applicable(assertion, "the kind holds no marker");
        }
        return Ok(());
    }
    let marker = new_marker();
    let response = poll(&resource.clone().with_marker(&marker)).await;
    run_ctx.judge(
        FOREIGN_NOT_POLLED,
        match response {
            Ok(response) => {
                judge::is_not_found(&response).map_err(|seen| format!("expected NOT_FOUND, got {seen}"))
            }
            Err(status) => Err(format!("expected Failure NOT_FOUND, got {}", describe(&status))),
        },
    );
    let response = poll(&resource.clone().with_restored_marker(&marker)).await;
    run_ctx.judge(FORMER_POLLED, judge::handle_accepted(&response));
    Ok(())
}
