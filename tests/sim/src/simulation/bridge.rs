//! A bridge, wired as the binary wires it.

use std::{sync::Arc, time::Duration};

use bridge_engine::{
    client::{ApiClient, Clients, DEADLINE},
    clock::Clock,
    lease::Leadership,
    managed::{Detached, ManagedMetrics},
    metrics::Metrics,
};
use bridge_plugin::{Endpoint, Options, Plugin};
use runtime_bridge::{
    plugins::{CallMetrics, Connected},
    serve::{Bridge, Foundation, Identity, generations},
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{kube_link::KubeLink, plugin_host::PluginHost, world::World};

/// How long a process takes to be started again.
const RESTART: Duration = Duration::from_secs(1);

/// Runs a bridge as a pod does: one that ends by an error is started again. Returns when it was told to stop and has.
pub(crate) async fn run(world: Arc<World>, plugin: Arc<PluginHost>, stop: CancellationToken) {
    loop {
        match serve(&world, &plugin, &stop).await {
            Ok(()) => world.log.note(|| "the bridge ends".to_owned()),
            Err(why) => world.log.note(|| format!("the bridge ends: {why}")),
        }
        if stop.is_cancelled() {
            return;
        }
        tokio::time::sleep(RESTART).await;
    }
}

async fn serve(world: &Arc<World>, host: &Arc<PluginHost>, stop: &CancellationToken) -> Result<(), String> {
    world.log.note(|| "the bridge starts".to_owned());
    let background = CancellationToken::new();
    let _ends = background.clone().drop_guard();
    let connected = tokio::select! {
        biased;
        () = stop.cancelled() => return Ok(()),
        connected = connect(world, host, &background) => connected?,
    };
    let metrics = Arc::new(Metrics::new());
    let client = || {
        ApiClient::new(
            world.kube.client(Arc::new(KubeLink::new(world))),
            Arc::clone(&metrics),
            DEADLINE,
        )
    };
    let clients = Clients {
        watch: client(),
        write: client(),
        server: "http://kube".to_owned(),
        version: "v1.36.0-fake".to_owned(),
    };
    let until = Instant::now() + Duration::from_secs(30);
    let identity = tokio::select! {
        biased;
        () = stop.cancelled() => return Ok(()),
        read = Identity::read(&clients, "default", until) => read.map_err(|error| error.to_string())?,
    };
    let foundation = Foundation {
        behaviour: world.behaviour.clone(),
        clients,
        identity,
        managed_metrics: ManagedMetrics::new(&metrics),
        metrics: Arc::clone(&metrics),
        clock: Arc::new(world.time.clone()),
        leadership: Leadership::unopposed(),
        detached: Detached::default(),
    };
    let bridge = Arc::new(Bridge::new(&metrics, &CallMetrics::new(&metrics)));
    bridge.connected(vec![connected]);
    *world.bridge.lock() = Some(Arc::clone(&bridge));
    generations(&foundation, &bridge, stop)
        .await
        .map_err(|error| error.to_string())
}

async fn connect(
    world: &World,
    host: &Arc<PluginHost>,
    background: &CancellationToken,
) -> Result<Connected, String> {
    let endpoint: Endpoint = "unix:///plugin.sock"
        .parse()
        .map_err(|error| format!("{error}"))?;
    let time = world.time.clone();
    let mut options = Options::new(endpoint.clone());
    options.now = Arc::new(move || time.now());
    let (plugin, supervision) = loop {
        match Plugin::connect_over(host.channel(), options.clone()).await {
            Ok(connected) => break connected,
            Err(error) if error.is_temporary() => tokio::time::sleep(Duration::from_millis(500)).await,
            Err(error) => return Err(error.to_string()),
        }
    };
    tokio::spawn(supervision.run(background.clone()));
    Ok(Connected { endpoint, plugin })
}
