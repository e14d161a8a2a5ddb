//! An emulated AWS, the plugin served on a socket, and the calls of a bridge.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aws_emulator::{AwsEmulator, Credentials, Options};
use crossbridge_proto::v1alpha1 as wire;
use crossbridge_proto::v1alpha1::plugin_service_client::PluginServiceClient;
use crossbridge_proto::v1alpha1::resource_service_client::ResourceServiceClient;
use serde_json::{Value, json};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status};

pub use wire::observe_response::Result as Look;
pub use wire::outcome::Result as Ended;

/// Deadline of a call, as the kinds declare it.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(10);

/// How long anything is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// The marker of the tests' object.
pub const MARKER: &str = "cb-cluster-uid-1";

/// An AWS and the plugin before it. Both are gone when it is dropped.
pub struct World {
    pub aws: Arc<AwsEmulator>,
    channel: Channel,
    /// As whom calls are made.
    pub keys: Credentials,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    _socket: tempfile::TempDir,
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }
}

impl World {
    /// With an AWS that takes two looks for everything slow.
    pub async fn new() -> Self {
        Self::with(Options::default()).await
    }

    pub async fn with(options: Options) -> Self {
        Self::before(Arc::new(AwsEmulator::start(options).await.expect("the emulator starts"))).await
    }

    /// Another plugin before the same AWS, which knows nothing of the first.
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

    /// An object of a kind, with its wish.
    pub fn object(&self, group: &str, kind: &str, external_name: &str, wish: Value) -> Object<'_> {
        Object {
            world: self,
            resource_type: wire::ResourceType {
                group: format!("{group}.aws.crossbridge.dev"),
                version: "v1alpha1".to_owned(),
                kind: kind.to_owned(),
            },
            config: self.config(),
            external_name: external_name.to_owned(),
            marker: MARKER.to_owned(),
            former_marker: String::new(),
            wish,
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
    tokio::time::timeout(PATIENCE, connected)
        .await
        .expect("the plugin answers")
}

fn document(value: &Value) -> wire::Document {
    wire::Document {
        json: value.to_string(),
    }
}

/// A Kubernetes object as a bridge speaks of it.
#[derive(Clone)]
pub struct Object<'w> {
    world: &'w World,
    pub resource_type: wire::ResourceType,
    pub config: wire::ConfigContext,
    pub external_name: String,
    pub marker: String,
    pub former_marker: String,
    pub wish: Value,
    pub token: String,
    pub timeout: Duration,
}

impl Object<'_> {
    fn client(&self) -> ResourceServiceClient<Channel> {
        ResourceServiceClient::new(self.world.channel.clone())
    }

    fn target(&self) -> Option<wire::Target> {
        Some(wire::Target {
            resource_type: Some(self.resource_type.clone()),
            config: Some(self.config.clone()),
            owner: Some(wire::ObjectRef {
                namespace: "default".to_owned(),
                name: "thing".to_owned(),
                uid: "uid-1".to_owned(),
                generation: 1,
            }),
            external_name: self.external_name.clone(),
            ownership_marker: self.marker.clone(),
            former_marker: self.former_marker.clone(),
            provider_state: String::new(),
        })
    }

    fn desired(&self) -> Option<wire::DesiredState> {
        Some(wire::DesiredState {
            parameters: Some(document(&self.wish)),
            ..Default::default()
        })
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        request.set_timeout(self.timeout);
        request
    }

    pub async fn look(&self) -> Look {
        let request = wire::ObserveRequest {
            target: self.target(),
            desired: self.desired(),
        };
        let answer = self
            .client()
            .observe(self.request(request))
            .await
            .expect("the look is processed");
        answer.into_inner().result.expect("a look has a result")
    }

    /// What was found; panics if nothing was.
    pub async fn found(&self) -> wire::Observation {
        match self.look().await {
            Look::Observation(observation) => observation,
            other => panic!("nothing was found: {other:?}"),
        }
    }

    /// The name under which nothing was found; panics if something was.
    pub async fn absent(&self) -> String {
        match self.look().await {
            Look::Absent(absent) => absent.external_name,
            other => panic!("it is not absent: {other:?}"),
        }
    }

    /// Why it could not be looked at; panics if it could.
    pub async fn look_failure(&self) -> wire::Failure {
        match self.look().await {
            Look::Failure(failure) => failure,
            other => panic!("the look did not fail: {other:?}"),
        }
    }

    pub async fn create(&self) -> wire::Outcome {
        self.create_call(false).await
    }

    /// After a creation whose end is unknown.
    pub async fn create_again(&self) -> wire::Outcome {
        self.create_call(true).await
    }

    async fn create_call(&self, outcome_unknown: bool) -> wire::Outcome {
        let request = wire::CreateRequest {
            target: self.target(),
            desired: self.desired(),
            client_request_token: self.token.clone(),
            outcome_unknown,
        };
        let answer = self.client().create(self.request(request)).await;
        outcome(answer, |answer| answer.outcome)
    }

    pub async fn update(&self) -> wire::Outcome {
        self.update_if("").await
    }

    pub async fn update_if(&self, etag: &str) -> wire::Outcome {
        let request = wire::UpdateRequest {
            target: self.target(),
            desired: self.desired(),
            changed_paths: Vec::new(),
            etag: etag.to_owned(),
        };
        let answer = self.client().update(self.request(request)).await;
        outcome(answer, |answer| answer.outcome)
    }

    pub async fn delete(&self) -> wire::Outcome {
        self.delete_if("").await
    }

    pub async fn delete_if(&self, etag: &str) -> wire::Outcome {
        let request = wire::DeleteRequest {
            target: self.target(),
            desired: self.desired(),
            etag: etag.to_owned(),
        };
        let answer = self.client().delete(self.request(request)).await;
        outcome(answer, |answer| answer.outcome)
    }

    pub async fn poll(&self, handle: &str) -> wire::Outcome {
        self.try_poll(handle).await.expect("the poll is processed")
    }

    pub async fn try_poll(&self, handle: &str) -> Result<wire::Outcome, Status> {
        let request = wire::PollOperationRequest {
            target: self.target(),
            handle: handle.to_owned(),
            desired: self.desired(),
        };
        let answer = self.client().poll_operation(self.request(request)).await?;
        Ok(answer.into_inner().outcome.expect("an answer has an outcome"))
    }

    /// Takes the name of an outcome, and polls its operation, if there is one, until it ends. Returns the end, and how many polls it
    /// took.
    pub async fn follow(&mut self, mut outcome: wire::Outcome) -> (wire::Outcome, usize) {
        let mut polls = 0;
        let deadline = tokio::time::Instant::now() + PATIENCE;
        loop {
            if !outcome.external_name.is_empty() {
                self.external_name.clone_from(&outcome.external_name);
            }
            let Some(Ended::Operation(operation)) = &outcome.result else {
                return (outcome, polls);
            };
            assert!(
                tokio::time::Instant::now() < deadline,
                "the operation does not end: {operation:?}"
            );
            let handle = operation.handle.clone();
            tokio::time::sleep(Duration::from_millis(5)).await;
            outcome = self.poll(&handle).await;
            polls += 1;
        }
    }

    /// JSON Pointers at which what was found is not what is wished for, as the bridge sees it.
    pub async fn drift(&self) -> Vec<String> {
        let request = wire::GetResourceKindRequest {
            resource_type: Some(self.resource_type.clone()),
        };
        let kind = self
            .world
            .plugin()
            .get_resource_kind(request)
            .await
            .expect("the kind is served")
            .into_inner();
        let kind = kind.resource_kind.expect("a kind");
        let schema: Value = serde_json::from_str(&kind.parameters_schema_json).expect("a schema");
        let json_texts: Vec<&str> = kind
            .field_rules
            .iter()
            .filter(|rule| rule.comparison() == wire::Comparison::JsonText)
            .map(|rule| rule.path.as_str())
            .collect();
        let fact = parameters(&self.found().await);
        let mut found = Vec::new();
        unmet("", &self.wish, Some(&fact), &schema, &json_texts, &mut found);
        found
    }
}

fn outcome<T>(
    answer: Result<Response<T>, Status>,
    take: impl FnOnce(T) -> Option<wire::Outcome>,
) -> wire::Outcome {
    take(answer.expect("the call is processed").into_inner()).expect("an answer has an outcome")
}

/// The parameters that were found.
pub fn parameters(observation: &wire::Observation) -> Value {
    let document = observation
        .parameters
        .as_ref()
        .expect("an observation has parameters");
    serde_json::from_str(&document.json).expect("a document is JSON")
}

/// The failure of an outcome; panics if there is none.
pub fn failure(outcome: &wire::Outcome) -> &wire::Failure {
    match &outcome.result {
        Some(Ended::Failure(failure)) => failure,
        other => panic!("it did not fail: {other:?}"),
    }
}

/// The operation of an outcome; panics if there is none.
pub fn operation(outcome: &wire::Outcome) -> &wire::Operation {
    match &outcome.result {
        Some(Ended::Operation(operation)) => operation,
        other => panic!("it is no operation: {other:?}"),
    }
}

/// The end of an outcome; panics if it has not ended well.
pub fn completed(outcome: &wire::Outcome) -> &wire::Completed {
    match &outcome.result {
        Some(Ended::Completed(completed)) => completed,
        other => panic!("it is not completed: {other:?}"),
    }
}

/// Every wished leaf that is not there or not equal, minding list types.
fn unmet(
    path: &str,
    wish: &Value,
    fact: Option<&Value>,
    schema: &Value,
    texts: &[&str],
    found: &mut Vec<String>,
) {
    let is = |key: &str, value: &str| schema[key] == value;
    let mut differs = || found.push(path.to_owned());
    match (wish, fact) {
        (Value::Object(wish), Some(Value::Object(fact))) if !is("x-kubernetes-map-type", "atomic") => {
            for (key, wish) in wish {
                let below = format!("{path}/{key}");
                unmet(
                    &below,
                    wish,
                    fact.get(key),
                    &schema["properties"][key],
                    texts,
                    found,
                );
            }
        }
        (Value::Array(wish), Some(Value::Array(fact))) if wish.len() != fact.len() => differs(),
        (Value::Array(wish), Some(Value::Array(fact))) if is("x-kubernetes-list-type", "set") => {
            if !wish.iter().all(|one| fact.contains(one)) {
                differs();
            }
        }
        (Value::Array(wish), Some(Value::Array(fact))) => {
            let keys = schema["x-kubernetes-list-map-keys"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            for (index, one) in wish.iter().enumerate() {
                let same_key = |other: &&Value| {
                    keys.iter()
                        .all(|key| one[key.as_str().unwrap()] == other[key.as_str().unwrap()])
                };
                let counterpart = if keys.is_empty() {
                    fact.get(index)
                } else {
                    fact.iter().find(same_key)
                };
                unmet(
                    &format!("{path}/{index}"),
                    one,
                    counterpart,
                    &schema["items"],
                    texts,
                    found,
                );
            }
        }
        (Value::String(wish), Some(Value::String(fact))) if texts.contains(&path) && !wish.is_empty() => {
            let parse = |text: &str| serde_json::from_str::<Value>(text).ok();
            if parse(wish) != parse(fact) {
                differs();
            }
        }
        (wish, fact) if Some(wish) == fact => {}
        _ => differs(),
    }
}
