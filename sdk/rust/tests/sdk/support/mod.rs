//! A plugin under test, and the generated client that asks it.
#![allow(missing_docs, dead_code)] // Each test file takes what it needs.

use std::{collections::HashMap, future::Future, path::Path, time::Duration};

use crossbridge_proto::v1alpha1::{self as wire, resource_service_client::ResourceServiceClient};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{sync::oneshot, task::JoinHandle};
use tonic::{
    Request,
    transport::{Channel, Endpoint},
};

use super::thing::{self, GROUP};

/// Longer than anything here takes; a test that gets there fails and names what it waited for.
const PATIENCE: Duration = Duration::from_secs(30);

pub async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work)
        .await
        .unwrap_or_else(|_elapsed| panic!("waited {PATIENCE:?} for {what}"))
}

/// Waits until it is so.
pub async fn until(what: &str, condition: impl Fn() -> bool) {
    within(what, async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

/// Connects as soon as a process serves there.
pub async fn connect(endpoint: Endpoint) -> Channel {
    within("a connection", async {
        loop {
            match endpoint.connect().await {
                Ok(channel) => return channel,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    })
    .await
}

pub fn unix(socket: &Path) -> Endpoint {
    Endpoint::from_shared(format!("unix://{}", socket.display())).expect("a socket's URI")
}

/// A plugin within the test's process.
pub struct Plugin {
    pub folder: TempDir,
    pub channel: Channel,
    pub resources: ResourceServiceClient<Channel>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Result<(), crossbridge_sdk::ServeError>>,
}

impl Plugin {
    pub async fn start() -> Self {
        Self::start_with(thing::plugin()).await
    }

    pub async fn start_with(plugin: crossbridge_sdk::Plugin) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("things")).expect("a folder in it");
        let socket = folder.path().join("plugin.sock");
        let endpoint = format!("unix://{}", socket.display());
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(async move {
            let stop = async {
                // Dropped or sent: both mean stop.
                let _ = stopped.await;
            };
            plugin.serve_at(&endpoint, stop).await
        });
        let channel = connect(unix(&socket)).await;
        Self {
            folder,
            resources: ResourceServiceClient::new(channel.clone()),
            channel,
            stop,
            served,
        }
    }

    /// The folder of the things.
    pub fn things(&self) -> std::path::PathBuf {
        self.folder.path().join("things")
    }

    pub fn target(&self, kind: &str, name: &str) -> wire::Target {
        target(&self.things(), kind, name)
    }

    pub async fn stop(self) {
        let Self {
            channel,
            resources,
            stop,
            served,
            ..
        } = self;
        drop((channel, resources));
        let _ = stop.send(());
        within("the plugin to stop", served)
            .await
            .expect("it does not panic")
            .expect("it stops well");
    }
}

pub fn resource_type(kind: &str) -> wire::ResourceType {
    wire::ResourceType {
        group: GROUP.to_owned(),
        version: "v1".to_owned(),
        kind: kind.to_owned(),
    }
}

pub fn config(things: &Path) -> wire::ConfigContext {
    wire::ConfigContext {
        config_id: "c-1".to_owned(),
        revision: "1".to_owned(),
        settings: Some(document(&json!({"folder": things}))),
        credentials: HashMap::from([("key".to_owned(), b"sesame".to_vec())]),
        credentials_expire_time: None,
    }
}

pub fn target(things: &Path, kind: &str, name: &str) -> wire::Target {
    wire::Target {
        resource_type: Some(resource_type(kind)),
        config: Some(config(things)),
        owner: Some(wire::ObjectRef {
            namespace: "shop".to_owned(),
            name: "my-thing".to_owned(),
            uid: "u-1".to_owned(),
            generation: 1,
        }),
        external_name: name.to_owned(),
        ownership_marker: "cb-1".to_owned(),
        ..Default::default()
    }
}

pub fn document(value: &Value) -> wire::Document {
    wire::Document {
        json: value.to_string(),
    }
}

pub fn desired(value: &Value) -> wire::DesiredState {
    wire::DesiredState {
        parameters: Some(document(value)),
        sensitive_values: HashMap::new(),
    }
}

pub fn create(target: wire::Target, parameters: &Value) -> wire::CreateRequest {
    wire::CreateRequest {
        target: Some(target),
        desired: Some(desired(parameters)),
        client_request_token: "123e4567-e89b-12d3-a456-426614174000".to_owned(),
        outcome_unknown: false,
    }
}

pub fn observe(target: wire::Target, parameters: &Value) -> wire::ObserveRequest {
    wire::ObserveRequest {
        target: Some(target),
        desired: Some(desired(parameters)),
    }
}

/// Sends the message with a deadline that no test reaches.
pub fn soon<T>(message: T) -> Request<T> {
    by(message, PATIENCE)
}

/// Sends the message with this gRPC deadline.
pub fn by<T>(message: T, deadline: Duration) -> Request<T> {
    let mut request = Request::new(message);
    request.set_timeout(deadline);
    request
}

/// The failure within an outcome, and the name that came along.
pub fn failure(outcome: Option<wire::Outcome>) -> (wire::Failure, String) {
    let outcome = outcome.expect("an outcome");
    match outcome.result {
        Some(wire::outcome::Result::Failure(failure)) => (failure, outcome.external_name),
        other => panic!("no failure: {other:?}"),
    }
}
