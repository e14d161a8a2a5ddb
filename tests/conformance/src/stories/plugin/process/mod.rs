//! The plugin as a process: how it starts, and how it ends.

mod drain;

use std::{os::unix::fs::PermissionsExt, time::Duration};

use crossbridge_proto::v1alpha1 as wire;

use crate::{
    assertion::assertions,
    bench::Bench,
    client::{Terms, told},
    hands::Replica,
    stories::plugin::kinds::{judge_elsewhere, snapshot},
    story::Story,
    verdict::{Judgement, Stop, holds},
};

/// Calls may take 60 s; the end itself no longer than this beyond.
const END_LIMIT: Duration = Duration::from_secs(75);

assertions! {
    PRIVATE = "process/socket-private", Durable, "plugin_service.proto",
        "Nobody but its owner can reach the plugin's Unix socket.",
        "Bind under another name, set mode 0600, then rename it into place.";
    STALE = "process/stale-socket-replaced", Durable, "plugin_service.proto",
        "A socket that a killed process left behind does not keep the next one from serving.",
        "Remove a socket to which nobody listens before you bind.";
    IN_USE = "process/socket-in-use-kept", Durable, "plugin_service.proto",
        "A second process at a socket that is served ends with an error, and the first goes on.",
        "Try to connect before you remove a socket.";
    NEW_INSTANCE = "process/new-instance-id", Durable, "GetPluginInfoResponse.instance_id",
        "After a restart the instance id is another one.",
        "Draw it at random when the process starts.";
    DRAINED = "process/sigterm-lets-calls-end", Durable, "plugin_service.proto",
        "Each call of the moment of SIGTERM is answered, or refused as UNAVAILABLE or CANCELLED and does nothing.",
        "Stop accepting, wait for the calls that were accepted, then end.";
    FAREWELL = "process/sigterm-not-serving", Durable, "plugin_service.proto",
        "At SIGTERM whoever watches its health hears NOT_SERVING.",
        "Set the status of grpc.health.v1 before you stop accepting calls.";
    ENDED = "process/sigterm-exits-0", Durable, "plugin_service.proto",
        "After SIGTERM the process ends by itself, with exit code 0.",
        "End when no call runs any more, also if connections are still open.";
}

pub(crate) const STORY: Story<Bench> = Story {
    assertions: ALL,
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: &Bench) -> Result<(), Stop> {
    let kinds = snapshot(bench).await;
    restart(bench).await?;
    if let Ok(before) = &kinds {
        judge_elsewhere(bench, before, "after a restart").await;
    }
    let mut replica = bench.hands.own_replica().await?;
    if let Ok(before) = &kinds {
        let mut other = bench.clone();
        other.client = bench.client.over(replica.channel.clone());
        judge_elsewhere(&other, before, "a replica").await;
    }
    bench.judge(PRIVATE, private(&replica));
    bench.judge(IN_USE, in_use(bench, &replica).await);
    let drained = drain::Drained::begin(bench, &replica).await?;
    match drained.farewell.clone() {
        Some(judgement) => bench.judge(FAREWELL, judgement),
        None => bench.not_applicable(FAREWELL, "its health cannot be watched, or is not SERVING before"),
    }
    let end = replica.process.ended(END_LIMIT).await;
    bench.judge(
        ENDED,
        match end {
            None => Err(format!("it still runs after {} s", END_LIMIT.as_secs())),
            Some(status) => holds(status.success(), || format!("it ended with {status}")),
        },
    );
    let judgement = drained.judgement().await?;
    bench.judge(DRAINED, judgement);
    Ok(())
}

/// With whatever hand there is on the plugin itself.
async fn restart(bench: &Bench) -> Result<(), Stop> {
    let channel = bench.client.channel();
    let before = instance(bench).await?;
    bench.hands.restart(&channel).await?;
    if bench.hands.has_own() {
        let stale = holds(!bench.hands.was_stale(), || {
            "it ended because of the socket that was there".to_owned()
        });
        bench.judge(STALE, stale);
    }
    let after = instance(bench).await?;
    bench.judge(
        NEW_INSTANCE,
        holds(before != after, || format!("it is {after:?} as before")),
    );
    Ok(())
}

async fn instance(bench: &Bench) -> Result<String, Stop> {
    let terms = Terms::within(Duration::from_secs(5)).rough();
    let answer = bench
        .client
        .get_plugin_info(wire::GetPluginInfoRequest::default(), terms)
        .await;
    answer
        .map(|info| info.instance_id)
        .map_err(|status| Stop::blocked(told(&status)))
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
async fn in_use(bench: &Bench, replica: &Replica) -> Judgement {
    let mut second = bench
        .hands
        .start_at(&replica.endpoint)
        .await
        .map_err(|error| error.to_string())?;
    let end = second.ended(Duration::from_secs(10)).await;
    let client = bench.client.over(replica.channel.clone());
    let first = client
        .get_plugin_info(
            wire::GetPluginInfoRequest::default(),
            Terms::within(Duration::from_secs(5)).rough(),
        )
        .await;
    first.map_err(|status| format!("the first one no longer answers: {}", told(&status)))?;
    match end {
        Some(status) => holds(!status.success(), || "the second one ended with 0".to_owned()),
        None => Err("the second one serves there too".to_owned()),
    }
}
