//! A vector plugin, served at a socket, and the calls of a vector to it.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use crossbridge_proto::FILE_DESCRIPTOR_SET;
use crossbridge_sdk::ServeError;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{sync::oneshot, task::JoinHandle};
use tonic::{
    Request, Status,
    client::Grpc,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    transport::Channel,
};

use super::{
    matching::{self, Saved},
    plugin,
    script::Shared,
};
use crate::support::{connect, unix, within};

/// gRPC's deadline where a vector gives none.
const TIMEOUT_MS: u64 = 20_000;

type Answer = Result<DynamicMessage, Status>;

/// The plugin of the moment.
struct Served {
    channel: Channel,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), ServeError>>,
}

pub struct Session<'a> {
    base: &'a Value,
    folder: TempDir,
    shared: Arc<Shared>,
    plugin: Served,
    begun: BTreeMap<String, JoinHandle<Answer>>,
    saved: Saved,
}

async fn serve(socket: &Path, shared: &Arc<Shared>) -> Served {
    let endpoint = format!("unix://{}", socket.display());
    let plugin = plugin::plugin(shared);
    let (stop, stopped) = oneshot::channel();
    let served = tokio::spawn(async move {
        let stop = async {
            // Dropped or sent: both mean stop.
            let _ = stopped.await;
        };
        plugin.serve_at(&endpoint, stop).await
    });
    Served {
        channel: connect(unix(socket)).await,
        stop: Some(stop),
        task: served,
    }
}

impl<'a> Session<'a> {
    pub async fn start(base: &'a Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let shared = Arc::new(Shared::default());
        Self {
            base,
            plugin: serve(&folder.path().join("plugin.sock"), &shared).await,
            folder,
            shared,
            begun: BTreeMap::new(),
            saved: Saved::new(),
        }
    }

    /// One step of a vector.
    pub async fn step(&mut self, step: &Value) -> Result<(), String> {
        if step.get("call").is_some() {
            let call = self.call(step);
            if let Some(label) = step["start"].as_str() {
                self.begun.insert(label.to_owned(), call);
                return Ok(());
            }
            return self.ended(call, step).await;
        }
        if let Some(label) = step["await"].as_str() {
            let call = self.begun.remove(label).expect("a label that was started");
            return self.ended(call, step).await;
        }
        if let Some(label) = step["cancel"].as_str() {
            self.begun
                .remove(label)
                .expect("a label that was started")
                .abort();
        } else if step.get("until").is_some() {
            self.events_are(&step["until"]).await?;
        } else if step.get("release").is_some() {
            self.shared.release();
        } else if step.get("stop").is_some() {
            drop(self.plugin.stop.take());
        } else if step.get("ended").is_some() {
            within("the plugin to end", &mut self.plugin.task)
                .await
                .expect("serving does not panic")
                .map_err(|error| format!("serving ended with {error}"))?;
        } else if step.get("restart").is_some() {
            self.plugin.task.abort();
            let socket = self.folder.path().join("again.sock");
            self.plugin = serve(&socket, &self.shared).await;
        } else {
            panic!("there is no such step: {step}");
        }
        Ok(())
    }

    /// Begins a call.
    fn call(&self, step: &Value) -> JoinHandle<Answer> {
        let rpc = step["call"].as_str().expect("a call");
        let method = method(rpc);
        let request = DynamicMessage::deserialize(method.input(), self.request(step))
            .unwrap_or_else(|error| panic!("{rpc} of {step}: {error}"));
        let mut request = Request::new(request);
        match step.get("timeoutMs") {
            None => request.set_timeout(Duration::from_millis(TIMEOUT_MS)),
            Some(Value::Null) => {}
            Some(timeout) => {
                let milliseconds = timeout.as_u64().expect("milliseconds");
                request.set_timeout(Duration::from_millis(milliseconds));
            }
        }
        let metadata = request.metadata_mut();
        if let Some(ahead) = step["deadlineInMs"].as_i64() {
            let now = SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .expect("after 1970");
            let at = i128::try_from(now.as_millis()).expect("before the year 10^20") + i128::from(ahead);
            metadata.insert("crossbridge-deadline-ms", at.to_string().parse().expect("digits"));
        }
        for (key, value) in step["metadata"].as_object().into_iter().flatten() {
            let key = tonic::metadata::MetadataKey::from_bytes(key.as_bytes()).expect("a key");
            metadata.insert(key, value.as_str().expect("a text").parse().expect("ASCII"));
        }
        let mut client = Grpc::new(self.plugin.channel.clone());
        tokio::spawn(async move {
            let path = format!("/{}/{}", method.parent_service().full_name(), method.name());
            client
                .ready()
                .await
                .map_err(|error| Status::unavailable(error.to_string()))?;
            let path = path.parse().expect("a path");
            let answer = client.unary(request, path, Dynamic(method.output())).await?;
            Ok(answer.into_inner())
        })
    }

    fn request(&self, step: &Value) -> Value {
        let rpc = step["call"].as_str().expect("a call");
        let kind = step["kind"].as_str().unwrap_or("Widget");
        let mut request = self
            .base
            .get(format!("{rpc}/{kind}"))
            .or_else(|| self.base.get(rpc));
        let mut request = request.take().expect("a request").clone();
        if let Some(patch) = step.get("request") {
            merge(&mut request, patch);
        }
        if step.get("parameters").is_some() || step.get("script").is_some() {
            let mut parameters = step.get("parameters").cloned().unwrap_or_else(|| json!({}));
            if let Some(script) = step.get("script") {
                parameters["script"] = script.clone();
            }
            merge(
                &mut request,
                &json!({"desired": {"parameters": {"json": parameters.to_string()}}}),
            );
        }
        self.filled(request)
    }

    /// With what the stand-ins stand for.
    fn filled(&self, value: Value) -> Value {
        match value {
            Value::Object(members) => {
                if let Some(repeated) = members.get("$repeat") {
                    let times = repeated[1].as_u64().and_then(|times| usize::try_from(times).ok());
                    return json!(
                        repeated[0]
                            .as_str()
                            .expect("a text")
                            .repeat(times.expect("a count"))
                    );
                }
                if let Some(label) = members.get("$saved") {
                    return self.saved[label.as_str().expect("a label")].clone();
                }
                let members = members
                    .into_iter()
                    .map(|(name, value)| (name, self.filled(value)));
                Value::Object(members.collect())
            }
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.filled(item)).collect()),
            other => other,
        }
    }

    /// Compares an answer with what is expected of it.
    async fn ended(&mut self, call: JoinHandle<Answer>, step: &Value) -> Result<(), String> {
        let begun = Instant::now();
        let answer = within("an answer", call)
            .await
            .expect("the client does not panic");
        let expect = &step["expect"];
        match (&answer, expect.get("status")) {
            (Err(status), Some(expected)) => {
                let code = status_name(status.code());
                matching::check(expected, Some(&json!(code)), &self.saved, "status")?;
                if let Some(expected) = expect.get("message") {
                    matching::check(expected, Some(&json!(status.message())), &self.saved, "message")?;
                }
            }
            (Ok(answer), None) => {
                let answer = serde_json::to_value(answer).expect("JSON");
                if let Some(expected) = expect.get("answer") {
                    matching::check(expected, Some(&answer), &self.saved, "answer")?;
                }
                for (path, label) in step["save"].as_object().into_iter().flatten() {
                    let pointer = format!("/{}", path.replace('.', "/"));
                    let value = answer.pointer(&pointer).expect("something to save").clone();
                    self.saved
                        .insert(label.as_str().expect("a label").to_owned(), value);
                }
            }
            (Err(status), None) => return Err(format!("it was not processed: {status}")),
            (Ok(answer), Some(expected)) => return Err(format!("expected {expected}, got {answer}")),
        }
        if let Some(limit) = expect["withinMs"].as_u64()
            && begun.elapsed() > Duration::from_millis(limit)
        {
            return Err(format!("it took {:?}", begun.elapsed()));
        }
        for secret in expect["printedLacks"].as_array().into_iter().flatten() {
            let printed = self.shared.printed();
            if printed.is_empty() || printed.contains(secret.as_str().expect("a text")) {
                return Err(format!("printed: {printed}"));
            }
        }
        match expect.get("events") {
            Some(events) => self.events_are(events).await,
            None => Ok(()),
        }
    }

    async fn events_are(&self, expected: &Value) -> Result<(), String> {
        let limit = Instant::now() + Duration::from_secs(30);
        loop {
            let events = json!(self.shared.events());
            if events == *expected {
                return Ok(());
            }
            if Instant::now() > limit {
                return Err(format!("expected the events {expected}, got {events}"));
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.plugin.task.abort();
    }
}

/// RFC 7396.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        *target = patch.clone();
        return;
    };
    if patch.keys().any(|key| key.starts_with('$')) {
        *target = Value::Object(patch.clone());
        return;
    }
    if !target.is_object() {
        *target = json!({});
    }
    let members = target.as_object_mut().expect("an object");
    for (name, value) in patch {
        if value.is_null() {
            members.remove(name);
        } else {
            merge(members.entry(name).or_insert(Value::Null), value);
        }
    }
}

fn method(name: &str) -> MethodDescriptor {
    let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).expect("our own descriptors");
    pool.services()
        .flat_map(|service| service.methods().collect::<Vec<_>>())
        .find(|method| method.name() == name)
        .unwrap_or_else(|| panic!("there is no call {name}"))
}

/// As gRPC spells it: `INVALID_ARGUMENT`.
fn status_name(code: tonic::Code) -> String {
    let mut name = String::new();
    for letter in format!("{code:?}").chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(letter.to_uppercase());
    }
    name
}

/// Messages of one type, known at run time.
struct Dynamic(MessageDescriptor);

impl Codec for Dynamic {
    type Encode = DynamicMessage;
    type Decode = DynamicMessage;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self(self.0.clone())
    }

    fn decoder(&mut self) -> Self {
        Self(self.0.clone())
    }
}

impl Encoder for Dynamic {
    type Item = DynamicMessage;
    type Error = Status;

    fn encode(&mut self, message: DynamicMessage, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        message
            .encode(buffer)
            .map_err(|error| Status::internal(error.to_string()))
    }
}

impl Decoder for Dynamic {
    type Item = DynamicMessage;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<DynamicMessage>, Status> {
        DynamicMessage::decode(self.0.clone(), buffer)
            .map(Some)
            .map_err(|error| Status::internal(error.to_string()))
    }
}
