//! A bridge, wired as the binary wires it.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bridge_core::lease::Timing;
use bridge_engine::{
    client::{ApiClient, Clients, DEADLINE},
    clock::Clock,
    lease::{ElectionOptions, Elector, Leadership},
    managed::ManagedMetrics,
    metrics::Metrics,
    shell::Detached,
};
use bridge_plugin::{Endpoint, Options, Plugin};
use runtime_bridge::{
    plugins::{CallMetrics, Connected, PluginLink, any_connected},
    serve::{Identity, Introspection, ProcessContext, run_engine},
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{
    environment::{Environment, Process},
    kube_link::KubeLink,
    plugin_host::PluginHost,
};

/// How long a process takes to be started again.
const RESTART: Duration = Duration::from_secs(1);

/// Runs a bridge as a pod does: one that ends by an error is started again. Returns when it was asked to stop and has.
///
/// `number`: which of the bridges.
pub(crate) async fn run(
    environment: Arc<Environment>,
    plugin: Arc<PluginHost>,
    number: usize,
    stop: CancellationToken,
) {
    loop {
        let process = environment.begin_process(number, stop.child_token());
        let ended = tokio::select! {
            biased;
            () = process.death.cancelled() => Err("it was killed".to_owned()),
            ended = serve(&environment, &plugin, number, &process) => ended,
        };
        match ended {
            Ok(()) => environment.log.note(|| format!("bridge {number} ends")),
            Err(why) => environment.log.note(|| format!("bridge {number} ends: {why}")),
        }
        if stop.is_cancelled() {
            return;
        }
        tokio::time::sleep(RESTART).await;
    }
}

async fn serve(
    environment: &Arc<Environment>,
    host: &Arc<PluginHost>,
    number: usize,
    process: &Process,
) -> Result<(), String> {
    let stop = &process.stop;
    environment.log.note(|| format!("bridge {number} starts"));
    let background = CancellationToken::new();
    let _ends = background.clone().drop_guard();
    let until = Instant::now() + Duration::from_secs(30);
    let function = environment.function.lock().clone();
    let link = link(environment, host, number, process, &background)?;
    let links = [link];
    tokio::select! {
        biased;
        () = stop.cancelled() => return Ok(()),
        connected = any_connected(&links, function.is_none().then_some(until)) => {
            connected.map_err(|error| error.to_string())?;
        }
    }
    let metrics = Arc::new(Metrics::new());
    let client = || {
        ApiClient::new(
            environment
                .kube
                .client(Arc::new(KubeLink::new(environment, number, process))),
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
    let identity = tokio::select! {
        biased;
        () = stop.cancelled() => return Ok(()),
        read = Identity::read(&clients, "default", until) => read.map_err(|error| error.to_string())?,
    };
    let (elector, leadership) = elect(environment, &clients, process);
    let led = CancellationToken::new();
    let _leads = led.clone().drop_guard();
    let election = elector.map(|elector| tokio::spawn(elector.run(led.clone())));
    let vanishing_parents = environment.vanishing_parents.load(Ordering::Relaxed);
    let compositions = function.map(|function| function.compositions(process, vanishing_parents));
    let process = ProcessContext {
        behaviour: environment.behaviour.clone(),
        clients,
        identity,
        managed_metrics: ManagedMetrics::new(&metrics),
        metrics: Arc::clone(&metrics),
        clock: Arc::new(environment.time.clone()),
        leadership: leadership.clone(),
        detached: Detached::default(),
        compositions: compositions.transpose()?,
    };
    let bridge = Arc::new(Introspection::new(&metrics, &CallMetrics::new(&metrics)));
    bridge.set_plugins(links.to_vec());
    bridge.set_leadership(&leadership);
    *environment.bridge.lock() = Some(Arc::clone(&bridge));
    let ended = run_engine(&process, &bridge, stop).await;
    // As the binary does: what was begun was ended under the lease.
    led.cancel();
    if let Some(election) = election {
        let _ = election.await;
    }
    ended.map_err(|error| error.to_string())
}

/// Who leads: with one bridge, that one.
fn elect(environment: &Environment, clients: &Clients, process: &Process) -> (Option<Elector>, Leadership) {
    if environment.bridges == 1 {
        return (None, Leadership::unopposed());
    }
    let options = ElectionOptions {
        namespace: "default".to_owned(),
        name: "crossbridge-fake".to_owned(),
        identity: process.identity.clone(),
        timing: Timing::default(),
    };
    let (elector, leadership) = Elector::new(&clients.write, Arc::new(environment.time.clone()), &options);
    (Some(elector), leadership)
}

fn link(
    environment: &Environment,
    host: &Arc<PluginHost>,
    number: usize,
    process: &Process,
    background: &CancellationToken,
) -> Result<PluginLink, String> {
    let endpoint: Endpoint = "unix:///plugin.sock"
        .parse()
        .map_err(|error| format!("{error}"))?;
    let time = environment.time.clone();
    let mut options = Options::new(endpoint.clone());
    options.now = Arc::new(move || time.now());
    let (host, process, stop) = (Arc::clone(host), process.clone(), background.clone());
    let address = endpoint.to_string();
    let connecting = async move {
        loop {
            match Plugin::connect_over(host.channel(number, &process), options.clone()).await {
                Ok((plugin, supervision)) => {
                    tokio::spawn(supervision.run(stop));
                    return Connected { endpoint, plugin };
                }
                Err(error) if error.is_temporary() => tokio::time::sleep(Duration::from_millis(500)).await,
                // Nothing that is simulated makes it so: nothing of the plugin's will become as desired.
                Err(_) => std::future::pending().await,
            }
        }
    };
    Ok(PluginLink::connecting(&address, connecting, background.clone()))
}
