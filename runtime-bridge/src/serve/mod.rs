//! The command `serve`: connects to the plugins, takes the lease, and runs the engine.
#![allow(clippy::doc_markdown)] // Some comments are help texts.

mod backoffs;
mod change_pace;
mod election;
mod introspection;
mod plugin_source;
mod process_context;
mod readiness;
mod served_compositions;
mod shutdown;

use std::{future::pending, net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use bridge_core::{lease::TimingError, managed::Settings};
use bridge_engine::{
    api_error::ApiError,
    client::ConnectError,
    clock::SystemClock,
    config::ConfigPolicy,
    lease::Leadership,
    managed::{DigestKeyError, ManagedMetrics},
    metrics::Metrics,
    serve::{KindSource, Registry},
    shell::Detached,
};
use clap::Args;
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;

pub use self::{
    backoffs::BackoffArgs,
    introspection::Introspection,
    process_context::{Identity, ProcessContext},
};
use self::{election::ElectionArgs, plugin_source::PluginSource, served_compositions::ServedCompositions};
use crate::{
    admin::{self, Authorization, BindError, DebugAccess},
    cluster::ClusterArgs,
    compositions::CompositionArgs,
    definitions::CrdMode,
    plugins::{CallMetrics, PluginArgs, PluginsError, any_connected},
};

/// All flags of `serve`.
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    #[command(flatten)]
    pub(crate) plugins: PluginArgs,
    #[command(flatten)]
    pub(crate) compositions: CompositionArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    #[command(flatten)]
    pub(crate) behaviour: BehaviourArgs,
    #[command(flatten)]
    pub(crate) election: ElectionArgs,
}

impl ServeArgs {
    /// Something is served, and flags that need each other are there.
    pub fn check(&self) -> Result<(), String> {
        if self.plugins.addresses.is_empty() && !self.compositions.compositions {
            return Err("nothing to serve: give --plugin <ENDPOINT>, --compositions, or both".to_owned());
        }
        self.plugins.check()?;
        self.compositions.check()
    }
}

/// How resources are managed.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Behaviour")]
#[allow(clippy::struct_excessive_bools)] // Flags.
pub struct BehaviourArgs {
    /// How CRDs in the cluster are managed.
    #[arg(
        long,
        env = "CROSSBRIDGE_CRDS",
        value_name = "MODE",
        default_value = "install",
        value_enum
    )]
    pub crds: CrdMode,
    /// How often a resource at rest is observed, to correct drift. An object's annotation crossplane.io/poll-interval overrides it.
    #[arg(
        long,
        env = "CROSSBRIDGE_POLL",
        value_name = "DURATION",
        default_value = "1m",
        value_parser = crate::duration::parse_positive
    )]
    pub poll: Duration,
    /// Random jitter of --poll, either way, so that not all objects are observed at once.
    #[arg(
        long,
        env = "CROSSBRIDGE_POLL_JITTER",
        value_name = "DURATION",
        default_value = "6s",
        value_parser = crate::duration::parse
    )]
    pub poll_jitter: Duration,
    /// Maximum clock skew between this bridge, one that ran before it, and its plugins. After a call's deadline and this, nothing
    /// of the call is expected to happen any more.
    #[arg(
        long,
        env = "CROSSBRIDGE_CLOCK_SKEW",
        value_name = "DURATION",
        default_value = "5s",
        value_parser = crate::duration::parse
    )]
    pub clock_skew: Duration,
    // Not a doc comment: that would be the help of its flags.
    #[command(flatten)]
    #[allow(missing_docs)]
    pub backoffs: BackoffArgs,
    /// How long calls that run may take to end, and their answers to be stored, when the bridge is asked to stop. What is cut off is
    /// recovered after the next start, and the exit code is then 1.
    #[arg(
        long,
        env = "CROSSBRIDGE_DRAIN_TIMEOUT",
        value_name = "DURATION",
        default_value = "60s",
        value_parser = crate::duration::parse
    )]
    pub drain_timeout: Duration,
    /// Objects worked on at the same time.
    #[arg(
        long,
        env = "CROSSBRIDGE_MAX_CONCURRENT_RECONCILES",
        value_name = "COUNT",
        default_value = "128",
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    pub max_concurrent_reconciles: u16,
    /// Let ProviderConfigs of a namespace take credentials from the bridge's environment variables and files, which
    /// ClusterProviderConfigs always may. Whoever can write a ProviderConfig can then send them wherever its settings point.
    #[arg(long, env = "CROSSBRIDGE_NAMESPACED_HOST_CREDENTIALS")]
    pub namespaced_host_credentials: bool,
    /// A folder below which credentials of source Filesystem may lie. Give it once per folder; in the environment variable they are separated by
    /// commas. Without it, no file is read.
    #[arg(
        long,
        env = "CROSSBRIDGE_HOST_CREDENTIALS_DIR",
        value_name = "DIR",
        value_delimiter = ','
    )]
    pub host_credentials_dir: Vec<PathBuf>,
    /// Let ProviderConfigs of a namespace give a plugin no credentials, so that it acts as itself: as the identity of its pod. Whoever can
    /// write a ProviderConfig can then do what the plugin can.
    #[arg(long, env = "CROSSBRIDGE_NAMESPACED_AMBIENT_CREDENTIALS")]
    pub namespaced_ambient_credentials: bool,
    /// Let ProviderConfigs of a namespace say by settings.endpoint where a plugin's calls go. Whoever can write a ProviderConfig can then reach
    /// what the plugin's pod can reach.
    #[arg(long, env = "CROSSBRIDGE_NAMESPACED_ENDPOINTS")]
    pub namespaced_endpoints: bool,
    /// Where /livez, /readyz, /metrics and /debug/state are answered. Port 0: a free one, which is logged.
    #[arg(
        long,
        env = "CROSSBRIDGE_ADMIN_ADDRESS",
        value_name = "ADDRESS",
        default_value = admin::DEFAULT_ADDRESS
    )]
    pub admin_address: SocketAddr,
    /// Answer /debug/state and /debug/objects not over loopback alone, but also for a bearer token whose user the API server allows to get that
    /// path (nonResourceURLs). They tell of the objects of all namespaces.
    #[arg(long, env = "CROSSBRIDGE_DEBUG_REMOTE")]
    pub debug_remote: bool,
}

impl BehaviourArgs {
    fn debug_access(&self, authorization: &Arc<Authorization>) -> DebugAccess {
        if self.debug_remote {
            DebugAccess::Authorized(Arc::clone(authorization))
        } else {
            DebugAccess::Loopback
        }
    }

    fn config_policy(&self) -> ConfigPolicy {
        ConfigPolicy {
            namespaced_host: self.namespaced_host_credentials,
            namespaced_ambient: self.namespaced_ambient_credentials,
            namespaced_endpoint: self.namespaced_endpoints,
        }
    }

    fn settings(&self) -> Settings {
        Settings {
            poll: self.poll,
            poll_jitter: self.poll_jitter,
            clock_skew: self.clock_skew,
            backoffs: (&self.backoffs).into(),
        }
    }
}

/// Why serving ended other than by request.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The admin address cannot be bound.
    #[error(transparent)]
    Admin(#[from] BindError),
    /// A plugin does not answer, or breaks the contract, or serves what another one does.
    #[error(transparent)]
    Plugins(#[from] PluginsError),
    /// No connection to the cluster.
    #[error(transparent)]
    Cluster(#[from] ConnectError),
    /// The bridge's own Secret.
    #[error(transparent)]
    DigestKey(#[from] DigestKeyError),
    /// What distinguishes this cluster from others cannot be read.
    #[error("cannot read the namespace kube-system, whose uid marks what is ours: {0}")]
    ClusterId(ApiError),
    /// The durations of the election.
    #[error("the durations of the leader election do not go together: {0}")]
    ElectionTiming(#[from] TimingError),
    /// The name of the lease is longer than the API server allows.
    #[error("{0} is too long for the name of a Lease: choose another with --leader-election-name")]
    LeaseName(String),
    /// The handlers of SIGTERM and SIGINT cannot be installed.
    #[error("cannot listen for signals: {0}")]
    Signals(std::io::Error),
    /// Some calls were cut off.
    #[error(
        "{0} reconcile(s) had not ended after --drain-timeout; what they began is recovered after the next start"
    )]
    NotDrained(usize),
}

/// Serves until a signal comes.
pub async fn run(args: ServeArgs) -> Result<(), ServeError> {
    tracing::info!(version = env!("CARGO_PKG_VERSION"), "starting");
    args.election.timing()?;
    let stop = CancellationToken::new();
    let background = CancellationToken::new();
    tokio::spawn(shutdown::signals(stop.clone()).map_err(ServeError::Signals)?);

    let listener = admin::bind(args.behaviour.admin_address).await?;
    let metrics = Arc::new(Metrics::new());
    let calls = CallMetrics::new(&metrics);
    let bridge = Arc::new(Introspection::new(&metrics, &calls));
    let authorization = Arc::new(Authorization::default());
    tokio::spawn(admin::serve(
        listener,
        Arc::clone(&bridge) as _,
        args.behaviour.debug_access(&authorization),
        background.clone(),
    ));

    let until = Instant::now() + args.plugins.startup_timeout;
    let links = args.plugins.links(&calls, &background);
    bridge.set_plugins(links.clone());
    let connecting = async {
        let is_needed = !args.compositions.compositions;
        let plugins = async { Ok::<_, ServeError>(any_connected(&links, is_needed.then_some(until)).await?) };
        let cluster = async {
            let clients = args.cluster.connect(&metrics, until).await?;
            let identity = Identity::read(&clients, &args.cluster.own_namespace(), until).await?;
            Ok::<_, ServeError>((clients, identity))
        };
        tokio::try_join!(plugins, cluster)
    };
    let connected = tokio::select! {
        biased;
        // Nothing was begun that would have to be drained.
        () = stop.cancelled() => return Ok(()),
        connected = connecting => connected?,
    };
    let ((), (clients, identity)) = connected;
    authorization.connected(clients.write.clone());
    let (elector, leadership) = args.election.begin(&clients, &args.cluster)?;
    bridge.set_leadership(&leadership);
    let led = CancellationToken::new();
    let election = elector.map(|elector| tokio::spawn(elector.run(led.clone())));

    let compositions = args.compositions.compositions(&args.cluster.own_namespace());
    if let Some(compositions) = &compositions {
        metrics.register(|registry| compositions.metrics.register(registry));
    }
    let process = ProcessContext {
        managed_metrics: ManagedMetrics::new(&metrics),
        clock: Arc::new(SystemClock),
        behaviour: args.behaviour,
        clients,
        leadership,
        identity,
        metrics,
        detached: Detached::default(),
        compositions,
    };
    let ended = run_engine(&process, &bridge, &stop).await;
    // Only now: until here, what was begun was ended under the lease.
    led.cancel();
    if let Some(election) = election {
        // It is bounded, and has logged what it had to report.
        let _ = election.await;
    }
    background.cancel();
    ended
}

/// Serves what the plugins publish, until it is asked to stop. Passes begin while this process leads.
pub async fn run_engine(
    process: &ProcessContext,
    bridge: &Arc<Introspection>,
    stop: &CancellationToken,
) -> Result<(), ServeError> {
    let (shared, engine, gate) = process.engine();
    bridge.started(&engine);
    let sources = bridge.plugins().iter().map(|link| {
        let source = PluginSource::new(link, process, &engine, &shared);
        Box::new(source) as Box<dyn KindSource>
    });
    let mut registry = Registry::new(
        &engine,
        &process.leadership,
        process.behaviour.crds.into(),
        Arc::clone(bridge) as _,
        sources.collect(),
    );
    bridge.prepared();
    let mut compositions = ServedCompositions::new(process, &engine, bridge);
    tokio::select! {
        // In a fixed order, so that a simulation repeats itself.
        biased;
        () = stop.cancelled() => {}
        () = follow_leadership(&process.leadership, &gate) => {}
        () = registry.run() => {}
        () = compositions.run() => {}
    }
    // Nothing more is begun; what was begun ends, and is stored.
    let limit = process.behaviour.drain_timeout;
    let end = Instant::now() + limit;
    gate.send_replace(false);
    // Both wait for the same reconciles, those of the process.
    let (left, _) = tokio::join!(shared.drain(limit), compositions.drain(limit));
    let dropped = engine.drain(end.saturating_duration_since(Instant::now())).await;
    for key in &dropped {
        tracing::warn!(object = %key, "the reconcile had not ended after --drain-timeout and was cut off: recovered after the next start");
    }
    drop(registry);
    drop(compositions);
    bridge.ended();
    match left.max(dropped.len()) {
        0 => Ok(()),
        left => Err(ServeError::NotDrained(left)),
    }
}

async fn follow_leadership(leadership: &Leadership, gate: &watch::Sender<bool>) {
    let mut leads = leadership.watch();
    loop {
        let now = *leads.borrow_and_update();
        gate.send_replace(now);
        if leads.changed().await.is_err() {
            // The sender is dropped: then it stays as it is.
            return pending().await;
        }
    }
}
