//! The plugin as a process of the kit's own, which never outlives it.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use tokio::{
    io::AsyncWriteExt,
    process::{Child, Command},
    time::timeout,
};

/// The child is this shell until its guard knows its process id; then it becomes the program.
const GATE: &str = r#"read -r go && exec "$@" </dev/null"#;

/// Ends the child when its own input ends: with the kit, however that goes.
const GUARD: &str = r#"read -r _; kill -KILL "$1" 2>/dev/null"#;

/// How long a process that was killed may take to be deleted.
const GRACE: Duration = Duration::from_secs(10);

/// How the plugin is started.
#[derive(Debug, Clone)]
pub(crate) struct PluginCommand {
    pub program: String,
    pub arguments: Vec<String>,
    /// Variables beside the endpoint.
    pub environment: Vec<(&'static str, PathBuf)>,
}

impl PluginCommand {
    /// Splits it as a shell would.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut words = shlex::split(text).ok_or("a quote is not closed")?.into_iter();
        Ok(Self {
            program: words.next().ok_or("no program is named")?,
            arguments: words.collect(),
            environment: Vec::new(),
        })
    }
}

/// A plugin that the kit started, ended when this is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    /// Holds the guard's input: dropped, the guard ends the child.
    guard: Child,
}

impl Process {
    /// Starts it; its output is appended to `log`.
    pub(crate) async fn start(command: &PluginCommand, endpoint: &str, log: &Path) -> io::Result<Self> {
        let said = File::options().create(true).append(true).open(log)?;
        let Some(program) = which(&command.program) else {
            return Err(io::Error::other(format!(
                "there is no program {:?}",
                command.program
            )));
        };
        let mut child = Command::new("sh")
            .args(["-c", GATE, "gate"])
            .arg(program)
            .args(&command.arguments)
            .env("PROVIDER_PLUGIN_ENDPOINT", endpoint)
            .envs(command.environment.iter().map(|(name, path)| (name, path)))
            .stdin(Stdio::piped())
            .stdout(said.try_clone()?)
            .stderr(said)
            .kill_on_drop(true)
            .spawn()?;
        let id = child.id().unwrap_or_default().to_string();
        let guard = Command::new("sh")
            .args(["-c", GUARD, "guard", &id])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        if let Some(mut gate) = child.stdin.take() {
            gate.write_all(b"go\n").await?;
        }
        Ok(Self { child, guard })
    }

    /// Sends SIGKILL and waits until the process has ended.
    pub(crate) async fn kill(mut self) -> io::Result<()> {
        self.child.start_kill()?;
        let ended = timeout(GRACE, self.child.wait()).await;
        ended.map_err(|_| io::Error::other("it does not end"))??;
        self.guard.start_kill()
    }

    /// Reports it to end.
    pub(crate) fn terminate(&self) -> io::Result<()> {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        match id.and_then(Pid::from_raw) {
            Some(id) => Ok(kill_process(id, Signal::TERM)?),
            None => Err(io::Error::other("it has ended")),
        }
    }

    /// Its end, if that has come.
    pub(crate) fn has_ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// Its end, if it comes within this time.
    pub(crate) async fn ended(&mut self, within: Duration) -> Option<ExitStatus> {
        timeout(within, self.child.wait()).await.ok()?.ok()
    }
}

/// A program by path, or by name in `PATH`.
fn which(program: &str) -> Option<PathBuf> {
    if program.contains('/') {
        return std::path::absolute(program).ok().filter(|path| path.is_file());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}
