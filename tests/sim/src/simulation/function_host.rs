//! A composition function as a process that can die, hang, and start again.

use std::{collections::BTreeMap, io, sync::Arc, time::Duration};

use bridge_core::{composite::CircuitSettings, function::FunctionEndpoint};
use bridge_engine::clock::Clock;
use bridge_function::{Client, EndpointTable, Options};
use bridge_transport::{Channels, Route};
use fake_function::{FakeFunction, Version};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use runtime_bridge::compositions::{Compositions, GuardChoice};
use tokio::sync::mpsc;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::transport::{Channel, Endpoint, Server, Uri};

use super::{
    environment::{Environment, Process},
    wire::{Cutter, Valve, Wire},
};

/// As compositions refer to it.
pub(crate) const FUNCTION: &str = "function-fake";

/// Where it listens, as flags have it. No file is opened.
const ENDPOINT: &str = "unix:///function.sock";

/// How long a process takes to be started again.
const RESTART: Duration = Duration::from_millis(700);

/// Where the function is, or is not.
pub(crate) struct FunctionHost {
    environment: Arc<Environment>,
    /// Closed: it hangs.
    valve: Valve,
    running: Mutex<Option<Running>>,
}

struct Running {
    accept: mpsc::UnboundedSender<io::Result<Wire>>,
    cutter: Cutter,
}

impl FunctionHost {
    pub(crate) fn new(environment: &Arc<Environment>) -> Arc<Self> {
        Arc::new(Self {
            environment: Arc::clone(environment),
            valve: Valve::default(),
            running: Mutex::new(None),
        })
    }

    /// Starts it, unless it runs.
    pub(crate) fn start(&self) {
        let mut running = self.running.lock();
        if running.is_some() {
            return;
        }
        let (accept, accepted) = mpsc::unbounded_channel();
        let environment = Arc::clone(&self.environment);
        let function = FakeFunction::with_profile(move || environment.profile_of_call());
        let server = Server::builder().add_routes(function.routes(Version::V1));
        tokio::spawn(async move {
            // It ends when no client can connect any more.
            let _ = server
                .serve_with_incoming(UnboundedReceiverStream::new(accepted))
                .await;
        });
        *running = Some(Running {
            accept,
            cutter: Cutter::default(),
        });
        self.environment.log.note(|| "the function starts".to_owned());
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

    /// Ends it like SIGKILL: its connections break, its calls get no answer.
    pub(crate) fn kill(&self) {
        if let Some(running) = self.running.lock().take() {
            running.cutter.cut();
            self.environment.log.note(|| "the function is killed".to_owned());
        }
    }

    /// Nothing comes to it and goes from it for so long.
    pub(crate) fn hang(self: &Arc<Self>, time: Duration) {
        self.valve.close();
        let host = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(time).await;
            host.wake();
        });
    }

    /// It hangs no more.
    pub(crate) fn wake(&self) {
        self.valve.open(self.environment.time.now());
    }

    fn connect(&self, process: &Process) -> io::Result<Wire> {
        let refused = || io::Error::new(io::ErrorKind::ConnectionRefused, "connection refused");
        let running = self.running.lock();
        let running = running.as_ref().ok_or_else(refused)?;
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        let wire = |stream| Wire {
            stream,
            cutters: [running.cutter.clone(), process.cutter.clone()],
            valves: [self.valve.clone(), process.valve.clone()],
        };
        running.accept.send(Ok(wire(theirs))).map_err(|_| refused())?;
        Ok(wire(ours))
    }

    /// A channel that connects when it is used, and again when the connection is lost.
    fn channel(self: &Arc<Self>, process: &Process) -> Channel {
        let (host, process) = (Arc::clone(self), process.clone());
        let connector = tower::service_fn(move |_: Uri| {
            let connected = host.connect(&process).map(TokioIo::new);
            async move { connected }
        });
        Endpoint::from_static("http://function").connect_with_connector_lazy(connector)
    }

    /// Compositions as this process serves them, by the defaults of the command line.
    ///
    /// # Errors
    /// The endpoint cannot be read.
    pub(crate) fn compositions(
        self: &Arc<Self>,
        process: &Process,
        vanishing_parents: bool,
    ) -> Result<Compositions, String> {
        let endpoint: FunctionEndpoint = ENDPOINT.parse().map_err(|error| format!("{error}"))?;
        let flags = BTreeMap::from([(FUNCTION.to_owned(), endpoint)]);
        let table = EndpointTable::default();
        let time = self.environment.time.clone();
        let (host, process) = (Arc::clone(self), process.clone());
        let mut options = Options::new(table.clone(), None);
        options.now = Arc::new(move || time.now());
        options.connect = Arc::new(move |_| Ok(Route::from(Channels::fixed(host.channel(&process)))));
        let metrics = options.metrics.clone();
        Ok(Compositions {
            flags,
            endpoints: table,
            client: Arc::new(Client::new(options)),
            metrics,
            deletion_deadline: Duration::from_mins(15),
            vanishing_parents,
            revision_history_limit: 20,
            max_composed: 2_000,
            replay_window: Duration::from_mins(10),
            circuit: CircuitSettings::default(),
            guard: GuardChoice::Policy,
            namespace: "default".to_owned(),
            unless_crossplane_in: Some("crossplane-system".to_owned()),
        })
    }
}
