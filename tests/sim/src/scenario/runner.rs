//! Takes a scenario's steps on any backend.

use std::{collections::BTreeMap, time::Duration};

use async_trait::async_trait;
use bridge_core::managed::names;
use fake_cloud::{
    cloud::{Entry, External, Profile},
    fault::{Fault, FaultOutcome, Rpc},
    kinds::{GROUP, VERSION},
};
use http::Method;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Change, Expectation, Power, Process, Scenario, Step};

const NAMESPACE: &str = "default";
/// From one check of an expectation to the next.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Why a scenario failed: a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unexpected(pub String);

/// What the cloud has, and what it was asked.
#[derive(Debug, Clone, Default)]
pub struct CloudSnapshot {
    /// The external objects that exist.
    pub objects: Vec<External>,
    /// Every call that came.
    pub entries: Vec<Entry>,
    /// When it was so.
    pub now: Timestamp,
}

impl CloudSnapshot {
    /// Calls on behalf of this uid that have no answer yet, or get none.
    fn unanswered(&self, uid: &str) -> usize {
        let waits = |entry: &&Entry| match entry.fate {
            FaultOutcome::Slow(wait) => self.now.duration_since(entry.at).as_millis() < i128::from(wait),
            FaultOutcome::Hang | FaultOutcome::LoseAnswer | FaultOutcome::Late(_) => {
                self.now.as_millisecond() < entry.deadline
            }
            _ => false,
        };
        let entries = self.entries.iter().filter(|entry| entry.uid == uid);
        entries.filter(waits).count()
    }
}

/// Whether a backend can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// It goes on with the next step.
    Goes,
    /// It has ended, and another one goes on: a simulated bridge takes its runtime along.
    Interrupted,
}

/// A cluster in which a scenario runs.
#[async_trait(?Send)]
pub trait ClusterBackend {
    /// One request of a user to the API server: code and body. A patch is a merge patch.
    async fn kube(&mut self, method: Method, path: &str, body: &Value) -> Result<(u16, Value), Unexpected>;
    /// SIGTERM to the bridge; returns when it has ended.
    async fn terminate(&mut self) -> Result<Flow, Unexpected>;
    /// How the cloud of its plugin is from now on.
    async fn set_profile(&mut self, profile: Profile) -> Result<(), Unexpected>;
    /// Whether the API server can be reached.
    async fn power(&mut self, power: Power) -> Result<(), Unexpected>;
    /// Lets this time pass.
    async fn pass(&mut self, time: Duration);
    /// How long anything may take.
    fn wait_limit(&self) -> Duration;
}

/// Where a scenario of managed resources runs.
#[async_trait(?Send)]
pub trait ScenarioBackend: ClusterBackend {
    /// The cloud as it is.
    async fn cloud(&mut self) -> Result<CloudSnapshot, Unexpected>;
    /// Adds a fault, which waits for its call.
    async fn inject(&mut self, fault: Fault) -> Result<(), Unexpected>;
    /// An unknown actor removes what bears this name.
    async fn remove_by_hand(&mut self, kind: &str, name: &str) -> Result<(), Unexpected>;
    /// Another owner creates one of this name, under another marker.
    async fn foreign(&mut self, kind: &str, name: &str) -> Result<(), Unexpected>;
    /// Ends the process with SIGKILL.
    async fn crash(&mut self, process: Process) -> Result<Flow, Unexpected>;
    /// Starts the process again.
    async fn start(&mut self, process: Process) -> Result<(), Unexpected>;
    /// The plugin starts anew, and publishes these kinds alone.
    async fn publish(&mut self, kinds: &[String]) -> Result<(), Unexpected>;
}

/// A scenario on its way.
pub struct Runner {
    scenario: Scenario,
    /// Kind and name of each object.
    pub(super) objects: Vec<(String, String)>,
    /// Steps that were taken.
    taken: usize,
    /// uids that were seen, by object.
    uids: BTreeMap<String, String>,
    pub(super) definitions: Vec<Value>,
    /// The cloud when the bridge was last asked to stop.
    at_stop: CloudSnapshot,
}

impl Runner {
    /// Creates it before the first step.
    pub fn new(scenario: &Scenario) -> Self {
        let name = |kind: &str| format!("{}-{}", scenario.name.replace('_', "-"), kind.to_lowercase());
        let objects = scenario.kinds().into_iter().map(|kind| {
            let name = name(&kind);
            (kind, name)
        });
        Self {
            objects: objects.collect(),
            scenario: scenario.clone(),
            taken: 0,
            uids: BTreeMap::new(),
            definitions: Vec::new(),
            at_stop: CloudSnapshot::default(),
        }
    }

    /// Goes on where it stood, until the end, or until the backend has ended.
    ///
    /// # Errors
    /// What did not come to pass.
    pub async fn run(&mut self, backend: &mut dyn ScenarioBackend) -> Result<Flow, Unexpected> {
        while let Some(step) = self.scenario.steps.get(self.taken).cloned() {
            self.taken += 1;
            let taken = self.take(&step, backend).await;
            let about = |why: Unexpected| {
                Unexpected(format!(
                    "{}: step {} ({step:?}): {why}",
                    self.scenario.name, self.taken
                ))
            };
            if taken.map_err(about)? == Flow::Interrupted {
                return Ok(Flow::Interrupted);
            }
        }
        Ok(Flow::Goes)
    }

    async fn take(&mut self, step: &Step, backend: &mut dyn ScenarioBackend) -> Result<Flow, Unexpected> {
        match step {
            Step::Crash(process) => return backend.crash(*process).await,
            Step::Terminate => {
                self.at_stop = backend.cloud().await?;
                return backend.terminate().await;
            }
            Step::Start(process) => backend.start(*process).await?,
            Step::Publish(kinds) => backend.publish(kinds).await?,
            Step::Api(power) => backend.power(*power).await?,
            Step::Profile(profile) => backend.set_profile(profile.clone()).await?,
            Step::Definitions(Change::Delete) => self.delete_definitions(backend).await?,
            Step::Definitions(Change::Create) => self.create_definitions(backend).await?,
            Step::Pass(seconds) => pass(backend, *seconds).await?,
            Step::Expect(expectation) => self.expect(backend, expectation).await?,
            _ => {
                for (kind, name) in self.objects.clone() {
                    self.take_for(step, &kind, &name, backend).await?;
                }
            }
        }
        Ok(Flow::Goes)
    }

    async fn take_for(
        &mut self,
        step: &Step,
        kind: &str,
        name: &str,
        backend: &mut dyn ScenarioBackend,
    ) -> Result<(), Unexpected> {
        match step {
            Step::Apply { size } => {
                let object = json!({
                    "apiVersion": format!("{GROUP}/{VERSION}"),
                    "kind": kind,
                    "metadata": {"name": name},
                    "spec": {"forProvider": {"size": size}},
                });
                let made = ask(backend, Method::POST, &collection(kind), &object).await?;
                self.uids.insert(name.to_owned(), uid_of(&made));
            }
            Step::Resize(size) => {
                let change = json!({"spec": {"forProvider": {"size": size}}});
                ask(backend, Method::PATCH, &path(kind, name), &change).await?;
            }
            Step::Delete => {
                ask(backend, Method::DELETE, &path(kind, name), &Value::Null).await?;
            }
            Step::Annotate { key, value } => self.annotate(backend, kind, name, key, json!(value)).await?,
            Step::Answer => self.answer(backend, kind, name).await?,
            Step::RemoveByHand => {
                for one in self.created_for(backend, name).await? {
                    backend.remove_by_hand(kind, &one.name).await?;
                }
            }
            Step::Foreign => backend.foreign(kind, name).await?,
            Step::Fault {
                rpc,
                fate,
                times,
                after,
            } => {
                let fault = Fault {
                    owner: Some(name.to_owned()),
                    after: *after,
                    ..Fault::once(*rpc, *fate).times(*times)
                };
                backend.inject(fault).await?;
            }
            _ => {}
        }
        Ok(())
    }

    async fn annotate(
        &self,
        backend: &mut dyn ScenarioBackend,
        kind: &str,
        name: &str,
        key: &str,
        value: Value,
    ) -> Result<(), Unexpected> {
        let mut annotations = json!({});
        annotations[key] = value;
        let change = json!({"metadata": {"annotations": annotations}});
        ask(backend, Method::PATCH, &path(kind, name), &change)
            .await
            .map(drop)
    }

    async fn created_for(
        &self,
        backend: &mut dyn ScenarioBackend,
        name: &str,
    ) -> Result<Vec<External>, Unexpected> {
        let uid = self.uids.get(name).cloned().unwrap_or_default();
        let mut objects = backend.cloud().await?.objects;
        objects.retain(|one| one.created_for == uid);
        Ok(objects)
    }

    async fn answer(
        &self,
        backend: &mut dyn ScenarioBackend,
        kind: &str,
        name: &str,
    ) -> Result<(), Unexpected> {
        let end = Instant::now() + backend.wait_limit();
        let question = loop {
            let object = ask(backend, Method::GET, &path(kind, name), &Value::Null).await?;
            let question = object
                .pointer("/status/crossbridge/question/id")
                .and_then(Value::as_str);
            if let Some(question) = question {
                break question.to_owned();
            }
            if Instant::now() > end {
                return Err(Unexpected(format!(
                    "{name}: nothing was asked: {}",
                    conditions(&object)
                )));
            }
            backend.pass(LOOK_AGAIN).await;
        };
        let answer = match self.created_for(backend, name).await?.first() {
            Some(made) => format!("exists/{question}/{}", made.name),
            None => format!("absent/{question}"),
        };
        self.annotate(backend, kind, name, names::CREATE_OUTCOME, answer.into())
            .await
    }

    async fn expect(
        &mut self,
        backend: &mut dyn ScenarioBackend,
        wanted: &Expectation,
    ) -> Result<(), Unexpected> {
        for (kind, name) in self.objects.clone() {
            let end = Instant::now() + backend.wait_limit();
            loop {
                let cloud = backend.cloud().await?;
                nothing_is_double(&cloud)?;
                let found = backend.kube(Method::GET, &path(&kind, &name), &Value::Null).await;
                let missing = match found {
                    Ok((code @ (200 | 404), object)) => {
                        let object = (code == 200).then_some(object);
                        match self.missing(wanted, &name, object.as_ref(), &cloud) {
                            None => break,
                            Some(missing) => missing,
                        }
                    }
                    Ok((code, _)) => format!("the API server answers {code}"),
                    Err(error) => error.to_string(),
                };
                if Instant::now() > end {
                    return Err(Unexpected(format!("{name}: {missing}")));
                }
                backend.pass(LOOK_AGAIN).await;
            }
        }
        Ok(())
    }

    /// What is not yet as it is expected.
    fn missing(
        &self,
        wanted: &Expectation,
        name: &str,
        object: Option<&Value>,
        cloud: &CloudSnapshot,
    ) -> Option<String> {
        let uid = self.uids.get(name).map(String::as_str).unwrap_or_default();
        let made: Vec<&External> = cloud
            .objects
            .iter()
            .filter(|one| one.created_for == uid)
            .collect();
        let calls = |rpc: Rpc| {
            cloud
                .entries
                .iter()
                .filter(|entry| entry.rpc == rpc && entry.uid == uid)
                .count()
        };
        let mut missing = Vec::new();
        let mut compare = |what: &str, is: Value, wanted: Value| {
            if !wanted.is_null() && is != wanted {
                missing.push(format!("{what} is {is}, not {wanted}"));
            }
        };
        let ready = object.is_some_and(|object| {
            condition(object, "Ready", "status") == "True" && condition(object, "Synced", "status") == "True"
        });
        let reason = |kind| object.map(|object| condition(object, kind, "reason").to_owned());
        let first = made.first();
        let named = object.is_some_and(|object| {
            let name = object["metadata"]["annotations"][names::EXTERNAL_NAME].as_str();
            name.is_some() && name == first.map(|one| one.name.as_str())
        });
        compare("gone", json!(object.is_none()), json!(wanted.gone));
        compare("ready", json!(ready), json!(wanted.ready));
        compare(
            "reason of Ready",
            json!(reason("Ready")),
            json!(wanted.ready_reason),
        );
        compare(
            "reason of Synced",
            json!(reason("Synced")),
            json!(wanted.synced_reason),
        );
        compare("external objects", json!(made.len()), json!(wanted.external));
        compare("named", json!(named), json!(wanted.named));
        compare(
            "size",
            json!(first.and_then(|one| one.parameters.get("size").cloned())),
            json!(wanted.size),
        );
        compare("creates", json!(calls(Rpc::Create)), json!(wanted.creates));
        compare("deletes", json!(calls(Rpc::Delete)), json!(wanted.deletes));
        let lies = |entry: &&Entry| entry.fate == FaultOutcome::Lie && entry.uid == uid;
        compare(
            "lies",
            json!(cloud.entries.iter().filter(lies).count()),
            json!(wanted.lies),
        );
        compare(
            "unanswered calls",
            json!(self.at_stop.unanswered(uid)),
            json!(wanted.unanswered),
        );
        (!missing.is_empty()).then(|| {
            let told = object.map(conditions).unwrap_or_default();
            format!("{}; {told}", missing.join(", "))
        })
    }
}

async fn pass(backend: &mut dyn ScenarioBackend, seconds: u32) -> Result<(), Unexpected> {
    for _ in 0..seconds {
        backend.pass(Duration::from_secs(1)).await;
        nothing_is_double(&backend.cloud().await?)?;
    }
    Ok(())
}

fn nothing_is_double(cloud: &CloudSnapshot) -> Result<(), Unexpected> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for one in cloud.objects.iter().filter(|one| !one.created_for.is_empty()) {
        *counts.entry(&one.created_for).or_default() += 1;
    }
    match counts.into_iter().find(|(_, count)| *count > 1) {
        Some((uid, count)) => Err(Unexpected(format!("{count} external objects for {uid}"))),
        None => Ok(()),
    }
}

pub(crate) fn plural(kind: &str) -> String {
    format!("{}s", kind.to_lowercase())
}

fn collection(kind: &str) -> String {
    format!("/apis/{GROUP}/{VERSION}/namespaces/{NAMESPACE}/{}", plural(kind))
}

fn path(kind: &str, name: &str) -> String {
    format!("{}/{name}", collection(kind))
}

fn uid_of(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

pub(crate) fn condition<'a>(object: &'a Value, kind: &str, field: &str) -> &'a str {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    let found = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == kind);
    found
        .and_then(|condition| condition[field].as_str())
        .unwrap_or_default()
}

pub(crate) fn conditions(object: &Value) -> String {
    object
        .pointer("/status/conditions")
        .map(ToString::to_string)
        .unwrap_or_default()
}

/// A request that must be a success. An API server that has just come back is asked again.
pub(crate) async fn ask(
    backend: &mut (impl ClusterBackend + ?Sized),
    method: Method,
    path: &str,
    body: &Value,
) -> Result<Value, Unexpected> {
    ask_while(backend, method, path, body, |_| true).await
}

/// Likewise, but a code that is not temporary ends it.
pub(crate) async fn ask_while(
    backend: &mut (impl ClusterBackend + ?Sized),
    method: Method,
    path: &str,
    body: &Value,
    is_temporary: impl Fn(u16) -> bool,
) -> Result<Value, Unexpected> {
    let end = Instant::now() + backend.wait_limit();
    loop {
        let answer = backend.kube(method.clone(), path, body).await;
        let (why, again) = match answer {
            Ok((code, answer)) if code < 300 => return Ok(answer),
            Ok((code, answer)) => (format!("{code}: {}", answer["message"]), is_temporary(code)),
            Err(error) => (error.to_string(), true),
        };
        if !again || Instant::now() > end {
            return Err(Unexpected(format!("{method} {path}: {why}")));
        }
        backend.pass(LOOK_AGAIN).await;
    }
}
