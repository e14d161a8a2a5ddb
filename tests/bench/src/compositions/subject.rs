//! Control plane, function and one side, and what they have used.

use std::{
    collections::BTreeMap,
    net::TcpListener,
    os::unix::net::UnixStream,
    sync::Arc,
    time::{Duration, Instant},
};

use bridge_bench::report::Side;
use bridge_control_plane::{
    ControlPlane, Options,
    process::{Output, Process, ScratchDir, Signal, Spawn},
};
use bridge_e2e::{Cluster, Requests, binary, eventually};
use kube::{
    Api,
    api::{DynamicObject, ListParams},
};

use super::{
    calls::Calls,
    manifests::{APIEXTENSIONS, Composed, Composite, FUNCTION, OTHER_FUNCTION, cluster_wide},
};
use crate::{
    board::Board,
    managed::{self, POLL_OF_LIVES},
    usage::{busy_seconds, resident_kb},
};

/// Until then a new control plane has work of its own.
const SETTLED_AFTER: Duration = Duration::from_secs(40);
/// What has written nothing for so long has ended.
const QUIET: Duration = Duration::from_secs(2);
/// How often is looked whether everything is absent.
const LOOK: Duration = Duration::from_millis(200);
/// Events have rows of their own. That a configuration is in use is written once, however many managed resources use it.
const UNCOUNTED: [&str; 3] = ["events", "leases", "clusterproviderconfigs"];
/// Nothing is waited for longer.
const LIMIT: Duration = Duration::from_mins(15);

/// What refuses deletions of what is in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    Policy,
    Webhook,
}

/// Everything that is measured. It ends when dropped.
pub(crate) struct Subject {
    pub(crate) cluster: Cluster,
    pub(crate) side: Side,
    /// What XRs and claims of 4 are composed of.
    pub(crate) composed: Composed,
    pub(crate) calls: Arc<Calls>,
    /// Of a bridge that is started from now on.
    pub(crate) guard: Guard,
    /// The bridge, or the peer.
    controller: Option<Process>,
    /// Of managed resources, where there are any: the bridge's plugin, or a second process of the peer, as Crossplane and a provider are two.
    provider: Option<Process>,
    function: Process,
    plane: ControlPlane,
    /// Of the API server without any object, in CPU seconds per second.
    rest: f64,
    admin: String,
    scratch: ScratchDir,
    begun: Instant,
}

/// What was used until a moment.
pub(crate) struct Usage {
    pub(crate) api_server: f64,
    /// Of all processes of the side.
    pub(crate) controller: f64,
    /// Of the function.
    pub(crate) calls: usize,
    requests: Requests,
    events: Requests,
    at: Instant,
}

impl Usage {
    /// Of everything but events and leases, by all but the one of the user who asks.
    pub(crate) fn writes_since(&self, before: &Self) -> f64 {
        whole(self.requests.writes_since(&before.requests))
    }

    pub(crate) fn events_since(&self, before: &Self) -> f64 {
        whole(self.events.writes_since(&before.events))
    }

    pub(crate) fn seconds_since(&self, before: &Self) -> f64 {
        self.at.duration_since(before.at).as_secs_f64()
    }

    /// By verb and resource, reads too.
    pub(crate) fn requests_since(&self, before: &Self) -> BTreeMap<String, u64> {
        self.requests.since_by_kind(&before.requests)
    }
}

impl Subject {
    /// Both sides serve the CRDs that the bridge has made of the definitions.
    pub(crate) async fn start(side: Side, composed: Composed) -> Self {
        // With the garbage collector: the peer leaves to it what an XR has composed.
        let plane = ControlPlane::start(Options {
            controller_manager: true,
            ..Options::default()
        });
        let plane = plane.await.unwrap_or_else(|error| panic!("{error}"));
        let cluster = Cluster::connect(&plane.kubeconfig()).await;
        let free = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a free port");
        let scratch = ScratchDir::new("crossbridge-bench-").expect("a folder");
        let calls = Arc::new(Calls::default());
        let printed = Arc::clone(&calls);
        let function = Spawn::new(binary("fake-function"))
            .arg(format!("--address=unix://{}", socket(&scratch)))
            .arg("--print-calls")
            .stdout(Output::lines(move |line| printed.take_in(line)))
            .spawn()
            .expect("the function starts");
        let mut subject = Self {
            cluster,
            side: Side::Ours,
            composed,
            calls,
            guard: Guard::Policy,
            controller: None,
            provider: None,
            function,
            plane,
            rest: 0.0,
            admin: free.to_string(),
            scratch,
            begun: Instant::now(),
        };
        subject.start_provider();
        subject.start_controller();
        subject.define().await;
        if side == Side::Peer {
            subject.stop_controller().await;
            subject.side = side;
            subject.start_provider();
            subject.start_controller();
        }
        subject
    }

    fn start_provider(&mut self) {
        if self.composed != Composed::Managed {
            return;
        }
        let spawn = match self.side {
            Side::Ours => managed::plugin(&self.plugin_socket()),
            Side::Peer => managed::provider(&self.plane.kubeconfig(), POLL_OF_LIVES),
        };
        let log = self.scratch.path().join("provider.log");
        self.provider = Some(spawn.log_to(log).spawn().expect("the provider starts"));
    }

    fn other_socket(&self) -> String {
        self.scratch.path().join("g.sock").display().to_string()
    }

    /// The other function: it accepts connections, and answers nothing.
    pub(crate) async fn start_paused_function(&self) -> Process {
        let socket = self.other_socket();
        let function = Spawn::new(binary("fake-function"))
            .arg(format!("--address=unix://{socket}"))
            .spawn()
            .expect("the function starts");
        eventually("it listens", async || UnixStream::connect(&socket).is_ok()).await;
        function.pause();
        function
    }

    fn plugin_socket(&self) -> String {
        format!("unix://{}", self.scratch.path().join("plugin.sock").display())
    }

    pub(crate) fn definitions(&self, version: &str) -> Api<DynamicObject> {
        let kind = "CompositeResourceDefinition";
        let plural = "compositeresourcedefinitions";
        cluster_wide(&self.cluster.client, APIEXTENSIONS, version, kind, plural)
    }

    pub(crate) fn compositions(&self) -> Api<DynamicObject> {
        cluster_wide(
            &self.cluster.client,
            APIEXTENSIONS,
            "v1",
            "Composition",
            "compositions",
        )
    }

    /// What XRs of 4 are composed of.
    pub(crate) fn parts(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.cluster.client.clone(), "default", &self.composed.resource())
    }

    /// A watch of what users create of this kind.
    pub(crate) fn board(&self, composite: &Composite) -> Board {
        Board::watch(&self.cluster.client, &composite.of_users())
    }

    /// A page of the bridge's admin endpoint.
    pub(crate) async fn admin(&self, path: &str) -> String {
        let answer = reqwest::get(format!("http://{}{path}", self.admin)).await;
        let answer = answer.expect("the admin endpoint answers");
        answer.text().await.expect("a page")
    }

    /// The sum of all series of one of the bridge's metrics.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let metrics = self.admin("/metrics").await;
        let series = metrics.lines().filter_map(|line| {
            let rest = line.strip_prefix(name)?;
            let is_it = rest.starts_with(['{', ' ']);
            is_it.then(|| rest.rsplit_once(' ')?.1.parse::<f64>().ok())?
        });
        series.sum()
    }

    pub(crate) fn start_controller(&mut self) {
        let spawn = match self.side {
            Side::Ours => self.bridge(),
            Side::Peer => self.peer(),
        };
        self.controller = Some(spawn.spawn().expect("the controller starts"));
    }

    fn bridge(&self) -> Spawn {
        let guard: &[&str] = match self.guard {
            Guard::Policy => &[],
            Guard::Webhook => &[
                "--usage-guard=webhook",
                "--webhook-host=127.0.0.1",
                "--webhook-port=0",
            ],
        };
        let plugin = match self.composed {
            Composed::Parts | Composed::Unconvertible => Vec::new(),
            Composed::Managed => managed::plugin_flags(&self.plugin_socket(), POLL_OF_LIVES).into(),
        };
        Spawn::new(binary("runtime-bridge"))
            .args(["serve", "--compositions"])
            .args(guard)
            .args(plugin)
            .arg("--kubeconfig")
            .arg(self.plane.kubeconfig())
            .arg(format!("--function={FUNCTION}=unix:{}", socket(&self.scratch)))
            .arg(format!(
                "--function={OTHER_FUNCTION}=unix:{}",
                self.other_socket()
            ))
            .args(["--admin-address", &self.admin])
            .env("CROSSBRIDGE_LOG_LEVEL", "warn")
            .log_to(self.scratch.path().join("bridge.log"))
    }

    fn peer(&self) -> Spawn {
        Spawn::new(binary("bench-peer"))
            .args(["compositions", "--kubeconfig"])
            .arg(self.plane.kubeconfig())
            .arg(format!("--function=unix:{}", socket(&self.scratch)))
            .log_to(self.scratch.path().join("peer.log"))
    }

    pub(crate) async fn stop_controller(&mut self) {
        if let Some(controller) = self.controller.take() {
            controller.signal(Signal::TERM);
            let ended = controller.wait_for(Duration::from_mins(1)).await;
            ended.expect("it ends");
        }
    }

    pub(crate) async fn kill_controller(&mut self) {
        if let Some(controller) = self.controller.take() {
            controller.kill();
            controller.wait().await;
        }
    }

    /// Until what a control plane does once, as it begins, is over.
    pub(crate) async fn until_settled(&self) {
        let left = SETTLED_AFTER.saturating_sub(self.begun.elapsed());
        tokio::time::sleep(left).await;
    }

    /// What each uses per second while there is no object: API server and controller, in CPU seconds.
    pub(crate) async fn rest(&mut self) -> (f64, f64) {
        self.until_settled().await;
        let before = self.usage().await;
        tokio::time::sleep(Duration::from_secs(10)).await;
        let after = self.usage().await;
        let seconds = after.seconds_since(&before);
        self.rest = (after.api_server - before.api_server) / seconds;
        (self.rest, (after.controller - before.controller) / seconds)
    }

    /// Of the API server, beyond what it uses without any object; in CPU seconds.
    pub(crate) fn api_server(&self, before: &Usage, after: &Usage) -> f64 {
        let rest = self.rest * after.seconds_since(before);
        (after.api_server - before.api_server - rest).max(0.0)
    }

    /// Of a controller that runs. What one has used ends with it: no usage may span two.
    pub(crate) async fn usage(&self) -> Usage {
        let client = &self.cluster.client;
        Usage {
            api_server: self.plane.api_server().map_or(0.0, busy_seconds),
            controller: self.processes().map(busy_seconds).sum(),
            calls: self.calls.count(),
            requests: Requests::of_those(client, |resource| !UNCOUNTED.contains(&resource)).await,
            events: Requests::of(client, "events").await,
            at: Instant::now(),
        }
    }

    /// As soon as nothing is written any more: what was used until then.
    pub(crate) async fn usage_when_quiet(&self) -> Usage {
        let begun = Instant::now();
        let mut before = self.usage().await;
        loop {
            tokio::time::sleep(QUIET).await;
            let after = self.usage().await;
            if after.writes_since(&before) + after.events_since(&before) == 0.0 {
                return after;
            }
            assert!(
                begun.elapsed() < LIMIT,
                "it goes on writing: {:?}",
                after.requests_since(&before)
            );
            before = after;
        }
    }

    /// Until the function was called so often since its start.
    pub(crate) async fn until_called(&self, count: usize) {
        let begun = Instant::now();
        while self.calls.count() < count {
            assert!(
                begun.elapsed() < LIMIT,
                "{} of {count} calls have come",
                self.calls.count()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Until nothing that was composed exists.
    pub(crate) async fn until_no_parts(&self) {
        until_none(&self.parts()).await;
    }

    /// Until neither a composite resource of this kind exists nor anything that was composed.
    pub(crate) async fn until_none_of(&self, composite: &Composite) {
        until_none(&Api::all_with(self.cluster.client.clone(), &composite.resource())).await;
        self.until_no_parts().await;
    }

    /// Deletions of managed resources are compared of old ones: those of young ones take the peer up to a minute.
    pub(crate) async fn until_old(&self) {
        if self.composed == Composed::Managed {
            tokio::time::sleep(managed::GRACE).await;
        }
    }

    /// Those of the side.
    fn processes(&self) -> impl Iterator<Item = &Process> {
        self.controller.iter().chain(&self.provider)
    }

    pub(crate) fn resident_kb(&self) -> f64 {
        self.processes().map(resident_kb).sum()
    }

    /// The function itself, which is no part of what is compared.
    pub(crate) fn function(&self) -> f64 {
        busy_seconds(&self.function)
    }
}

async fn until_none(api: &Api<DynamicObject>) {
    let begun = Instant::now();
    loop {
        let some = api.list_metadata(&ListParams::default().limit(1)).await;
        let some = some.expect("a list").items;
        let Some(one) = some.first() else { return };
        let name = one.metadata.name.as_deref().unwrap_or_default();
        assert!(begun.elapsed() < LIMIT, "{name} still exists");
        tokio::time::sleep(LOOK).await;
    }
}

fn socket(scratch: &ScratchDir) -> String {
    scratch.path().join("f.sock").display().to_string()
}

fn whole(count: u64) -> f64 {
    u32::try_from(count).map_or(f64::MAX, f64::from)
}
