//! A control plane, the function and the bridges, started, killed and paused on demand.

use std::path::{Path, PathBuf};

use bridge_control_plane::{
    ControlPlane, Options,
    process::{Process, ScratchDir, Signal, Spawn},
};

use fake_cloud::remote::Remote;

use super::manifests::FUNCTION;
use crate::{
    TestError,
    testbed::{LIMIT, built, free_address, serve_cloud, wait_until_leading, wait_until_ready},
};

/// As it is by default: all stories must end in one term, as composites and claims wait in another one for what the former may have sent, and then
/// none comes by its point. A lease as short as that of the other matrix is lost on a busy machine.
const ELECTION: [&str; 1] = ["--leader-election"];

/// Everything that runs. It ends when dropped.
pub struct Processes {
    /// The real API server and etcd.
    pub plane: ControlPlane,
    /// Processes that were killed.
    pub kills: u32,
    /// How often a leader was paused.
    pub pauses: u32,
    bridge: Option<Process>,
    standby: Option<(Process, String)>,
    function: Option<Process>,
    /// Address of the fake cloud, and the kind of it that the plugin serves.
    cloud: Option<(String, String)>,
    plugin: Option<Process>,
    program: PathBuf,
    admin: String,
    scratch: ScratchDir,
    starts: u32,
}

impl Processes {
    /// The control plane and the function. `collects`: with the garbage collector of Kubernetes.
    ///
    /// # Errors
    /// Something does not come up.
    pub async fn start(collects: bool) -> Result<Self, TestError> {
        let options = Options {
            controller_manager: collects,
            ..Options::default()
        };
        let plane = ControlPlane::start(options).await.map_err(TestError::from)?;
        let scratch = ScratchDir::new("crossbridge-endings-").map_err(TestError::from)?;
        let mut processes = Self {
            plane,
            kills: 0,
            pauses: 0,
            bridge: None,
            standby: None,
            function: None,
            cloud: None,
            plugin: None,
            program: built("halting-bridge")?,
            admin: free_address()?,
            scratch,
            starts: 0,
        };
        processes.start_function()?;
        Ok(processes)
    }

    /// Where logs and failpoints lie.
    pub fn folder(&self) -> &Path {
        self.scratch.path()
    }

    /// The function, with a log of its own.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start_function(&mut self) -> Result<(), TestError> {
        let socket = self.folder().join("f.sock");
        let spawned = Spawn::new(built("fake-function")?)
            .arg(format!("--address=unix://{}", socket.display()))
            .log_to(self.folder().join(format!("function-{}.log", self.starts)))
            .spawn();
        self.starts += 1;
        self.function = Some(spawned.map_err(TestError::from)?);
        Ok(())
    }

    /// A fake cloud, and a plugin that serves this kind of it, beside the function; a bridge that is started from now on has it. Returns the cloud.
    ///
    /// # Errors
    /// It cannot be started.
    pub async fn start_cloud(&mut self, kind: &str) -> Result<Remote, TestError> {
        let url = serve_cloud().await?;
        self.cloud = Some((url.clone(), kind.to_owned()));
        self.start_plugin()?;
        Ok(Remote::new(&url))
    }

    /// The plugin of the cloud, with a log of its own.
    ///
    /// # Errors
    /// It cannot be started, or there is no cloud.
    pub fn start_plugin(&mut self) -> Result<(), TestError> {
        let Some((url, kind)) = &self.cloud else {
            return Err(TestError::from("a plugin without a cloud"));
        };
        let spawned = Spawn::new(built("fake-cloud-plugin")?)
            .env("FAKE_CLOUD", url)
            .env("FAKE_CLOUD_KINDS", kind)
            .env("PROVIDER_PLUGIN_ENDPOINT", self.plugin_endpoint())
            .log_to(self.folder().join(format!("plugin-{}.log", self.starts)))
            .spawn();
        self.starts += 1;
        self.plugin = Some(spawned.map_err(TestError::from)?);
        Ok(())
    }

    /// `kill -9` to the plugin.
    pub async fn kill_plugin(&mut self) {
        if let Some(plugin) = self.plugin.take() {
            plugin.kill();
            plugin.wait().await;
        }
    }

    fn plugin_endpoint(&self) -> String {
        format!("unix://{}", self.folder().join("p.sock").display())
    }

    /// `kill -9` to the function.
    pub async fn kill_function(&mut self) {
        if let Some(function) = self.function.take() {
            function.kill();
            function.wait().await;
        }
    }

    /// One bridge, ready; with a folder, it halts at the failpoints that the folder names.
    ///
    /// # Errors
    /// It does not become ready.
    pub async fn start_bridge(&mut self, points: Option<&Path>) -> Result<(), TestError> {
        self.bridge = Some(self.spawn(&self.admin.clone(), points, &[])?);
        wait_until_ready(&self.admin).await
    }

    /// Two bridges: the leader, with failpoints, and a standby without.
    ///
    /// # Errors
    /// They do not come up.
    pub async fn start_pair(&mut self, points: &Path) -> Result<(), TestError> {
        self.bridge = Some(self.spawn(&self.admin.clone(), Some(points), &ELECTION)?);
        wait_until_leading(&self.admin).await?;
        wait_until_ready(&self.admin).await?;
        let admin = free_address()?;
        let standby = self.spawn(&admin, None, &ELECTION)?;
        self.standby = Some((standby, admin));
        Ok(())
    }

    /// `kill -9` to the bridge; another one, without failpoints, follows.
    ///
    /// # Errors
    /// That does not become ready.
    pub async fn replace_bridge(&mut self) -> Result<(), TestError> {
        self.kill_bridge().await;
        self.start_bridge(None).await
    }

    /// `kill -9` to the bridge.
    pub async fn kill_bridge(&mut self) {
        if let Some(bridge) = self.bridge.take() {
            self.kills += 1;
            bridge.kill();
            bridge.wait().await;
        }
    }

    /// SIGSTOP to the leader; returns when the standby leads.
    ///
    /// # Errors
    /// It does not come to that.
    pub async fn stall_leader(&mut self) -> Result<(), TestError> {
        if let (Some(leader), Some((_, admin))) = (&self.bridge, &self.standby) {
            leader.pause();
            wait_until_leading(admin).await?;
            self.pauses += 1;
        }
        Ok(())
    }

    /// SIGCONT to the former leader.
    pub fn resume_former_leader(&self) {
        if let Some(former) = &self.bridge {
            former.resume();
        }
    }

    /// SIGTERM to all bridges.
    ///
    /// # Errors
    /// One does not end.
    pub async fn stop_bridges(&mut self) -> Result<(), TestError> {
        // The former leader first: it is not to lead again.
        let standby = self.standby.take().map(|(standby, _)| standby);
        for bridge in [self.bridge.take(), standby].into_iter().flatten() {
            bridge.signal(Signal::TERM);
            bridge.wait_for(LIMIT).await.map_err(TestError::from)?;
        }
        Ok(())
    }

    fn spawn(&mut self, admin: &str, points: Option<&Path>, flags: &[&str]) -> Result<Process, TestError> {
        let socket = self.folder().join("f.sock");
        let spawn = Spawn::new(&self.program)
            .arg("serve")
            .arg("--kubeconfig")
            .arg(self.plane.kubeconfig())
            .arg("--compositions")
            .arg(format!("--function={FUNCTION}=unix:{}", socket.display()))
            .args(["--admin-address", admin])
            // All stories halt at the same time.
            .args(["--clock-skew", "200ms", "--max-concurrent-reconciles", "4000"])
            .args(flags)
            .args(
                self.cloud
                    .iter()
                    .map(|_| format!("--plugin={}", self.plugin_endpoint())),
            )
            .env("CROSSBRIDGE_LOG_LEVEL", "info")
            .log_to(self.folder().join(format!("bridge-{}.log", self.starts)));
        let spawn = match points {
            Some(folder) => spawn.env("CROSSBRIDGE_FAILPOINTS", folder),
            None => spawn.env_remove("CROSSBRIDGE_FAILPOINTS"),
        };
        self.starts += 1;
        spawn.spawn().map_err(TestError::from)
    }
}
