//! The plugin over the network: who is served, and who is not.

use std::time::Duration;

use crossbridge_proto::v1alpha1::{GetPluginInfoRequest, plugin_service_client::PluginServiceClient};

use crate::{
    assertion::assertions,
    bench::Bench,
    certificates::{Certificates, free_address},
    client::told,
    endpoint::Endpoint,
    hands::Replica,
    story::Story,
    verdict::{Judgement, Stop},
};

/// By then a client is served or not.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

assertions! {
    LOOPBACK = "process/loopback-served", Durable, "plugin_service.proto",
        "At http://127.0.0.1:port the plugin is served without TLS.",
        "Listen on the address in PROVIDER_PLUGIN_ENDPOINT; speak HTTP/2 without an upgrade.";
    SERVED = "process/https-served", Durable, "plugin_service.proto",
        "At https:// a client whose certificate PROVIDER_PLUGIN_TLS_CA vouches for is served.",
        "Read certificate, key and the clients' CA from the PEM files that the variables name; speak HTTP/2 by ALPN.";
    REFUSED = "process/strangers-refused", Durable, "plugin_service.proto",
        "At https:// a client without a certificate, or with one of another authority, is not served.",
        "Require a certificate of each client, and verify it against PROVIDER_PLUGIN_TLS_CA.";
}

pub(crate) const STORY: Story<Bench> = Story {
    assertions: ALL,
    run: |bench| Box::pin(run(bench)),
};

async fn run(bench: &Bench) -> Result<(), Stop> {
    loopback(bench).await?;
    let blocked = |error: std::io::Error| Stop::blocked(format!("cannot make certificates: {error}"));
    let folder = tempfile::tempdir().map_err(blocked)?;
    let certificates = Certificates::make(folder.path()).map_err(blocked)?;
    let address = free_address().map_err(blocked)?;
    let replica = match bench.hands.own_over_tls(&certificates, &address).await {
        Err(Stop::Blocked(why)) => {
            bench.judge(SERVED, Err(why.clone()));
            return Err(Stop::Blocked(why));
        }
        other => other?,
    };
    bench.judge(SERVED, Ok(()));
    bench.judge(REFUSED, refused(&replica, &certificates).await);
    killed(replica).await
}

async fn loopback(bench: &Bench) -> Result<(), Stop> {
    let address = free_address().map_err(|error| Stop::blocked(error.to_string()))?;
    match bench
        .hands
        .own_on_loopback(&address.replace("https://", "http://"))
        .await
    {
        Ok(replica) => {
            bench.judge(LOOPBACK, Ok(()));
            killed(replica).await
        }
        Err(Stop::Blocked(why)) => {
            bench.judge(LOOPBACK, Err(why));
            Ok(())
        }
        Err(stop) => Err(stop),
    }
}

async fn killed(replica: Replica) -> Result<(), Stop> {
    let killed = replica.process.kill().await;
    killed.map_err(|error| Stop::blocked(format!("cannot kill the plugin: {error}")))
}

async fn refused(replica: &Replica, certificates: &Certificates) -> Judgement {
    let stranger = Endpoint::new(replica.endpoint.uri(), Some(certificates.stranger.clone()))
        .map_err(|error| error.to_string())?;
    for (who, endpoint) in [
        ("without a certificate", replica.endpoint.nameless()),
        ("of another authority", stranger),
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
        Ok(Err(status)) => Err(told(&status)),
        Err(_) => Err("no answer came".to_owned()),
    }
}
