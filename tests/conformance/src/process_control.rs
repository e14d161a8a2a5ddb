//! Control over the plugin's processes and its upstream: hooks of the author, or processes that the kit starts.

use std::{
    path::PathBuf,
    process::{ExitStatus, Stdio},
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    time::Duration,
};

use tempfile::TempDir;
use tokio::{process::Command, sync::Mutex, time::timeout};
use tonic::transport::Channel;

use crate::{
    certificates::Certificates,
    endpoint::{Endpoint, EndpointError},
    process::{PluginCommand, Process},
    readiness::{START_LIMIT, wait_until_serving, wait_until_serving_within},
    verdict::Stop,
};

/// How long a hook may run.
const HOOK_LIMIT: Duration = Duration::from_mins(2);

/// A fault hook ends with it where an action cannot be done. Every other code but 0 is a fault of the hook.
const UNSUPPORTED_EXIT_CODE: i32 = 2;

/// A process ends so soon after its connections are torn.
pub(crate) const END_FOLLOWS: Duration = Duration::from_millis(100);

/// How long a plugin that should be there already is searched for.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// What an author gives.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    /// Kills the plugin with SIGKILL and starts it again.
    pub restart: Option<String>,
    /// Replaces the plugin by its next build.
    pub upgrade: Option<String>,
    /// The next build, where the plugin is the kit's own process.
    pub next: Option<PluginCommand>,
    /// `$1` is `upstream-down`, `upstream-up`, `throttle` or `throttle-off`.
    pub fault: Option<String>,
    /// The endpoint of a second replica that shares the upstream.
    pub endpoint_b: Option<Endpoint>,
    /// Files to which the plugin logs.
    pub logs: Vec<PathBuf>,
}

/// Hooks, and the plugin's process where it is the kit's own.
#[derive(Debug)]
pub(crate) struct ProcessControl {
    hooks: Hooks,
    own: Option<OwnedPlugin>,
    /// The author's hook has upgraded it, and nothing has restored the first build.
    is_upgraded: AtomicBool,
}

/// A plugin beside the first one.
#[derive(Debug)]
pub(crate) struct Replica<P = Process> {
    pub endpoint: Endpoint,
    pub channel: Channel,
    /// The replica's process, which ends when this is dropped.
    pub process: P,
}

#[derive(Debug)]
struct OwnedPlugin {
    /// The build in force.
    command: Mutex<PluginCommand>,
    first_build: PluginCommand,
    endpoint: Endpoint,
    folder: TempDir,
    process: Mutex<Option<Process>>,
    replicas: AtomicU32,
    had_stale_socket: AtomicBool,
}

impl ProcessControl {
    pub(crate) fn new(hooks: Hooks) -> Self {
        Self {
            hooks,
            own: None,
            is_upgraded: AtomicBool::new(false),
        }
    }

    /// The plugin as a process of the kit's own, not started yet. Without an endpoint it gets a socket.
    pub(crate) fn with_owned_plugin(
        hooks: Hooks,
        command: PluginCommand,
        endpoint: Option<Endpoint>,
    ) -> Result<(Self, Endpoint), String> {
        let folder = tempfile::Builder::new()
            .prefix("conformance-")
            .tempdir()
            .map_err(|error| format!("cannot create a folder for the socket: {error}"))?;
        let endpoint = match endpoint {
            Some(endpoint) => endpoint,
            None => Endpoint::new(&format!("unix://{}/plugin.sock", folder.path().display()), None)
                .map_err(|error| error.to_string())?,
        };
        let own = OwnedPlugin {
            command: Mutex::new(command.clone()),
            first_build: command,
            endpoint: endpoint.clone(),
            folder,
            process: Mutex::new(None),
            replicas: AtomicU32::new(0),
            had_stale_socket: AtomicBool::new(false),
        };
        Ok((
            Self {
                hooks,
                own: Some(own),
                is_upgraded: AtomicBool::new(false),
            },
            endpoint,
        ))
    }

    /// Starts the kit's own process, if there is one, and waits until the plugin serves.
    pub(crate) async fn start(&self, channel: &Channel) -> Result<(), Stop> {
        let Some(own) = &self.own else {
            return wait_until_serving_within(channel, CONNECT_LIMIT).await;
        };
        let mut process = own.process.lock().await;
        if process.is_some() {
            return wait_until_serving(channel).await;
        }
        let mut started = own.start_at(&own.endpoint).await?;
        let socket = own
            .endpoint
            .socket()
            .map(PathBuf::from)
            .filter(|path| path.exists());
        let mut ended = own.wait_until_serving(&mut started, channel).await;
        if let (Err(_), Some(socket)) = (&ended, socket) {
            // Left behind by the process before. That has an assertion of its own; the others go on.
            own.had_stale_socket.store(true, Ordering::Relaxed);
            let _ = std::fs::remove_file(socket);
            started = own.start_at(&own.endpoint).await?;
            ended = own.wait_until_serving(&mut started, channel).await;
        }
        *process = Some(started);
        ended
    }

    /// Whether a socket that was left behind kept the plugin from serving.
    pub(crate) fn had_stale_socket(&self) -> bool {
        self.own
            .as_ref()
            .is_some_and(|own| own.had_stale_socket.load(Ordering::Relaxed))
    }

    /// Whether the plugin can be killed and started again.
    pub(crate) fn can_restart(&self) -> Result<(), Stop> {
        if self.own.is_some() || self.hooks.restart.is_some() {
            return Ok(());
        }
        Err(Stop::not_applicable("give --plugin-command or --restart-cmd"))
    }

    /// Kills it with SIGKILL, starts it again, and waits until it serves.
    pub(crate) async fn restart(&self, channel: &Channel) -> Result<(), Stop> {
        self.can_restart()?;
        if let Some(own) = &self.own {
            if let Some(process) = own.process.lock().await.take() {
                let killed = process.kill().await;
                killed.map_err(|error| Stop::blocked(format!("cannot kill the plugin: {error}")))?;
            }
            return self.start(channel).await;
        }
        if let Some(hook) = &self.hooks.restart {
            run(hook, "restart").await?;
        }
        wait_until_serving(channel).await
    }

    /// How the kit's own process ended, if it did so without being asked. `within`: what is waited for that end.
    pub(crate) async fn unexpected_end(&self, within: Duration) -> Option<String> {
        let own = self.own.as_ref()?;
        let mut process = own.process.lock().await;
        let status = match process.as_mut()?.has_ended() {
            Some(status) => status,
            None if within.is_zero() => return None,
            None => process.as_mut()?.ended(within).await?,
        };
        Some(format!(
            "the plugin's process ended with {status}; it said: {}",
            own.last_log_lines()
        ))
    }

    /// Starts the kit's own process again after its unexpected end.
    pub(crate) async fn start_again(&self, channel: &Channel) -> Result<(), Stop> {
        if let Some(own) = &self.own {
            own.process.lock().await.take();
        }
        self.start(channel).await
    }

    /// Whether the kit's own process listens at a socket, or is somebody else's.
    pub(crate) fn has_socket(&self) -> bool {
        self.own
            .as_ref()
            .is_none_or(|own| own.endpoint.socket().is_some())
    }

    pub(crate) fn owns_plugin(&self) -> bool {
        self.own.is_some()
    }

    /// Whether the plugin can be replaced by its next build.
    pub(crate) fn can_upgrade(&self) -> Result<(), Stop> {
        if self.is_upgraded.load(Ordering::Relaxed) {
            return Err(Stop::not_applicable(
                "the next build is in force already; give --restart-cmd, which restores the first one",
            ));
        }
        match (&self.own, &self.hooks.next, &self.hooks.upgrade) {
            (Some(_), Some(_), _) | (_, _, Some(_)) => Ok(()),
            _ => Err(Stop::not_applicable(
                "give --upgrade-cmd, or --next-plugin-command beside --plugin-command",
            )),
        }
    }

    /// Replaces it by its next build.
    pub(crate) async fn upgrade(&self, channel: &Channel) -> Result<(), Stop> {
        self.can_upgrade()?;
        if let (Some(own), Some(next)) = (&self.own, &self.hooks.next) {
            own.command.lock().await.clone_from(next);
            return self.restart(channel).await;
        }
        if let Some(hook) = &self.hooks.upgrade {
            self.is_upgraded.store(true, Ordering::Relaxed);
            run(hook, "upgrade").await?;
        }
        wait_until_serving(channel).await
    }

    /// Restores the first build where that is possible, as the next kind begins with it too.
    pub(crate) async fn downgrade(&self, channel: &Channel) -> Result<(), Stop> {
        if let Some(own) = &self.own
            && self.hooks.next.is_some()
        {
            own.command.lock().await.clone_from(&own.first_build);
            return self.restart(channel).await;
        }
        if self.hooks.restart.is_some() {
            self.restart(channel).await?;
            self.is_upgraded.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    pub(crate) fn can_fault(&self) -> bool {
        self.hooks.fault.is_some()
    }

    /// Reports the upstream how to behave; false: the hook cannot do that.
    pub(crate) async fn fault(&self, what: &str) -> Result<bool, Stop> {
        let Some(hook) = &self.hooks.fault else {
            return Err(Stop::not_applicable("give --fault-cmd"));
        };
        let status = run_hook(&with_argument(hook), what).await?;
        if status.code() == Some(UNSUPPORTED_EXIT_CODE) {
            return Ok(false);
        }
        succeeded(hook, status).map(|()| true)
    }

    /// A second replica: the author's, or a process of the kit's own.
    pub(crate) async fn replica(&self) -> Result<Replica<Option<Process>>, Stop> {
        if let Some(endpoint) = &self.hooks.endpoint_b {
            let channel = channel(endpoint)?;
            // It may have been started only just now, as the first one.
            wait_until_serving_within(&channel, CONNECT_LIMIT).await?;
            return Ok(Replica {
                endpoint: endpoint.clone(),
                channel,
                process: None,
            });
        }
        if self.own.is_none() {
            return Err(Stop::not_applicable("give --plugin-command or --endpoint-b"));
        }
        let replica = self.start_replica().await?;
        Ok(Replica {
            endpoint: replica.endpoint,
            channel: replica.channel,
            process: Some(replica.process),
        })
    }

    /// A second process of the kit's own, on a socket of its own.
    pub(crate) async fn start_replica(&self) -> Result<Replica, Stop> {
        let own = self.own()?;
        let number = own.replicas.fetch_add(1, Ordering::Relaxed);
        let uri = format!("unix://{}/replica-{number}.sock", own.folder.path().display());
        let endpoint = Endpoint::new(&uri, None).map_err(|error| Stop::blocked(error.to_string()))?;
        let replica = Replica {
            process: own.start_at(&endpoint).await?,
            channel: channel(&endpoint)?,
            endpoint,
        };
        wait_until_serving(&replica.channel).await?;
        Ok(replica)
    }

    /// A process of the kit's own that is instructed to serve without TLS on loopback. Fails with the reason for which it does not serve.
    pub(crate) async fn start_on_loopback(&self, address: &str) -> Result<Replica, Stop> {
        let own = self.own()?;
        let endpoint = Endpoint::new(address, None).map_err(|error| Stop::blocked(error.to_string()))?;
        let mut process = own.start_at(&endpoint).await?;
        let channel = channel(&endpoint)?;
        own.wait_until_serving(&mut process, &channel).await?;
        Ok(Replica {
            endpoint,
            channel,
            process,
        })
    }

    /// A process of the kit's own that is instructed to serve with mutual TLS, asked by a client of its authority. Fails with the reason for which it does
    /// not serve.
    pub(crate) async fn start_with_tls(
        &self,
        certificates: &Certificates,
        address: &str,
    ) -> Result<Replica, Stop> {
        let own = self.own()?;
        let blocked = |error: EndpointError| Stop::blocked(error.to_string());
        let endpoint = Endpoint::new(address, Some(certificates.client.clone())).map_err(blocked)?;
        let mut command = own.command.lock().await.clone();
        command.environment.extend(certificates.plugin.iter().cloned());
        let mut process = own.start(&command, &endpoint).await?;
        let channel = channel(&endpoint)?;
        own.wait_until_serving(&mut process, &channel).await?;
        Ok(Replica {
            endpoint,
            channel,
            process,
        })
    }

    /// One more process at this endpoint, which may not be free. Does not wait for it.
    pub(crate) async fn start_at(&self, endpoint: &Endpoint) -> Result<Process, Stop> {
        self.own()?.start_at(endpoint).await
    }

    fn own(&self) -> Result<&OwnedPlugin, Stop> {
        self.own
            .as_ref()
            .ok_or_else(|| Stop::not_applicable("give --plugin-command"))
    }

    /// The files to which the plugin's output goes.
    pub(crate) fn logs(&self) -> Vec<PathBuf> {
        let own = self.own.iter().map(OwnedPlugin::log);
        self.hooks.logs.iter().cloned().chain(own).collect()
    }

    /// Ends the kit's own process.
    pub(crate) async fn end(&self) {
        if let Some(own) = &self.own
            && let Some(process) = own.process.lock().await.take()
        {
            // Dropped, it is killed all the same.
            let _ = process.kill().await;
        }
    }
}

impl OwnedPlugin {
    async fn start_at(&self, endpoint: &Endpoint) -> Result<Process, Stop> {
        let command = self.command.lock().await.clone();
        self.start(&command, endpoint).await
    }

    async fn start(&self, command: &PluginCommand, endpoint: &Endpoint) -> Result<Process, Stop> {
        Process::start(command, endpoint.uri(), &self.log())
            .await
            .map_err(|error| Stop::blocked(format!("cannot start the plugin: {error}")))
    }

    async fn wait_until_serving(&self, process: &mut Process, channel: &Channel) -> Result<(), Stop> {
        let why = tokio::select! {
            served = wait_until_serving(channel) => match served {
                Ok(()) => return Ok(()),
                Err(stop) => stop.to_string(),
            },
            status = process.ended(START_LIMIT) => match status {
                Some(status) => format!("the plugin ended with {status}"),
                None => "the plugin does not serve".to_owned(),
            },
        };
        Err(Stop::blocked(format!(
            "{why}; it said: {}",
            self.last_log_lines()
        )))
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("plugin.log")
    }

    fn last_log_lines(&self) -> String {
        let said = std::fs::read_to_string(self.log()).unwrap_or_default();
        let lines: Vec<&str> = said.lines().rev().take(5).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
    }
}

fn channel(endpoint: &Endpoint) -> Result<Channel, Stop> {
    endpoint
        .channel(None)
        .map_err(|error| Stop::blocked(error.to_string()))
}

/// Runs a hook of the author's, which has to succeed.
async fn run(hook: &str, argument: &str) -> Result<(), Stop> {
    succeeded(hook, run_hook(hook, argument).await?)
}

fn succeeded(hook: &str, status: ExitStatus) -> Result<(), Stop> {
    if status.success() {
        return Ok(());
    }
    Err(Stop::blocked(format!("the hook `{hook}` ended with {status}")))
}

/// A fault hook that names no argument, as a program's path alone does, is given it: else every action would be the same.
fn with_argument(hook: &str) -> String {
    if hook.contains('$') {
        hook.to_owned()
    } else {
        format!("{hook} \"$1\"")
    }
}

/// Runs a hook of the author's: a shell command that gets `argument` as `$1`.
async fn run_hook(hook: &str, argument: &str) -> Result<ExitStatus, Stop> {
    let child = Command::new("sh")
        .args(["-c", hook, "hook", argument])
        .env("CONFORMANCE_ACTION", argument)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .status();
    match timeout(HOOK_LIMIT, child).await {
        Ok(Ok(status)) => Ok(status),
        Ok(Err(error)) => Err(Stop::blocked(format!("the hook `{hook}` did not start: {error}"))),
        Err(_) => Err(Stop::blocked(format!(
            "the hook `{hook}` did not end within {} s",
            HOOK_LIMIT.as_secs()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::{run_hook, with_argument};

    #[tokio::test]
    async fn a_fault_hook_gets_its_action_though_it_names_no_argument() {
        let folder = tempfile::tempdir().expect("a folder");
        let hook = folder.path().join("hook");
        std::fs::write(&hook, "[ \"$1\" = upstream-down ]").expect("a hook");
        for hook in [
            format!("sh {}", hook.display()),
            "[ \"$1\" = upstream-down ]".to_owned(),
        ] {
            let status = run_hook(&with_argument(&hook), "upstream-down")
                .await
                .expect("it runs");
            assert!(status.success(), "{hook}: {status}");
        }
    }
}
