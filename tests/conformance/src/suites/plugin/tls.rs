//! The plugin over the network: who is served, and who is not.

use std::time::Duration;

use crossbridge_proto::v1alpha1::{GetPluginInfoRequest, plugin_service_client::PluginServiceClient};

use crate::{
    assertion::assertions,
    certificates::{Certificates, free_address},
    client::describe,
    endpoint::Endpoint,
    process_control::Replica,
    run_context::RunContext,
    suite::Suite,
    verdict::{Judgement, Stop},
};

/// By then a client is served or not.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

assertions! {
    LOOPBACK = "process/loopback-served", Durable, "plugin_service.proto",
        "At http://127.0.0.1:port the plugin is served without TLS.",
        "Listen on the address in PROVIDER_PLUGIN_ENDPOINT; speak HTTP/2 without an upgrade.";
    SERVED = "process/https-served", Durable, "plugin_service.proto",
        "At https:// a client whose certificate verifies against PROVIDER_PLUGIN_TLS_CA is served.",
        "Read certificate, key and the clients' CA from the PEM files that the variables name; speak HTTP/2 by ALPN.";
    REJECTED = "process/untrusted-clients-rejected", Durable, "plugin_service.proto",
        "At https:// a client without a certificate, or with one of another authority, is not served.",
        "Require a certificate of each client, and verify it against PROVIDER_PLUGIN_TLS_CA.";
}

pub(crate) const SUITE: Suite<RunContext> = Suite {
    assertions: ALL,
    run: |run_ctx| Box::pin(run(run_ctx)),
};

async fn run(run_ctx: &RunContext) -> Result<(), Stop> {
    loopback(run_ctx).await?;
    let blocked = |error: std::io::Error| Stop::blocked(format!("cannot create certificates: {error}"));
    let folder = tempfile::tempdir().map_err(blocked)?;
    let certificates = Certificates::generate(folder.path()).map_err(blocked)?;
    let address = free_address().map_err(blocked)?;
    let replica = match run_ctx
        .process_control
        .start_with_tls(&certificates, &address)
        .await
    {
        Err(Stop::Blocked(why)) => {
            run_ctx.judge(SERVED, Err(why.clone()));
            return Err(Stop::Blocked(why));
        }
        other => other?,
    };
    run_ctx.judge(SERVED, Ok(()));
    run_ctx.judge(REJECTED, rejected(&replica, &certificates).await);
    killed(replica).await
}

async fn loopback(run_ctx: &RunContext) -> Result<(), Stop> {
    let address = free_address().map_err(|error| Stop::blocked(error.to_string()))?;
    match run_ctx
        .process_control
        .start_on_loopback(&address.replace("https://", "http://"))
        .await
    {
        Ok(replica) => {
            run_ctx.judge(LOOPBACK, Ok(()));
            killed(replica).await
        }
        Err(Stop::Blocked(why)) => {
            run_ctx.judge(LOOPBACK, Err(why));
            Ok(())
        }
        Err(stop) => Err(stop),
    }
}

async fn killed(replica: Replica) -> Result<(), Stop> {
    let killed = replica.process.kill().await;
    killed.map_err(|error| Stop::blocked(format!("cannot kill the plugin: {error}")))
}

async fn rejected(replica: &Replica, certificates: &Certificates) -> Judgement {
    let untrusted = Endpoint::new(replica.endpoint.uri(), Some(certificates.untrusted.clone()))
        .map_err(|error| error.to_string())?;
    for (who, endpoint) in [
        ("without a certificate", replica.endpoint.without_name()),
        ("of another authority", untrusted),
    ] {
        if served(&endpoint).await.is_ok() {
            return Err(format!("a client {who} is served"));
        }
    }
    served(&replica.endpoint)
        .await
        .map_err(|why| format!("afterwards its own client is not served: {why}"))
}

async fn served(endpoint: &Endpoint) -> Result<(), String> {
    let channel = endpoint.channel(None).map_err(|error| error.to_string())?;
    let mut client = PluginServiceClient::new(channel);
    let asked = client.get_plugin_info(GetPluginInfoRequest::default());
    match tokio::time::timeout(ANSWER_WITHIN, asked).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(status)) => Err(describe(&status)),
        Err(_) => Err("no answer came".to_owned()),
    }
}
