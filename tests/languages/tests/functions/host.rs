//! The process of a function, and a client that knows it by the name `f`.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    path::{Path, PathBuf},
    time::Duration,
};

use bridge_control_plane::process::{Output, Process, ScratchDir, Spawn};
use bridge_core::function::{FunctionFailure, Functions, RunRequest, RunResponse};
use bridge_function::{Client, EndpointTable, Options};
use bridge_languages::Function;
use bridge_transport::TlsFiles;
use jiff::{SignedDuration, Timestamp};
use tokio::net::{TcpStream, UnixStream};

const LIMIT: Duration = Duration::from_mins(1);

/// A function on a Unix socket.
pub struct Host {
    pub function: Function,
    pub client: Client,
    pub process: Process,
    socket: PathBuf,
    _folder: ScratchDir,
}

impl Host {
    /// With more of its flags.
    pub async fn start(function: Function, flags: &[&str]) -> Self {
        let folder = ScratchDir::new("crossbridge-functions-").expect("a folder");
        let socket = folder.path().join("f.sock");
        Self {
            function,
            client: client(&format!("unix://{}", socket.display()), None),
            process: serve_unix(command(function).await, &socket, flags).await,
            socket,
            _folder: folder,
        }
    }

    /// The next process of the same function, on the socket of the one that was killed.
    pub async fn restart(&mut self) {
        self.restart_as(command(self.function).await).await;
    }

    /// Likewise, of a release whose source lies here.
    pub async fn upgrade(&mut self, source: &Path) {
        self.restart_as(command(self.function).await.current_dir(source))
            .await;
    }

    async fn restart_as(&mut self, next: Spawn) {
        // What was there before is no sign that it listens.
        std::fs::remove_file(&self.socket).expect("a killed process leaves its socket");
        self.process = serve_unix(next, &self.socket, &[]).await;
    }

    pub fn endpoint(&self) -> String {
        format!("unix://{}", self.socket.display())
    }

    pub async fn run(&self, request: &RunRequest) -> Result<RunResponse, FunctionFailure> {
        run(&self.client, request).await
    }
}

async fn serve_unix(command: Spawn, socket: &Path, flags: &[&str]) -> Process {
    let address = format!("unix:{}", socket.display());
    let given = ["--insecure", "--address", &address];
    let process = spawn(command, given.iter().chain(flags));
    listens(&process, async || UnixStream::connect(socket).await.is_ok()).await;
    process
}

/// On a port of loopback, with the certificate, key and authority of this folder.
pub async fn serve_tls(function: Function, address: &str, folder: &Path) -> Process {
    let folder = folder.to_string_lossy();
    let flag = match function {
        Function::TypeScript => "--tls-server-certs-dir",
        Function::Example | Function::Pythonic | Function::AwsComposition => "--tls-certs-dir",
    };
    let process = spawn(
        command(function).await,
        ["--address", address, flag, folder.as_ref()],
    );
    listens(&process, async || TcpStream::connect(address).await.is_ok()).await;
    process
}

async fn command(function: Function) -> Spawn {
    function.command().await.unwrap_or_else(|error| panic!("{error}"))
}

fn spawn<A: AsRef<OsStr>>(command: Spawn, flags: impl IntoIterator<Item = A>) -> Process {
    let logged = command
        .args(flags)
        .stderr(Output::lines(|line| eprintln!("{line}")));
    logged.spawn().expect("the function starts")
}

async fn listens(process: &Process, is_there: impl AsyncFn() -> bool) {
    let polled = async {
        while !is_there().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::select! {
        () = polled => {}
        status = process.wait() => panic!("the function ended instead of listening: {status}"),
        () = tokio::time::sleep(LIMIT) => panic!("the function does not listen after {LIMIT:?}"),
    }
}

/// A client that asks each time.
pub fn client(endpoint: &str, tls: Option<TlsFiles>) -> Client {
    let endpoints = EndpointTable::default();
    let endpoint = endpoint.parse().map_err(|error| format!("{error}"));
    endpoints.set(BTreeMap::from([("f".to_owned(), endpoint)]));
    Client::new(Options {
        keeps_responses: false,
        ..Options::new(endpoints, tls)
    })
}

pub async fn run(client: &Client, request: &RunRequest) -> Result<RunResponse, FunctionFailure> {
    client
        .run("f", request, Timestamp::now() + SignedDuration::from_secs(60))
        .await
}
