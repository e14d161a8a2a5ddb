//! The plugin as a process that can die and start again.

use std::{io, sync::Arc, time::Duration};

use bridge_engine::clock::Clock;
use fake_cloud::plugin::Plugin;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::{Channel, Endpoint, Server, Uri};

use super::{
    cloud_link::CloudLink,
    environment::{Environment, Process},
    wire::{Cutter, Valve, Wire},
};

/// How long a process takes to be started again.
const RESTART: Duration = Duration::from_millis(700);

/// Where the plugin is, or is not.
pub(crate) struct PluginHost {
    environment: Arc<Environment>,
    running: Mutex<Option<Running>>,
    starts: Mutex<u32>,
    /// What it publishes when it starts next.
    kinds: Mutex<Vec<String>>,
}

struct Running {
    /// Connections of each bridge.
    accept: Vec<mpsc::UnboundedSender<io::Result<Wire>>>,
    cutter: Cutter,
}

impl PluginHost {
    pub(crate) fn new(environment: &Arc<Environment>) -> Arc<Self> {
        Arc::new(Self {
            environment: Arc::clone(environment),
            running: Mutex::new(None),
            starts: Mutex::new(0),
            kinds: Mutex::new(environment.kinds.clone()),
        })
    }

    /// What it publishes when it starts next.
    pub(crate) fn publish(&self, kinds: &[String]) {
        *self.kinds.lock() = kinds.to_vec();
    }

    /// Starts it, unless it runs.
    pub(crate) fn start(self: &Arc<Self>) {
        let mut running = self.running.lock();
        if running.is_some() {
            return;
        }
        let mut starts = self.starts.lock();
        *starts += 1;
        let instance = format!("{}-{}", self.environment.time.now(), *starts);
        // They differ in whose calls they serve, so that each call is known to be of its bridge.
        let accept = (0..self.environment.bridges).map(|bridge| self.serve(bridge, &instance));
        let accept = accept.collect();
        *running = Some(Running {
            accept,
            cutter: Cutter::default(),
        });
        self.environment.log.note(|| "the plugin starts".to_owned());
    }

    fn serve(self: &Arc<Self>, bridge: usize, instance: &str) -> mpsc::UnboundedSender<io::Result<Wire>> {
        let (host, time) = (Arc::downgrade(self), self.environment.time.clone());
        let die = move || {
            if let Some(host) = host.upgrade() {
                host.die();
            }
        };
        let plugin = Plugin::new(
            Arc::new(CloudLink::new(&self.environment, bridge)),
            Arc::new(move || time.now()),
            Arc::new(die),
            instance.to_owned(),
        );
        let (accept, accepted) = mpsc::unbounded_channel();
        let kinds = self.kinds.lock().clone();
        let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
        let server = Server::builder().add_routes(plugin.only(&kinds).routes());
        tokio::spawn(async move {
            // It ends when no client can connect any more.
            let _ = server
                .serve_with_incoming(UnboundedReceiverStream::new(accepted))
                .await;
        });
        accept
    }

    /// It dies, and is started again soon.
    pub(crate) fn die(self: &Arc<Self>) {
        self.kill();
        let host = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(RESTART).await;
            host.start();
        });
    }

    /// Ends the plugin like SIGKILL: its connections break, its calls get no answer.
    pub(crate) fn kill(&self) {
        if let Some(running) = self.running.lock().take() {
            running.cutter.cut();
            self.environment.log.note(|| "the plugin is killed".to_owned());
        }
    }

    fn connect(&self, bridge: usize, process: &Process) -> io::Result<Wire> {
        let refused = || io::Error::new(io::ErrorKind::ConnectionRefused, "connection refused");
        let running = self.running.lock();
        let running = running.as_ref().ok_or_else(refused)?;
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        let wire = |stream| Wire {
            stream,
            cutters: [running.cutter.clone(), process.cutter.clone()],
            // A plugin that hangs is the cloud's business.
            valves: [Valve::default(), process.valve.clone()],
        };
        running.accept[bridge]
            .send(Ok(wire(theirs)))
            .map_err(|_| refused())?;
        Ok(wire(ours))
    }

    /// A channel that connects when it is used, and again when the connection is lost.
    pub(crate) fn channel(self: &Arc<Self>, bridge: usize, process: &Process) -> Channel {
        let (host, process) = (Arc::clone(self), process.clone());
        let connector = tower::service_fn(move |_: Uri| {
            let connected = host.connect(bridge, &process).map(TokioIo::new);
            async move { connected }
        });
        Endpoint::from_static("http://plugin").connect_with_connector_lazy(connector)
    }
}
