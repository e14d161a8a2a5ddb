mod certificates;
mod component;
mod files;
mod programs;
mod readiness;

use std::fs::DirBuilder;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use certificates::Authority;
use component::Component;

use crate::assets::{Assets, AssetsError};
use crate::process::{Process, ScratchDir, SpawnError};

/// How often another port is tried when another actor took the one that was free.
const PORT_ATTEMPTS: usize = 5;
const SERVER_NAMES: [&str; 4] = ["localhost", "127.0.0.1", "kubernetes.default.svc", "10.0.0.1"];

/// What to start beside etcd and kube-apiserver, and with which flags.
#[derive(Clone, Debug)]
pub struct Options {
    /// Also a kube-controller-manager, with the controllers for namespaces, garbage, service accounts and aggregated roles.
    pub controller_manager: bool,
    /// More flags of the kube-apiserver.
    pub api_server_flags: Vec<String>,
    /// How long each program may take until it is ready.
    pub ready_within: Duration,
    /// The folder that it runs in and that stays: the next control plane there has what this one stored. `None`: a temporary one.
    pub directory: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            controller_manager: false,
            api_server_flags: Vec::new(),
            ready_within: Duration::from_mins(2),
            directory: None,
        }
    }
}

/// Why the control plane does not run.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There are no binaries.
    #[error(transparent)]
    Assets(#[from] AssetsError),
    /// A binary could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// A program ended by itself.
    #[error("{name} ended ({status}). The last lines of its log:\n{last_lines}")]
    Ended {
        /// The program's name.
        name: &'static str,
        /// Its exit status, or the signal that ended it.
        status: String,
        /// The end of its log.
        last_lines: String,
    },
    /// A program runs and is not ready.
    #[error("{name} was not ready after {limit:?}: {last_answer}. The last lines of its log:\n{last_lines}")]
    NotReady {
        /// The program's name.
        name: &'static str,
        /// How long was waited.
        limit: Duration,
        /// What it answered last.
        last_answer: String,
        /// The end of its log.
        last_lines: String,
    },
    /// A certificate could not be created.
    #[error("cannot create the certificates of the control plane: {0}")]
    Certificates(#[from] rcgen::Error),
    /// A file could not be written, or no port was free.
    #[error("cannot prepare the control plane: {0}")]
    Io(#[from] io::Error),
}

/// Where it runs.
enum Directory {
    Temporary(ScratchDir),
    Kept(PathBuf),
}

impl Directory {
    fn new(kept: Option<&Path>) -> io::Result<Self> {
        let Some(kept) = kept else {
            return ScratchDir::new("crossbridge-control-plane-").map(Self::Temporary);
        };
        DirBuilder::new().recursive(true).mode(0o700).create(kept)?;
        // Its programs run elsewhere and are given its path.
        kept.canonicalize().map(Self::Kept)
    }

    fn path(&self) -> &Path {
        match self {
            Self::Temporary(directory) => directory.path(),
            Self::Kept(directory) => directory,
        }
    }
}

/// A running kube-apiserver with its etcd and, if wanted, a kube-controller-manager: on a free port of 127.0.0.1, with an
/// authority of its own and RBAC on. Everything ends, and a temporary folder is removed, when this value is dropped or this process ends in any way.
pub struct ControlPlane {
    // In the order in which they are to end.
    controller_manager: Option<Component>,
    api_server: Option<Component>,
    etcd: Component,
    directory: Directory,
    authority: Authority,
    assets: Assets,
    options: Options,
    port: u16,
    users: usize,
}

impl ControlPlane {
    /// Finds or builds the binaries ([`Assets::find_or_build`]) and starts them. Returns when all are ready, which takes
    /// some three seconds.
    pub async fn start(options: Options) -> Result<Self, StartError> {
        let assets = Assets::find_or_build().await?;
        if options.controller_manager {
            // Before anything is started, as the way out is another folder.
            assets.kube_controller_manager()?;
        }
        let directory = Directory::new(options.directory.as_deref())?;
        let etcd = Component::start("etcd", programs::etcd(&assets), directory.path())?;
        let authority = Authority::new()?;
        let mut plane = Self {
            controller_manager: None,
            api_server: None,
            etcd,
            directory,
            authority,
            assets,
            options,
            port: 0,
            users: 0,
        };
        plane.write_keys()?;
        plane.start_on_a_free_port().await?;
        if plane.options.controller_manager {
            plane.start_controller_manager().await?;
        }
        Ok(plane)
    }

    /// The kubeconfig of an administrator (group `system:masters`), readable by its owner only.
    pub fn kubeconfig(&self) -> PathBuf {
        self.directory.path().join(programs::ADMIN)
    }

    /// Creates a kubeconfig for a user who may do what RBAC grants to this name and group, at first nothing. The name may
    /// be that of a service account, `system:serviceaccount:NAMESPACE:NAME`.
    pub fn user_kubeconfig(&mut self, name: &str, group: Option<&str>) -> Result<PathBuf, StartError> {
        self.users += 1;
        let path = self
            .directory
            .path()
            .join(format!("user-{}.kubeconfig", self.users));
        self.write_kubeconfig(&path, name, group)?;
        Ok(path)
    }

    /// Where the API server is, `https://127.0.0.1:PORT`: the same for as long as this value lives.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The `kubectl` of the same release.
    pub fn kubectl(&self) -> PathBuf {
        self.assets.kubectl()
    }

    /// The folder with the logs (`kube-apiserver.log`, `etcd.log`, `kube-controller-manager.log`).
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Where etcd listens, for what the API server does not show.
    pub fn etcd_socket(&self) -> PathBuf {
        self.directory.path().join(programs::ETCD_SOCKET)
    }

    /// The API server's process, for what only the system knows about it; `None` while it is stopped.
    pub fn api_server(&self) -> Option<&Process> {
        self.api_server.as_ref().map(Component::process)
    }

    /// Kills the API server. What it stored stays; clients get rejected connections until [`Self::start_api_server`].
    pub fn stop_api_server(&mut self) {
        self.api_server = None;
    }

    /// Starts the API server again, with the same address, certificates and content, and waits until it is ready.
    pub async fn start_api_server(&mut self) -> Result<(), StartError> {
        if self.api_server.is_none() {
            self.run_api_server().await?;
        }
        Ok(())
    }

    /// Stops the API server in the middle of whatever it does: connections stay open, and nothing is answered from here on.
    pub fn pause_api_server(&self) {
        if let Some(api_server) = self.api_server() {
            api_server.pause();
        }
    }

    /// Lets a paused API server go on.
    pub fn resume_api_server(&self) {
        if let Some(api_server) = self.api_server() {
            api_server.resume();
        }
    }

    fn write_keys(&self) -> Result<(), StartError> {
        let write = |name, content: &str| files::write_private(&self.directory.path().join(name), content);
        let server = self.authority.server(&SERVER_NAMES)?;
        write(programs::AUTHORITY, &self.authority.certificate())?;
        write(programs::SERVER_CERTIFICATE, &server.certificate)?;
        write(programs::SERVER_KEY, &server.key)?;
        let tokens = rcgen::KeyPair::generate()?;
        write(programs::TOKEN_KEY, &tokens.serialize_pem())?;
        write(programs::TOKEN_PUBLIC_KEY, &tokens.public_key_pem())?;
        Ok(())
    }

    fn write_kubeconfig(&self, path: &Path, user: &str, group: Option<&str>) -> Result<(), StartError> {
        let identity = self.authority.user(user, group)?;
        let content = files::kubeconfig(&self.url(), &self.authority.certificate(), user, &identity);
        Ok(files::write_private(path, &content)?)
    }

    /// A port that was free a moment ago may be another actor's when the API server binds it: then another is tried.
    async fn start_on_a_free_port(&mut self) -> Result<(), StartError> {
        let mut attempt = 1;
        loop {
            self.port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
            self.write_kubeconfig(&self.kubeconfig(), "admin", Some("system:masters"))?;
            match self.run_api_server().await {
                Err(error) if attempt < PORT_ATTEMPTS && port_was_taken(&error) => attempt += 1,
                result => return result,
            }
        }
    }

    async fn run_api_server(&mut self) -> Result<(), StartError> {
        let program = programs::kube_apiserver(&self.assets, self.port).args(&self.options.api_server_flags);
        let api_server = Component::start("kube-apiserver", program, self.directory.path())?;
        self.until_served("/readyz", &api_server).await?;
        self.api_server = Some(api_server);
        Ok(())
    }

    /// It is ready when its work is seen: every namespace has a service account.
    async fn start_controller_manager(&mut self) -> Result<(), StartError> {
        let program = programs::kube_controller_manager(&self.assets)?;
        let manager = Component::start("kube-controller-manager", program, self.directory.path())?;
        let account = "/api/v1/namespaces/default/serviceaccounts/default";
        self.until_served(account, &manager).await?;
        self.controller_manager = Some(manager);
        Ok(())
    }

    async fn until_served(&self, path: &str, awaited: &Component) -> Result<(), StartError> {
        readiness::until_served(
            &self.assets,
            self.directory.path(),
            path,
            awaited,
            &self.etcd,
            self.options.ready_within,
        )
        .await
    }
}

fn port_was_taken(error: &StartError) -> bool {
    matches!(error, StartError::Ended { last_lines, .. } if last_lines.contains("address already in use"))
}
