//! A function that is served here, and a client that knows it by the name `f`.

use std::collections::BTreeMap;

use bridge_core::function::{FunctionFailure, Functions, RunRequest, RunResponse};
use bridge_function::{Client, EndpointTable, Options};
use fake_function::{FakeFunction, Version};
use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;
use tokio::{
    net::{TcpListener, UnixListener},
    task::JoinHandle,
};
use tokio_stream::wrappers::{TcpListenerStream, UnixListenerStream};
use tonic::transport::Server;

pub struct Host {
    pub function: FakeFunction,
    pub client: Client,
    pub endpoint: String,
    server: JoinHandle<()>,
    _folder: TempDir,
}

impl Host {
    /// On a Unix socket.
    pub fn unix(version: Version) -> Self {
        Self::at(tempfile::tempdir().unwrap(), version)
    }

    /// On the Unix socket `f.sock` of this folder.
    pub fn at(folder: TempDir, version: Version) -> Self {
        let socket = folder.path().join("f.sock");
        let incoming = UnixListenerStream::new(UnixListener::bind(&socket).unwrap());
        let function = FakeFunction::default();
        let server = Server::builder().add_routes(function.routes(version));
        let endpoint = format!("unix://{}", socket.display());
        Self {
            function,
            client: client(&endpoint),
            endpoint,
            server: tokio::spawn(async { server.serve_with_incoming(incoming).await.unwrap() }),
            _folder: folder,
        }
    }

    /// On a port of loopback, without TLS.
    pub async fn http() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let incoming = TcpListenerStream::new(listener);
        let function = FakeFunction::default();
        let server = Server::builder().add_routes(function.routes(Version::V1));
        Self {
            function,
            client: client(&endpoint),
            endpoint,
            server: tokio::spawn(async { server.serve_with_incoming(incoming).await.unwrap() }),
            _folder: tempfile::tempdir().unwrap(),
        }
    }

    pub async fn run(&self, request: &RunRequest) -> Result<RunResponse, FunctionFailure> {
        run(&self.client, request).await
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// A client that knows one function, `f`, and asks it each time.
pub fn client(endpoint: &str) -> Client {
    Client::new(Options {
        keeps_responses: false,
        ..Options::new(table(endpoint), None)
    })
}

/// A table of one function, `f`.
pub fn table(endpoint: &str) -> EndpointTable {
    let endpoints = EndpointTable::default();
    set(&endpoints, endpoint);
    endpoints
}

/// Says where `f` listens now.
pub fn set(endpoints: &EndpointTable, endpoint: &str) {
    let endpoint = endpoint.parse().map_err(|error| format!("{error}"));
    endpoints.set(BTreeMap::from([("f".to_owned(), endpoint)]));
}

pub async fn run(client: &Client, request: &RunRequest) -> Result<RunResponse, FunctionFailure> {
    let deadline = Timestamp::now() + SignedDuration::from_secs(60);
    client.run("f", request, deadline).await
}
