//! A bridge that serves, asked through its admin endpoint.

use std::{
    path::Path,
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use bridge_control_plane::process::{Output, Process, Spawn};
use http_body_util::{BodyExt, Empty};
use hyper::{Request, body::Bytes, client::conn::http1, http::request};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::{
    net::TcpStream,
    time::{Instant, sleep},
};

use crate::{cluster::Cluster, program::BRIDGE};

const LIMIT: Duration = Duration::from_mins(1);

/// A running bridge with its admin endpoint, killed when dropped.
pub struct Bridge {
    pub process: Process,
    pub address: String,
    /// Its log so far.
    pub log: Arc<Mutex<Vec<String>>>,
}

impl Bridge {
    /// Starts the bridge with the rights of a cluster administrator.
    pub async fn start(cluster: &Cluster, endpoint: &str, flags: &[&str]) -> Self {
        Self::start_as(&cluster.plane.kubeconfig(), endpoint, flags).await
    }

    pub async fn start_as(kubeconfig: &Path, endpoint: &str, flags: &[&str]) -> Self {
        let flags: Vec<&str> = ["--plugin", endpoint].iter().chain(flags).copied().collect();
        Self::spawn(kubeconfig, &flags).await
    }

    /// Starts the bridge, with the rights of a cluster administrator, for what these flags alone say.
    pub async fn start_without_plugins(cluster: &Cluster, flags: &[&str]) -> Self {
        Self::spawn(&cluster.plane.kubeconfig(), flags).await
    }

    pub async fn spawn(kubeconfig: &Path, flags: &[&str]) -> Self {
        let (sender, addresses) = mpsc::channel();
        let log = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&log);
        let process = Spawn::new(BRIDGE)
            .args(["serve", "--log-format", "json", "--admin-address", "127.0.0.1:0"])
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(flags)
            .stderr(Output::lines(move |line| {
                eprintln!("{line}");
                lines.lock().unwrap().push(line.to_owned());
                let line: Value = serde_json::from_str(line).unwrap_or_default();
                if line["message"] == "admin endpoint" {
                    let _ = sender.send(line["address"].as_str().unwrap_or_default().to_owned());
                }
            }))
            .spawn()
            .unwrap();
        let address = tokio::task::spawn_blocking(move || addresses.recv_timeout(LIMIT))
            .await
            .unwrap();
        Self {
            process,
            address: address.expect("the bridge logs its admin address"),
            log,
        }
    }

    /// Requests the path, and returns status code and body.
    pub async fn get(&self, path: &str) -> (u16, String) {
        self.request(Request::get(path)).await
    }

    /// Likewise, with a bearer token.
    pub async fn get_as(&self, path: &str, token: &str) -> (u16, String) {
        self.request(Request::get(path).header("authorization", format!("Bearer {token}")))
            .await
    }

    async fn request(&self, request: request::Builder) -> (u16, String) {
        let stream = TcpStream::connect(&self.address).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        let connection = tokio::spawn(connection);
        let request = request
            .header("host", &self.address)
            .body(Empty::<Bytes>::new())
            .unwrap();
        let answer = sender.send_request(request).await.unwrap();
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.unwrap().to_bytes();
        connection.abort();
        (status, String::from_utf8_lossy(&body).into_owned())
    }

    pub async fn state(&self) -> Value {
        serde_json::from_str(&self.get("/debug/state").await.1).unwrap()
    }

    /// Asks again until the answer is as wanted.
    pub async fn until(&self, path: &str, wanted: impl Fn(u16, &str) -> bool) -> String {
        let end = Instant::now() + LIMIT;
        loop {
            let (status, text) = self.get(path).await;
            if wanted(status, &text) {
                return text;
            }
            assert!(Instant::now() < end, "{path} within {LIMIT:?}: {status} {text}");
            sleep(Duration::from_millis(50)).await;
        }
    }

    pub async fn until_ready(&self) {
        self.until("/readyz", |status, _| status == 200).await;
    }

    /// Asks it to stop; its exit code.
    pub async fn stop(self) -> Option<i32> {
        self.process.stop(LIMIT).await.code()
    }
}
