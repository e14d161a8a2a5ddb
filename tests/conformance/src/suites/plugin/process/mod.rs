//! The plugin as a process: how it starts, and how it ends.

mod drain;

use std::{os::unix::fs::PermissionsExt, time::Duration};

use crossbridge_proto::v1alpha1 as wire;

use crate::{
    assertion::assertions,
    client::{CallOptions, describe},
    process_control::Replica,
    readiness::START_LIMIT,
    run_context::RunContext,
    suite::Suite,
    suites::plugin::kinds::{judge_elsewhere, snapshot},
    verdict::{Judgement, Stop, holds},
};

/// Calls may take 60 s; the end itself no longer than this beyond.
const END_LIMIT: Duration = Duration::from_secs(75);

assertions! {
    PRIVATE = "process/socket-private", Durable, "plugin_service.proto",
        "Only its owner can reach the plugin's Unix socket.",
        "Bind under another name, set mode 0600, then rename it into place.";
    STALE = "process/stale-socket-replaced", Durable, "plugin_service.proto",
        "A stale socket of a killed process does not keep the next one from serving.",
        "Remove a socket on which no process listens before you bind.";
    IN_USE = "process/socket-in-use-kept", Durable, "plugin_service.proto",
        "A second process at a socket in use ends with an error, and the first continues.",
        "Try to connect before you remove a socket.";
    NEW_INSTANCE = "process/new-instance-id", Durable, "GetPluginInfoResponse.instance_id",
        "After a restart the instance id is another one.",
        "Draw it at random when the process starts.";
    DRAINED = "process/sigterm-drains-calls", Durable, "plugin_service.proto",
        "Each call in flight at SIGTERM is answered, or rejected as UNAVAILABLE or CANCELLED and has no effect.",
        "Stop accepting, wait for the calls that were accepted, then end.";
    NOT_SERVING = "process/sigterm-not-serving", Durable, "plugin_service.proto",
        "At SIGTERM a health watch receives NOT_SERVING.",
        "Set the status of grpc.health.v1 before you stop accepting calls.";
    ENDED = "process/sigterm-exits-0", Durable, "plugin_service.proto",
        "After SIGTERM the process ends by itself, with exit code 0.",
        "End when no call runs any more, also if connections are still open.";
}

pub(crate) const SUITE: Suite<RunContext> = Suite {
    assertions: ALL,
    run: |run_ctx| Box::pin(run(run_ctx)),
};

async fn run(run_ctx: &RunContext) -> Result<(), Stop> {
    let kinds = snapshot(run_ctx).await;
    restart(run_ctx).await?;
    if let Ok(before) = &kinds {
        judge_elsewhere(run_ctx, before, "after a restart").await;
    }
    let mut replica = run_ctx.process_control.start_replica().await?;
    if let Ok(before) = &kinds {
        let mut other = run_ctx.clone();
        other.client = run_ctx.client.over(replica.channel.clone());
        judge_elsewhere(&other, before, "a replica").await;
    }
    run_ctx.judge(PRIVATE, private(&replica));
    run_ctx.judge(IN_USE, in_use(run_ctx, &replica).await);
    let drained = drain::Drained::begin(run_ctx, &replica).await?;
    match drained.not_serving_report.clone() {
        Some(judgement) => run_ctx.judge(NOT_SERVING, judgement),
        None => run_ctx.not_applicable(
            NOT_SERVING,
            "its health cannot be watched, or is not SERVING before",
        ),
    }
    let end = replica.process.ended(END_LIMIT).await;
    run_ctx.judge(
        ENDED,
        match end {
            None => Err(format!("it still runs after {} s", END_LIMIT.as_secs())),
            Some(status) => holds(status.success(), || format!("it ended with {status}")),
        },
    );
    let judgement = drained.judgement().await?;
    run_ctx.judge(DRAINED, judgement);
    Ok(())
}

/// Restarts the plugin by whatever means the author gave.
async fn restart(run_ctx: &RunContext) -> Result<(), Stop> {
    let channel = run_ctx.client.channel();
    let before = instance(run_ctx).await?;
    run_ctx.process_control.restart(&channel).await?;
    if !run_ctx.process_control.has_socket() {
        run_ctx.not_applicable(STALE, "the plugin listens at no socket that the kit knows");
    } else if run_ctx.process_control.owns_plugin() {
        let stale = holds(!run_ctx.process_control.had_stale_socket(), || {
            "it ended because of the socket that was there".to_owned()
        });
        run_ctx.judge(STALE, stale);
    }
    let after = instance(run_ctx).await?;
    run_ctx.judge(
        NEW_INSTANCE,
        holds(before != after, || format!("it is {after:?} as before")),
    );
    Ok(())
}

async fn instance(run_ctx: &RunContext) -> Result<String, Stop> {
    let options = CallOptions::within(Duration::from_secs(5)).tolerant();
    let response = run_ctx
        .client
        .get_plugin_info(wire::GetPluginInfoRequest::default(), options)
        .await;
    response
        .map(|info| info.instance_id)
        .map_err(|status| Stop::blocked(describe(&status)))
}

fn private(replica: &Replica) -> Judgement {
    let Some(path) = replica.endpoint.socket() else {
        return Ok(());
    };
    let mode = std::fs::metadata(path)
        .map_err(|error| error.to_string())?
        .permissions()
        .mode();
    holds(mode.trailing_zeros() >= 6, || {
        format!("its mode is {:o}", mode & 0o777)
    })
}

/// Starts another one at the same socket.
async fn in_use(run_ctx: &RunContext, replica: &Replica) -> Judgement {
    let mut second = run_ctx
        .process_control
        .start_at(&replica.endpoint)
        .await
        .map_err(|error| error.to_string())?;
    // It looks at the socket when it has started.
    let end = second.ended(START_LIMIT).await;
    let client = run_ctx.client.over(replica.channel.clone());
    let first = client
        .get_plugin_info(
            wire::GetPluginInfoRequest::default(),
            CallOptions::within(Duration::from_secs(5)).tolerant(),
        )
        .await;
    first.map_err(|status| format!("the first one no longer answers: {}", describe(&status)))?;
    match end {
        Some(status) => holds(!status.success(), || "the second one ended with 0".to_owned()),
        None => Err("the second one serves there too".to_owned()),
    }
}
