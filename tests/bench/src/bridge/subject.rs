//! Control plane, plugin and bridge, and what they have used.

use std::{
    collections::HashMap,
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use bridge_control_plane::{
    ControlPlane, Options,
    process::{Output, Process, ScratchDir, Signal, Spawn},
};
use bridge_e2e::{Cluster, Requests, binary, eventually};
use parking_lot::Mutex;
use serde_json::json;

use super::Kind;
use crate::usage::{busy_seconds, resident_kb};

const GROUP: &str = "bench.example.org";

/// What the plugin has printed.
#[derive(Default)]
pub(crate) struct Printed {
    observed: AtomicU64,
    /// When an Update of this external name reached it, in microseconds since 1970.
    updates: Mutex<HashMap<String, u64>>,
}

impl Printed {
    fn take_in(&self, line: &str) {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["observed", count] => {
                self.observed
                    .store(count.parse().unwrap_or_default(), Ordering::Relaxed);
            }
            ["update", name, micros] => {
                let micros = micros.parse().unwrap_or_default();
                self.updates.lock().insert((*name).to_owned(), micros);
            }
            _ => eprintln!("plugin: {line}"),
        }
    }

    /// As of the last second.
    pub(crate) fn observed(&self) -> u64 {
        self.observed.load(Ordering::Relaxed)
    }

    pub(crate) fn updates(&self) -> HashMap<String, u64> {
        self.updates.lock().clone()
    }
}

/// Microseconds since 1970, as the plugin prints them.
pub(crate) fn now_micros() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or_default()
}

/// Everything that is measured. It ends when dropped.
pub(crate) struct Subject {
    pub(crate) cluster: Cluster,
    plane: ControlPlane,
    plugin: Process,
    bridge: Option<Process>,
    pub(crate) printed: Arc<Printed>,
    poll: Duration,
    admin: String,
    scratch: ScratchDir,
}

/// What was used until a moment.
pub(crate) struct Usage {
    pub(crate) api_server: f64,
    pub(crate) bridge: f64,
    pub(crate) plugin: f64,
    requests: Requests,
    events: Requests,
}

impl Usage {
    pub(crate) fn writes_since(&self, before: &Self) -> u64 {
        self.requests.writes_since(&before.requests)
    }

    pub(crate) fn events_since(&self, before: &Self) -> u64 {
        self.events.writes_since(&before.events)
    }
}

impl Subject {
    pub(crate) async fn start(poll: Duration) -> Self {
        let plane = ControlPlane::start(Options::default()).await;
        let plane = plane.unwrap_or_else(|error| panic!("{error}"));
        let cluster = Cluster::connect(&plane.kubeconfig()).await;
        let free = TcpListener::bind("127.0.0.1:0")
            .and_then(|listener| listener.local_addr())
            .expect("a free port");
        let scratch = ScratchDir::new("crossbridge-bench-").expect("a folder");
        let printed = Arc::new(Printed::default());
        let lines = Arc::clone(&printed);
        let plugin = Spawn::new(binary("bench-plugin"))
            .env("PROVIDER_PLUGIN_ENDPOINT", socket(&scratch))
            .stdout(Output::lines(move |line| lines.take_in(line)))
            .spawn()
            .expect("the plugin starts");
        let mut subject = Self {
            cluster,
            plane,
            plugin,
            bridge: None,
            printed,
            poll,
            admin: free.to_string(),
            scratch,
        };
        subject.start_bridge();
        for plural in ["clusterproviderconfigs", "named", "given"] {
            let definition = subject.cluster.definition(&format!("{plural}.{GROUP}"));
            definition
                .until("to be established", |seen| {
                    bridge_e2e::condition(seen, "Established")["status"] == "True"
                })
                .await;
        }
        let config = subject.cluster.object(
            GROUP,
            "v1alpha1",
            "ClusterProviderConfig",
            "clusterproviderconfigs",
            "default",
        );
        config
            .create(json!({
                "apiVersion": format!("{GROUP}/v1alpha1"),
                "kind": "ClusterProviderConfig",
                "spec": {"settings": {}, "credentials": {"source": "None"}},
            }))
            .await;
        subject
    }

    pub(crate) fn start_bridge(&mut self) {
        let spawn = Spawn::new(binary("runtime-bridge"))
            .arg("serve")
            .arg("--kubeconfig")
            .arg(self.plane.kubeconfig())
            .args(["--plugin", &socket(&self.scratch), "--admin-address", &self.admin])
            .args([
                "--poll",
                &format!("{}s", self.poll.as_secs()),
                "--poll-jitter",
                "1s",
            ])
            .env("CROSSBRIDGE_LOG_LEVEL", "warn")
            .log_to(self.scratch.path().join("bridge.log"));
        self.bridge = Some(spawn.spawn().expect("the bridge starts"));
    }

    pub(crate) async fn stop_bridge(&mut self) {
        if let Some(bridge) = self.bridge.take() {
            bridge.signal(Signal::TERM);
            bridge.wait_for(Duration::from_mins(1)).await.expect("it ends");
        }
    }

    /// Of a bridge that runs. What one has used ends with it: no usage may span two.
    pub(crate) async fn usage(&self, kind: Kind) -> Usage {
        Usage {
            api_server: self.plane.api_server().map_or(0.0, busy_seconds),
            bridge: self.bridge.as_ref().map_or(0.0, busy_seconds),
            plugin: busy_seconds(&self.plugin),
            requests: Requests::of(&self.cluster.client, kind.plural).await,
            events: Requests::of(&self.cluster.client, "events").await,
        }
    }

    /// Of bridge and plugin, in kB.
    pub(crate) fn resident_kb(&self) -> (f64, f64) {
        (
            self.bridge.as_ref().map_or(0.0, resident_kb),
            resident_kb(&self.plugin),
        )
    }

    /// Waits until so many Observes have reached the plugin since it began.
    pub(crate) async fn until_observed(&self, count: u64) {
        let what = format!("{count} observations have come");
        eventually(&what, async || self.printed.observed() >= count).await;
    }
}

fn socket(scratch: &ScratchDir) -> String {
    format!("unix://{}", scratch.path().join("plugin.sock").display())
}
