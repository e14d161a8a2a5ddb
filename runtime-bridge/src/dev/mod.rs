//! `runtime-bridge dev`: a control plane, plugins, composition functions and a bridge on this machine, in one command; the inner loop of
//! whoever writes a plugin, a function or a composition.
#![allow(clippy::doc_markdown, reason = "some comments are help texts")]

mod admin;
mod apply;
mod changes;
mod children;
mod command;
mod composed;
mod leftovers;
mod progress;
mod rebuilt;
mod state;
mod supervise;
mod watch;

use std::{
    convert::Infallible,
    error::Error,
    ffi::OsString,
    future::pending,
    io,
    path::{Path, PathBuf},
    pin::pin,
};

use bridge_control_plane::{
    ControlPlane, Options, StartError,
    process::{ScratchDir, Spawn},
};
use clap::Args;
use futures::future::try_join_all;
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

pub use self::command::{FunctionCommand, endpoint};
use self::{
    children::Children,
    command::ChildCommand,
    progress::ProgressPrinter,
    rebuilt::{WatchError, WatchedFiles, no_changes},
    state::StateFile,
    supervise::{SuperviseError, Supervised},
};
use crate::{manifests, output::shell_word};

/// The bridge's exit code when its command line is wrong.
const USAGE: i32 = 2;

/// What the bridge does unless flags or the environment set it: what it does is reported here anyway.
const SERVE_DEFAULTS: [(&str, &str); 4] = [
    ("CROSSBRIDGE_LOG_LEVEL", "warn"),
    // All run by one clock.
    ("CROSSBRIDGE_CLOCK_SKEW", "1s"),
    // Of --usage-guard=webhook: the API server of the command reaches the bridge directly.
    ("CROSSBRIDGE_WEBHOOK_HOST", "127.0.0.1"),
    ("CROSSBRIDGE_WEBHOOK_PORT", "0"),
];

/// What `runtime-bridge dev` is asked to do.
#[derive(Debug, Args)]
pub struct DevArgs {
    /// Command that runs a plugin, in words as in a shell. It finds its endpoint in PROVIDER_PLUGIN_ENDPOINT, and is started again when it
    /// ends. Can be given more than once.
    #[arg(
        long,
        value_name = "COMMAND",
        value_parser = ChildCommand::parse
    )]
    pub plugin_command: Vec<ChildCommand>,
    /// Serve compositions. No plugin needs to be given then.
    #[arg(long)]
    pub compositions: bool,
    /// Command that runs a composition function, in words as in a shell, behind the name that compositions call it by. {address} in it
    /// becomes the address at which it is to listen, unix:///path, and {socket} the path alone; it finds both in FUNCTION_ADDRESS and
    /// FUNCTION_SOCKET, too. It is started again when it ends. Can be given more than once.
    #[arg(
        long,
        value_name = "NAME='COMMAND'",
        value_parser = FunctionCommand::parse
    )]
    pub function_command: Vec<FunctionCommand>,
    /// File, or folder, to watch: when it changes, plugins and functions are started again. For a compiled plugin the program that the
    /// build writes; for others their sources. Below a folder, target, node_modules, __pycache__ and hidden files are left out. Can be given more
    /// than once.
    #[arg(long, value_name = "PATH")]
    pub watch: Vec<PathBuf>,
    /// Manifest file, or folder of them (*.yaml, *.yml, *.json, by name), to apply once their kinds are served. Can be given more
    /// than once.
    #[arg(long, value_name = "PATH")]
    pub apply: Vec<PathBuf>,
    /// Folder of the control plane, which stays when this ends: the next start with it goes on with the same objects, and so with the same external
    /// resources. Without it, all objects are gone in the end, and what they stand for is left.
    #[arg(long, value_name = "DIR")]
    pub keep: Option<PathBuf>,
    /// File that is kept up to date with the process ids, the kubeconfig and the admin endpoint, as JSON, for tools.
    #[arg(long, value_name = "FILE")]
    pub state_file: Option<PathBuf>,
    /// More flags for the bridge, as `runtime-bridge serve` takes them.
    #[arg(last = true, value_name = "SERVE FLAGS")]
    pub serve_flags: Vec<OsString>,
}

impl DevArgs {
    /// Something is served, and each function is named once.
    pub fn check(&self) -> Result<(), String> {
        if self.plugin_command.is_empty() && !self.compositions {
            return Err(
                "nothing to serve: give --plugin-command <COMMAND>, --compositions, or both".to_owned(),
            );
        }
        let mut names: Vec<&str> = self
            .function_command
            .iter()
            .map(|function| function.name.as_str())
            .collect();
        for command in &self.plugin_command {
            command.check()?;
        }
        names.sort_unstable();
        if let Some([name, ..]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("--function-command says twice what runs \"{name}\""));
        }
        match (self.compositions, names.first()) {
            (false, Some(name)) => Err(format!(
                "--function-command {name}=… is for --compositions, which is not given"
            )),
            _ => Ok(()),
        }
    }
}

/// Why it ended without being asked to.
#[derive(Debug, thiserror::Error)]
pub enum DevError {
    /// A manifest cannot be read.
    #[error(transparent)]
    Manifests(#[from] manifests::ManifestError),
    /// A manifest cannot be applied.
    #[error(transparent)]
    Apply(#[from] apply::ApplyError),
    /// The control plane does not run.
    #[error(transparent)]
    ControlPlane(#[from] StartError),
    /// What `--watch` names cannot be watched.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// The bridge, a plugin or a function cannot run at all.
    #[error(transparent)]
    Supervise(#[from] SuperviseError),
    /// The control plane runs, and there is no client for it.
    #[error("cannot connect to the control plane: {0}")]
    Connect(Box<dyn Error + Send + Sync>),
    /// The system rejected something.
    #[error("cannot {step}: {cause}")]
    Io {
        /// What was being done.
        step: &'static str,
        /// What the system said.
        cause: io::Error,
    },
}

/// Runs until Ctrl-C or SIGTERM. No process is left then, and without `--keep` no file. A second one does not wait for the bridge to finish what it does.
pub async fn run(args: DevArgs) -> Result<(), DevError> {
    let mut interrupt = signal(SignalKind::interrupt()).map_err(io("listen to signals"))?;
    let mut terminate = signal(SignalKind::terminate()).map_err(io("listen to signals"))?;
    let stop = CancellationToken::new();
    let mut work = pin!(until_stopped(&args, &stop));
    tokio::select! {
        result = &mut work => return result,
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    stop.cancel();
    tokio::select! {
        result = work => result,
        _ = interrupt.recv() => Ok(()),
    }
}

fn io(step: &'static str) -> impl FnOnce(io::Error) -> DevError {
    move |cause| DevError::Io { step, cause }
}

async fn until_stopped(args: &DevArgs, stop: &CancellationToken) -> Result<(), DevError> {
    let progress = ProgressPrinter::new();
    let documents = manifests::read(&args.apply)?;
    let files = WatchedFiles::start(&args.watch)?;
    let folder = ScratchDir::new("crossbridge-dev-").map_err(io("create a temporary folder"))?;
    progress.say("control plane", "starting");
    let options = Options {
        controller_manager: true,
        directory: args.keep.clone(),
        ..Options::default()
    };
    let plane = tokio::select! {
        plane = ControlPlane::start(options) => plane?,
        () = stop.cancelled() => return Ok(()),
    };
    let kubeconfig = plane.kubeconfig();
    let admin = admin::choose(&args.serve_flags).map_err(io("find a free port"))?;
    admin::write(&kubeconfig, admin).map_err(io("write the address of the bridge beside the kubeconfig"))?;
    progress.say("control plane", "ready; in another terminal:");
    progress.hint(&format!("export KUBECONFIG={}", shell_word(&kubeconfig)));
    progress.hint(&format!("alias kubectl={}", shell_word(&plane.kubectl())));
    progress.say(
        "bridge",
        &format!("admin endpoint http://{admin}, which `runtime-bridge trace` finds by KUBECONFIG"),
    );
    let client = connect(&kubeconfig).await.map_err(DevError::Connect)?;
    let state = StateFile::new(args.state_file.clone(), &kubeconfig, &plane.kubectl(), admin);

    let children = Children::new(args, folder.path());
    let end_children = CancellationToken::new();
    let running_children = children.all().map(|child| {
        Supervised {
            name: child.name.clone(),
            progress,
            state: &state,
            usage_exit_code: None,
            changes: files.changes(),
        }
        .run(|| child.spawn(), &end_children)
    });
    let bridge = async {
        let bridge = std::env::current_exe().map_err(io("find this program"))?;
        let program = || {
            let serve = Spawn::new(&bridge)
                .args(["serve", "--kubeconfig"])
                .arg(&kubeconfig);
            let serve = serve.args(children.serve_flags(args.compositions));
            let serve =
                SERVE_DEFAULTS.iter().fold(serve, |serve, (variable, value)| {
                    match std::env::var_os(variable) {
                        Some(_) => serve,
                        None => serve.env(variable, value),
                    }
                });
            // Unless a flag says otherwise.
            serve
                .env(admin::VARIABLE, admin.to_string())
                .args(&args.serve_flags)
        };
        let ended = Supervised {
            name: "bridge".to_owned(),
            progress,
            state: &state,
            usage_exit_code: Some(USAGE),
            changes: no_changes(),
        }
        .run(program, stop)
        .await;
        // Only now, as a bridge that ends still finishes calls.
        end_children.cancel();
        Ok(ended?)
    };
    let mut running = pin!(async {
        tokio::try_join!(bridge, async { Ok(try_join_all(running_children).await?) }).map(drop)
    });
    let applying = async {
        apply::all(&client, &documents, progress).await?;
        Ok(pending::<Infallible>().await)
    };
    let ended = tokio::select! {
        result = &mut running => result,
        never = watch::narrate(&client, progress) => match never {},
        failed = applying => {
            let failure = match failed {
                Ok(never) => match never {},
                Err(failure) => failure,
            };
            stop.cancel();
            running.await?;
            Err(failure)
        }
    };
    leftovers::report(&client, args.keep.as_deref(), progress).await;
    ended
}

async fn connect(kubeconfig: &Path) -> Result<Client, Box<dyn Error + Send + Sync>> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
