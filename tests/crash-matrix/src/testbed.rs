//! A control plane, the cloud, the plugin and the bridge, started and killed on demand.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    time::Duration,
};

use bridge_control_plane::{
    ControlPlane, Options,
    process::{Process, ScratchDir, Signal, Spawn},
};
use fake_cloud::remote::Remote;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::{TestError, cluster::Cluster};

/// Nothing takes longer to come up, or to end.
pub const LIMIT: Duration = Duration::from_mins(2);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Short, so that no one waits long; the order of them is what counts.
pub(crate) const ELECTION: [&str; 7] = [
    "--leader-election",
    "--leader-election-lease-duration",
    "4s",
    "--leader-election-renew-deadline",
    "3s",
    "--leader-election-retry-period",
    "300ms",
];

/// Which programs, and how the bridge is started.
#[derive(Debug, Clone)]
pub struct Programs {
    /// Path of `runtime-bridge`, or of `halting-bridge`.
    pub bridge: PathBuf,
    /// Path of `fake-cloud-plugin`.
    pub plugin: PathBuf,
    /// Further flags of `runtime-bridge serve`.
    pub flags: Vec<String>,
    /// How long a call may take; `None`: a second.
    pub call_seconds: Option<u32>,
    /// Kinds that the plugin publishes; empty: all.
    pub kinds: Vec<String>,
}

/// Everything. It ends when dropped.
pub struct Testbed {
    /// The real API server and etcd.
    pub plane: ControlPlane,
    /// A client of that API server.
    pub cluster: Cluster,
    /// The cloud, with its objects and its log of calls.
    pub cloud: Remote,
    cloud_url: String,
    /// Processes that were killed.
    pub kills: u32,
    plugin: Option<Process>,
    bridge: Option<Process>,
    /// Beside an elected leader, and its admin endpoint.
    standby: Option<(Process, String)>,
    programs: Programs,
    admin: String,
    scratch: ScratchDir,
    starts: u32,
}

impl Programs {
    /// Those that lie beside the running program; `bridge` is `runtime-bridge` or `halting-bridge`.
    ///
    /// # Errors
    /// They are not built.
    pub fn from_build(bridge: &str, flags: &[&str]) -> Result<Self, TestError> {
        Ok(Self {
            bridge: built(bridge)?,
            plugin: built("fake-cloud-plugin")?,
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            call_seconds: None,
            kinds: Vec::new(),
        })
    }
}

impl Testbed {
    /// All of it, up to a config that every object uses.
    ///
    /// # Errors
    /// Something does not come up.
    pub async fn start(programs: Programs) -> Result<Self, TestError> {
        let plane = ControlPlane::start(Options::default())
            .await
            .map_err(TestError::from)?;
        let cloud_url = serve_cloud().await?;
        let cloud = Remote::new(&cloud_url);
        let cluster = Cluster::connect(&plane.kubeconfig()).await?;
        let mut testbed = Self {
            plane,
            cluster,
            cloud,
            cloud_url,
            kills: 0,
            plugin: None,
            bridge: None,
            standby: None,
            programs,
            admin: free_address()?,
            scratch: ScratchDir::new("crossbridge-crash-").map_err(TestError::from)?,
            starts: 0,
        };
        testbed.start_plugin()?;
        testbed.start_bridge(None)?;
        testbed.wait_until_ready().await?;
        testbed.configure().await?;
        Ok(testbed)
    }

    /// Where logs and failpoints lie.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// Starts the plugin. It keeps no state of a former process.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start_plugin(&mut self) -> Result<(), TestError> {
        let spawn = Spawn::new(&self.programs.plugin)
            .env("FAKE_CLOUD", &self.cloud_url)
            .env("PROVIDER_PLUGIN_ENDPOINT", self.socket())
            .log_to(self.folder().join("plugin.log"));
        let spawn = match self.programs.call_seconds {
            Some(seconds) => spawn.env("FAKE_CLOUD_CALL_SECONDS", seconds.to_string()),
            None => spawn,
        };
        let spawn = match self.programs.kinds.join(",") {
            all if all.is_empty() => spawn,
            kinds => spawn.env("FAKE_CLOUD_KINDS", kinds),
        };
        self.plugin = Some(spawn.spawn().map_err(TestError::from)?);
        Ok(())
    }

    /// Whether the plugin publishes every kind it has.
    pub fn publishes_all(&self) -> bool {
        self.programs.kinds.is_empty()
    }

    /// Starts the plugin anew, publishing these kinds alone; empty: all.
    ///
    /// # Errors
    /// It cannot be started.
    pub async fn publish(&mut self, kinds: &[String]) -> Result<(), TestError> {
        if let Some(plugin) = self.plugin.take() {
            plugin.stop(LIMIT).await;
        }
        self.programs.kinds = kinds.to_vec();
        self.start_plugin()
    }

    /// Starts the plugin anew, with this limit of each call; the former one is returned.
    ///
    /// # Errors
    /// It cannot be started.
    pub async fn restart_plugin_with_call_limit(
        &mut self,
        seconds: Option<u32>,
    ) -> Result<Option<u32>, TestError> {
        if let Some(plugin) = self.plugin.take() {
            plugin.stop(LIMIT).await;
        }
        let former = std::mem::replace(&mut self.programs.call_seconds, seconds);
        self.start_plugin()?;
        Ok(former)
    }

    /// The bridge; with a folder, it halts at the failpoints that the folder names.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start_bridge(&mut self, points: Option<&Path>) -> Result<(), TestError> {
        self.bridge = Some(self.spawn_bridge(&self.admin.clone(), points, &[])?);
        Ok(())
    }

    /// Two bridges: the leader, with failpoints, and a standby without.
    ///
    /// # Errors
    /// They do not come up.
    pub async fn start_pair(&mut self, points: &Path) -> Result<(), TestError> {
        self.bridge = Some(self.spawn_bridge(&self.admin.clone(), Some(points), &ELECTION)?);
        wait_until_leading(&self.admin).await?;
        let admin = free_address()?;
        let standby = self.spawn_bridge(&admin, None, &ELECTION)?;
        self.standby = Some((standby, admin));
        Ok(())
    }

    /// SIGSTOP to the leader; returns when the standby leads.
    ///
    /// # Errors
    /// It does not come to that.
    pub async fn stall_leader(&self) -> Result<(), TestError> {
        if let (Some(leader), Some((_, admin))) = (&self.bridge, &self.standby) {
            leader.pause();
            wait_until_leading(admin).await?;
        }
        Ok(())
    }

    /// SIGCONT to the old leader.
    pub fn resume_former_leader(&self) {
        if let Some(old) = &self.bridge {
            old.resume();
        }
    }

    /// How often the bridges' lease has changed hands.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub async fn lease_transitions(&self) -> Result<u64, TestError> {
        let leases = self.cluster.leases().await?;
        let name = |lease: &Value| lease["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let ours = leases.iter().find(|lease| name(lease).starts_with("crossbridge"));
        ours.and_then(|lease| lease["spec"]["leaseTransitions"].as_u64())
            .ok_or_else(|| TestError("there is no lease with a number of leader transitions".to_owned()))
    }

    /// SIGTERM to both bridges.
    ///
    /// # Errors
    /// One does not end.
    pub async fn stop_pair(&mut self) -> Result<(), TestError> {
        // The old leader first: it is not to lead again.
        let standby = self.standby.take().map(|(standby, _)| standby);
        for bridge in [self.bridge.take(), standby].into_iter().flatten() {
            bridge.signal(Signal::TERM);
            bridge.wait_for(LIMIT).await.map_err(TestError::from)?;
        }
        Ok(())
    }

    fn spawn_bridge(
        &mut self,
        admin: &str,
        points: Option<&Path>,
        flags: &[&str],
    ) -> Result<Process, TestError> {
        let spawn = Spawn::new(&self.programs.bridge)
            .arg("serve")
            .arg("--kubeconfig")
            .arg(self.plane.kubeconfig())
            .args(["--plugin", &self.socket(), "--admin-address", admin])
            .args(&self.programs.flags)
            .args(flags)
            .env("CROSSBRIDGE_LOG_LEVEL", "info")
            .log_to(self.folder().join(format!("bridge-{}.log", self.starts)));
        let spawn = match points {
            Some(folder) => spawn.env("CROSSBRIDGE_FAILPOINTS", folder),
            None => spawn.env_remove("CROSSBRIDGE_FAILPOINTS"),
        };
        self.starts += 1;
        spawn.spawn().map_err(TestError::from)
    }

    /// `kill -9`, and waits until it is dead.
    pub async fn kill_plugin(&mut self) {
        if let Some(plugin) = self.plugin.take() {
            self.kills += 1;
            plugin.kill();
            plugin.wait().await;
        }
    }

    /// `kill -9`, and waits until it is dead.
    pub async fn kill_bridge(&mut self) {
        if let Some(bridge) = self.bridge.take() {
            self.kills += 1;
            bridge.kill();
            bridge.wait().await;
        }
    }

    /// Sends SIGTERM to the bridge, if one runs.
    pub fn terminate_bridge(&self) {
        if let Some(bridge) = &self.bridge {
            bridge.signal(Signal::TERM);
        }
    }

    /// Waits for the end of a bridge that was instructed to stop; its exit code.
    ///
    /// # Errors
    /// It does not run, or does not end.
    pub async fn wait_for_bridge_exit(&mut self) -> Result<Option<i32>, TestError> {
        let bridge = self
            .bridge
            .take()
            .ok_or_else(|| TestError("no bridge runs".to_owned()))?;
        let ended = bridge.wait_for(LIMIT).await.map_err(TestError::from)?;
        Ok(ended.code())
    }

    /// Waits until the bridge's watches run and the plugin answers it.
    ///
    /// # Errors
    /// That takes too long.
    pub async fn wait_until_ready(&self) -> Result<(), TestError> {
        wait_until_ready(&self.admin).await
    }

    fn socket(&self) -> String {
        format!("unix://{}", self.folder().join("plugin.sock").display())
    }

    async fn configure(&self) -> Result<(), TestError> {
        let config = json!({"spec": {"settings": {}, "credentials": {"source": "None"}}});
        self.cluster.config("default").create(config).await.map(drop)
    }
}

/// Serves a cloud until this process ends. Returns its URL.
///
/// # Errors
/// It cannot listen.
pub(crate) async fn serve_cloud() -> Result<String, TestError> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .map_err(TestError::from)?;
    let address = listener.local_addr().map_err(TestError::from)?;
    tokio::spawn(async move {
        if let Err(error) = fake_cloud::process::serve(listener).await {
            eprintln!("the cloud ended: {error}");
        }
    });
    Ok(format!("http://{address}"))
}

/// An address of this machine that no one listens on.
///
/// # Errors
/// There is none.
pub fn free_address() -> Result<String, TestError> {
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    Ok(free.map_err(TestError::from)?.to_string())
}

/// The path of a program that lies beside the running one.
///
/// # Errors
/// It is not built.
pub(crate) fn built(name: &str) -> Result<PathBuf, TestError> {
    let own = std::env::current_exe().map_err(TestError::from)?;
    // target/PROFILE/crash-matrix, or target/PROFILE/deps/TEST
    let found = own.ancestors().skip(1).take(2).map(|folder| folder.join(name));
    let mut found = found.filter(|path| path.is_file());
    found.next().ok_or_else(|| {
        TestError(format!(
            "{name} is not built beside {}; run `cargo build --workspace --all-targets` first",
            own.display()
        ))
    })
}

/// Waits until the bridge of this admin endpoint is ready.
pub(crate) async fn wait_until_ready(admin: &str) -> Result<(), TestError> {
    let end = Instant::now() + LIMIT;
    let page = format!("http://{admin}/readyz");
    loop {
        let answer = reqwest::get(&page).await;
        if answer.is_ok_and(|answer| answer.status().is_success()) {
            return Ok(());
        }
        if Instant::now() > end {
            return Err(TestError(format!("the bridge is not ready within {LIMIT:?}")));
        }
        sleep(POLL_INTERVAL).await;
    }
}

/// Waits until the bridge of this admin endpoint leads.
pub(crate) async fn wait_until_leading(admin: &str) -> Result<(), TestError> {
    let end = Instant::now() + LIMIT;
    let page = format!("http://{admin}/debug/state");
    loop {
        let state = async { reqwest::get(&page).await?.text().await };
        let state: Value = state
            .await
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default();
        if state["leadership"]["leads"] == true {
            return Ok(());
        }
        if Instant::now() > end {
            return Err(TestError(format!(
                "the bridge at {admin} does not lead within {LIMIT:?}"
            )));
        }
        sleep(POLL_INTERVAL).await;
    }
}
