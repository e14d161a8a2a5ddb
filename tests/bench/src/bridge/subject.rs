//! Control plane and one side, and what they have used.

use std::{
    net::TcpListener,
    sync::Arc,
    time::{Duration, Instant},
};

use bridge_bench::report::Side;
use bridge_control_plane::{
    ControlPlane, Options,
    process::{Output, Process, ScratchDir, Signal, Spawn},
};
use bridge_e2e::{Cluster, Requests, binary};

use super::{Kind, Settings, printed::Printed};
use crate::{
    managed,
    usage::{busy_seconds, resident_kb},
};

/// Until then a new control plane has work of its own.
const SETTLED_AFTER: Duration = Duration::from_secs(40);

/// Everything that is measured. It ends when dropped.
pub(crate) struct Subject {
    pub(crate) cluster: Cluster,
    pub(crate) side: Side,
    pub(crate) settings: Settings,
    /// The length of descriptions, by which objects are padded.
    pub(crate) padding: usize,
    pub(crate) printed: Arc<Printed>,
    plane: ControlPlane,
    /// The peer needs none.
    plugin: Option<Process>,
    /// The bridge, or the peer.
    controller: Option<Process>,
    /// Of the API server without any object, in CPU seconds per second.
    rest: f64,
    admin: String,
    scratch: ScratchDir,
    begun: Instant,
}

/// What was used until a moment.
pub(crate) struct Usage {
    pub(crate) api_server: f64,
    pub(crate) controller: f64,
    pub(crate) plugin: f64,
    requests: Requests,
    events: Requests,
    at: Instant,
}

impl Usage {
    pub(crate) fn writes_since(&self, before: &Self) -> f64 {
        whole(self.requests.writes_since(&before.requests))
    }

    pub(crate) fn events_since(&self, before: &Self) -> f64 {
        whole(self.events.writes_since(&before.events))
    }

    /// Of controller and plugin.
    pub(crate) fn both_since(&self, before: &Self) -> f64 {
        self.controller + self.plugin - before.controller - before.plugin
    }

    pub(crate) fn seconds_since(&self, before: &Self) -> f64 {
        self.at.duration_since(before.at).as_secs_f64()
    }
}

impl Subject {
    pub(crate) async fn start(side: Side, settings: Settings) -> Self {
        let plane = ControlPlane::start(Options::default()).await;
        let plane = plane.unwrap_or_else(|error| panic!("{error}"));
        let cluster = Cluster::connect(&plane.kubeconfig()).await;
        let free = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a free port");
        let mut subject = Self {
            cluster,
            side: Side::Ours,
            settings,
            padding: 0,
            printed: Arc::default(),
            plane,
            plugin: None,
            controller: None,
            rest: 0.0,
            admin: free.to_string(),
            scratch: ScratchDir::new("crossbridge-bench-").expect("a folder"),
            begun: Instant::now(),
        };
        let plugin = managed::plugin(&subject.socket()).stdout(subject.lines());
        subject.plugin = Some(plugin.spawn().expect("the plugin starts"));
        subject.start_controller();
        managed::define(&subject.cluster).await;
        if side == Side::Peer {
            // The definitions that it has written are those of both sides.
            subject.stop_controller().await;
            subject.plugin = None;
            subject.side = side;
            subject.start_controller();
        }
        subject
    }

    pub(crate) fn start_controller(&mut self) {
        let spawn = match self.side {
            Side::Ours => self.bridge(),
            Side::Peer => self.peer(),
        };
        self.controller = Some(spawn.spawn().expect("the controller starts"));
    }

    fn bridge(&self) -> Spawn {
        Spawn::new(binary("runtime-bridge"))
            .arg("serve")
            .arg("--kubeconfig")
            .arg(self.plane.kubeconfig())
            .args(["--admin-address", &self.admin])
            .args(managed::plugin_flags(&self.socket(), self.settings.poll))
            .env("CROSSBRIDGE_LOG_LEVEL", "warn")
            .log_to(self.scratch.path().join("bridge.log"))
    }

    fn peer(&self) -> Spawn {
        managed::provider(&self.plane.kubeconfig(), self.settings.poll)
            .arg("--cloud")
            .arg(self.scratch.path().join("cloud.json"))
            .arg(format!(
                "--max-reconcile-rate={}",
                self.settings.max_reconcile_rate
            ))
            .stdout(self.lines())
    }

    pub(crate) async fn stop_controller(&mut self) {
        if let Some(controller) = self.controller.take() {
            controller.signal(Signal::TERM);
            controller
                .wait_for(Duration::from_mins(1))
                .await
                .expect("it ends");
            // What was observed is printed once a second.
            tokio::time::sleep(Duration::from_millis(1_500)).await;
        }
    }

    /// What each uses per second while there is no object: API server, controller and plugin, in CPU seconds.
    pub(crate) async fn rest(&mut self, kind: Kind) -> (f64, f64) {
        let left = SETTLED_AFTER.saturating_sub(self.begun.elapsed());
        tokio::time::sleep(left).await;
        let before = self.usage(kind).await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        let after = self.usage(kind).await;
        let seconds = after.seconds_since(&before);
        self.rest = (after.api_server - before.api_server) / seconds;
        (self.rest, after.both_since(&before) / seconds)
    }

    /// Of the API server, beyond what it uses without any object; in CPU seconds.
    pub(crate) fn api_server(&self, before: &Usage, after: &Usage) -> f64 {
        let rest = self.rest * after.seconds_since(before);
        (after.api_server - before.api_server - rest).max(0.0)
    }

    /// Of a controller that runs. What one has used ends with it: no usage may span two.
    pub(crate) async fn usage(&self, kind: Kind) -> Usage {
        Usage {
            api_server: self.plane.api_server().map_or(0.0, busy_seconds),
            controller: self.controller.as_ref().map_or(0.0, busy_seconds),
            plugin: self.plugin.as_ref().map_or(0.0, busy_seconds),
            requests: Requests::of(&self.cluster.client, kind.plural).await,
            events: Requests::of(&self.cluster.client, "events").await,
            at: Instant::now(),
        }
    }

    /// Of controller and plugin.
    pub(crate) fn resident_kb(&self) -> f64 {
        [&self.controller, &self.plugin]
            .into_iter()
            .flatten()
            .map(resident_kb)
            .sum()
    }

    /// Waits until so many Observes have reached the cloud since it began.
    pub(crate) async fn until_observed(&self, count: u64) {
        let limit = self.settings.poll * 2 + Duration::from_mins(2);
        let come = async {
            while self.printed.observed() < count {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let waited = tokio::time::timeout(limit, come).await;
        let seen = self.printed.observed();
        assert!(
            waited.is_ok(),
            "{seen} of {count} observations have come in {limit:?}"
        );
    }

    fn lines(&self) -> Output {
        let printed = Arc::clone(&self.printed);
        Output::lines(move |line| printed.take_in(line))
    }

    fn socket(&self) -> String {
        format!("unix://{}", self.scratch.path().join("plugin.sock").display())
    }
}

fn whole(count: u64) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}
