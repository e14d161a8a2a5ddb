//! Cloud and plugin as processes: when the plugin dies, the cloud's objects stay to be counted.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, SystemTime},
};

use crossbridge_proto::v1alpha1::{
    ConfigContext, CreateRequest, DesiredState, Document, ObjectRef, ResourceType, Target,
    resource_service_client::ResourceServiceClient,
};
use fake_cloud::{
    cloud::Profile,
    fault::{Fault, FaultOutcome, Rpc},
    kinds::{GROUP, VERSION},
    remote::Remote,
};
use tonic::{Code, Request, Status, transport::Endpoint};

const PATIENCE: Duration = Duration::from_secs(30);

/// A process that dies with its parent: its standard input ends.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Fixture {
    cloud: Remote,
    socket: String,
    plugin: Process,
    _cloud: Process,
    _folder: tempfile::TempDir,
}

impl Fixture {
    fn start() -> Self {
        let mut cloud = Command::new(env!("CARGO_BIN_EXE_fake-cloud"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        BufReader::new(cloud.stdout.take().unwrap())
            .read_line(&mut url)
            .unwrap();
        let folder = tempfile::tempdir().unwrap();
        let socket = format!("unix://{}", folder.path().join("plugin.sock").display());
        Self {
            cloud: Remote::new(url.trim()),
            plugin: plugin(url.trim(), &socket),
            socket,
            _cloud: Process(cloud),
            _folder: folder,
        }
    }

    async fn create(&self, name: &str) -> Result<String, Status> {
        let endpoint = Endpoint::from_shared(self.socket.clone()).unwrap();
        let channel = tokio::time::timeout(PATIENCE, async {
            loop {
                match endpoint.connect().await {
                    Ok(channel) => return channel,
                    Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                }
            }
        })
        .await
        .unwrap();
        let mut request = Request::new(request(name));
        request.set_timeout(Duration::from_secs(10));
        let deadline = SystemTime::now() + Duration::from_secs(10);
        let deadline = deadline
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap()
            .as_millis();
        request
            .metadata_mut()
            .insert("crossbridge-deadline-ms", deadline.to_string().parse().unwrap());
        let answer = ResourceServiceClient::new(channel).create(request).await?;
        Ok(answer.into_inner().outcome.unwrap().external_name)
    }
}

fn plugin(cloud: &str, socket: &str) -> Process {
    let plugin = Command::new(env!("CARGO_BIN_EXE_fake-cloud-plugin"))
        .env("FAKE_CLOUD", cloud)
        .env("FAKE_CLOUD_PLUGIN_STDIN", "hold")
        .env("PROVIDER_PLUGIN_ENDPOINT", socket)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    Process(plugin)
}

fn request(name: &str) -> CreateRequest {
    CreateRequest {
        target: Some(Target {
            resource_type: Some(ResourceType {
                group: GROUP.to_owned(),
                version: VERSION.to_owned(),
                kind: "Named".to_owned(),
            }),
            config: Some(ConfigContext {
                config_id: "c".to_owned(),
                revision: "1".to_owned(),
                ..ConfigContext::default()
            }),
            owner: Some(ObjectRef {
                namespace: "team".to_owned(),
                name: name.to_owned(),
                uid: format!("uid-{name}"),
                generation: 1,
            }),
            external_name: name.to_owned(),
            ownership_marker: "marker-1".to_owned(),
            ..Target::default()
        }),
        desired: Some(DesiredState {
            parameters: Some(Document {
                json: "{}".to_owned(),
            }),
            ..DesiredState::default()
        }),
        client_request_token: "6f1f1d5e-2d9c-4a51-8a53-4d1ad3a8f0d1".to_owned(),
        outcome_unknown: false,
    }
}

#[tokio::test]
async fn a_plugin_that_dies_leaves_the_cloud_as_it_is() {
    let mut stage = Fixture::start();
    assert_eq!(stage.create("one").await.unwrap(), "one");

    stage
        .cloud
        .inject(&Fault::once(Rpc::Create, FaultOutcome::CrashAfter))
        .await
        .unwrap();
    stage.create("two").await.unwrap_err();
    assert!(!stage.plugin.0.wait().unwrap().success());
    let objects = stage.cloud.objects().await.unwrap();
    let names: Vec<&str> = objects.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["one", "two"]);
    assert_eq!(stage.cloud.created_for("uid-two").await.unwrap().len(), 1);
    assert_eq!(stage.cloud.entries().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_cloud_can_be_spoilt_from_outside() {
    let stage = Fixture::start();
    let down = Profile {
        down: true,
        ..Profile::default()
    };
    stage.cloud.set_profile(&down).await.unwrap();
    assert_eq!(stage.create("one").await.unwrap(), "");
    stage.cloud.set_profile(&Profile::default()).await.unwrap();
    stage.cloud.foreign("Named", "one", "").await.unwrap();
    assert_eq!(stage.create("one").await.unwrap(), "", "it is another's");
    stage.cloud.remove_by_hand("Named", "one").await.unwrap();
    assert_eq!(stage.cloud.removed().await.unwrap().len(), 1);
    stage
        .cloud
        .inject(&Fault::once(Rpc::Create, FaultOutcome::Status))
        .await
        .unwrap();
    assert_eq!(stage.create("one").await.unwrap_err().code(), Code::Internal);
    stage
        .cloud
        .inject(&Fault::once(Rpc::Create, FaultOutcome::Hang))
        .await
        .unwrap();
    stage.cloud.clear_faults().await.unwrap();
    assert_eq!(stage.create("one").await.unwrap(), "one");
}
