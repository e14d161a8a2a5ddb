//! The fixture of all tests: an emulated AWS, the plugin served on a socket, and the calls of a bridge.

mod answer;
mod drift;
mod object;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aws_emulator::{AwsEmulator, Credentials, Options};
use crossbridge_proto::v1alpha1 as wire;
use crossbridge_proto::v1alpha1::plugin_service_client::PluginServiceClient;
use serde_json::{Value, json};
use tonic::transport::{Channel, Endpoint};

pub use answer::{ObserveResult, completed, failure, operation, parameters};
pub use object::Object;

/// Deadline of a call, as the kinds declare it.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Longest wait for anything; a test that gets there fails.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The marker of the tests' object.
pub const MARKER: &str = "cb-cluster-uid-1";

/// An emulated AWS and a plugin that calls it. Both end when it is dropped.
pub struct Fixture {
    pub aws: Arc<AwsEmulator>,
    channel: Channel,
    /// The credentials of calls.
    pub keys: Credentials,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    _socket: tempfile::TempDir,
}

impl Drop for Fixture {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }
}

impl Fixture {
    /// With an AWS that takes two reads for everything slow.
    pub async fn new() -> Self {
        Self::with(Options::default()).await
    }

    pub async fn with(options: Options) -> Self {
        Self::before(Arc::new(
            AwsEmulator::start(options).await.expect("the emulator starts"),
        ))
        .await
    }

    /// Another plugin that calls the same AWS, without memory of the first.
    pub async fn replica(&self) -> Self {
        Self::before(Arc::clone(&self.aws)).await
    }

    async fn before(aws: Arc<AwsEmulator>) -> Self {
        let socket = tempfile::tempdir().expect("a folder for the socket");
        let path = socket.path().join("plugin.sock");
        let endpoint = format!("unix://{}", path.display());
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let serving = endpoint.clone();
        tokio::spawn(async move {
            let until = async { drop(stopped.await) };
            provider_aws_example::plugin()
                .serve_at(&serving, until)
                .await
                .expect("the plugin serves");
        });
        let channel = connect(&endpoint, &path).await;
        let keys = aws.credentials();
        Self {
            aws,
            channel,
            keys,
            stop: Some(stop),
            _socket: socket,
        }
    }

    pub fn plugin(&self) -> PluginServiceClient<Channel> {
        PluginServiceClient::new(self.channel.clone())
    }

    /// The config of the tests, in eu-west-1.
    pub fn config(&self) -> wire::ConfigContext {
        self.config_with(&json!({}), &self.keys)
    }

    /// The same, with more settings and other keys.
    pub fn config_with(&self, more: &Value, keys: &Credentials) -> wire::ConfigContext {
        let mut settings =
            json!({ "region": "eu-west-1", "endpoint": self.aws.endpoint(), "pollInterval": "10ms" });
        for (name, value) in more.as_object().expect("settings are an object") {
            settings[name] = value.clone();
        }
        let credentials = [
            ("accessKeyId", &keys.access_key_id),
            ("secretAccessKey", &keys.secret_access_key),
        ];
        wire::ConfigContext {
            config_id: "tests".to_owned(),
            revision: format!("{} {settings}", keys.access_key_id),
            settings: Some(document(&settings)),
            credentials: credentials
                .map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()))
                .into(),
            credentials_expire_time: None,
        }
    }

    /// An object of a kind, with its desired state.
    pub fn object(&self, group: &str, kind: &str, external_name: &str, desired: Value) -> Object<'_> {
        Object {
            fixture: self,
            resource_type: wire::ResourceType {
                group: format!("{group}.aws.crossbridge.dev"),
                version: "v1alpha1".to_owned(),
                kind: kind.to_owned(),
            },
            config: self.config(),
            external_name: external_name.to_owned(),
            marker: MARKER.to_owned(),
            former_marker: String::new(),
            provider_state: String::new(),
            desired,
            token: "0b8f6a39-5a5e-4f0f-9b0e-6e0c7f1a2b3c".to_owned(),
            timeout: CALL_TIMEOUT,
        }
    }
}

async fn connect(endpoint: &str, socket: &Path) -> Channel {
    let endpoint = Endpoint::try_from(endpoint.to_owned()).expect("an endpoint");
    let connected = async {
        loop {
            if socket.exists()
                && let Ok(channel) = endpoint.connect().await
            {
                return channel;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(TIMEOUT, connected)
        .await
        .expect("the plugin answers")
}

fn document(value: &Value) -> wire::Document {
    wire::Document {
        json: value.to_string(),
    }
}
