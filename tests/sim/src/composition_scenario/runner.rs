//! Takes a scenario's steps on any backend.

use std::time::Duration;

use async_trait::async_trait;
use fake_cloud::cloud::Profile;
use http::Method;
use serde_json::Value;
use tokio::time::Instant;

use super::{CompositionScenario, Expectation, Process, Step, objects::Objects};
use crate::scenario::{ClusterBackend, Flow, LOOK_AGAIN, Unexpected, ask, ask_while, condition, conditions};

/// Of what is composed in scenarios: lists of all namespaces.
const COMPOSED: [&str; 3] = [
    "/apis/fake.example.org/v1alpha1/tables",
    "/api/v1/configmaps",
    "/apis/protection.crossplane.io/v1beta1/usages",
];

/// What a user did beside the scenario has so long to take effect.
const AFTER_DEPARTURE: Duration = Duration::from_secs(3);

/// Where a scenario of compositions runs.
#[async_trait(?Send)]
pub trait CompositionBackend: ClusterBackend {
    /// Ends the process with SIGKILL.
    async fn crash(&mut self, process: Process) -> Result<Flow, Unexpected>;
    /// Starts the process again.
    async fn start(&mut self, process: Process) -> Result<(), Unexpected>;

    /// A user applies an object at this path.
    fn note_applied(&mut self, _path: &str, _object: &Value) {}

    /// Whether a user has done something that the scenario does not have: its expectations do not count any more, and everything has to end all the
    /// same.
    fn has_departed(&self) -> bool {
        false
    }

    /// Time is virtual and no fault has come: what follows a request follows it before the next sample.
    fn is_without_fault(&self) -> bool {
        false
    }

    /// What such a user applies again, once.
    fn take_recreation(&mut self) -> Option<Value> {
        None
    }

    /// What such a user has paused goes on. Returns whether anything was.
    fn resume_all(&mut self) -> bool {
        false
    }

    /// Such a user deletes what lost its owner by it. Returns whether any of it is left.
    fn delete_stripped(&mut self) -> bool {
        false
    }
}

/// A scenario on its way.
pub struct CompositionRunner {
    scenario: CompositionScenario,
    objects: Objects,
    /// Steps that were taken.
    taken: usize,
}

impl CompositionRunner {
    /// Creates it before the first step.
    pub fn new(scenario: &CompositionScenario) -> Self {
        Self {
            scenario: scenario.clone(),
            objects: Objects::new(),
            taken: 0,
        }
    }

    /// Goes on where it stood, until everything is gone again, or until the backend has ended.
    ///
    /// # Errors
    /// What did not come to pass.
    pub async fn run(&mut self, backend: &mut dyn CompositionBackend) -> Result<Flow, Unexpected> {
        for name in std::mem::take(&mut self.scenario.definitions) {
            self.define(&name, backend).await?;
        }
        while let Some(step) = self.scenario.steps.get(self.taken).cloned() {
            self.taken += 1;
            let taken = self.take(&step, backend).await;
            let about = |why: Unexpected| {
                Unexpected(format!(
                    "{}: step {} ({step:?}): {why}",
                    self.scenario.name, self.taken
                ))
            };
            let flow = match taken {
                Err(_) if backend.has_departed() => Flow::Goes,
                taken => taken.map_err(about)?,
            };
            if let Some(object) = backend.take_recreation() {
                // If its kind has gone in the meantime, it is not applied.
                let _ = self.apply(&object, backend).await;
            }
            if flow == Flow::Interrupted {
                return Ok(Flow::Interrupted);
            }
        }
        backend.resume_all();
        backend.set_profile(Profile::default()).await?;
        let had_departed = backend.has_departed();
        let mut cleared = self.clear(backend).await;
        // It may have come in between.
        let has_come = backend.resume_all() || (backend.has_departed() && !had_departed);
        if cleared.is_err() && has_come {
            cleared = self.clear(backend).await;
        }
        cleared.map_err(|why| Unexpected(format!("{}: at its end: {why}", self.scenario.name)))?;
        Ok(Flow::Goes)
    }

    async fn take(&mut self, step: &Step, backend: &mut dyn CompositionBackend) -> Result<Flow, Unexpected> {
        match step {
            Step::Crash(process) => return backend.crash(*process).await,
            Step::Terminate => return backend.terminate().await,
            Step::Start(process) => backend.start(*process).await?,
            Step::Cloud(profile) => backend.set_profile(profile.clone()).await?,
            Step::Api(power) => backend.power(*power).await?,
            Step::Pass(seconds) => backend.pass(Duration::from_secs((*seconds).into())).await,
            Step::Define(name) => self.define(name, backend).await?,
            Step::Apply(object) => self.apply(object, backend).await?,
            Step::Patch { of, change } => {
                let path = self.path(of, backend).await?;
                let change = self.objects.fill_all(change);
                demand(backend, Method::PATCH, &path, &change).await?;
            }
            Step::Delete(all) => {
                for one in all {
                    let path = self.path(one, backend).await?;
                    demand(backend, Method::DELETE, &path, &Value::Null).await?;
                }
            }
            Step::Note { of, name } => {
                let path = self.path(of, backend).await?;
                let object = demand(backend, Method::GET, &path, &Value::Null).await?;
                let uid = object["metadata"]["uid"].as_str();
                let uid = uid.ok_or_else(|| Unexpected(format!("{of} has no uid")))?;
                self.objects.noted.insert(name.clone(), uid.to_owned());
            }
            // What is to come of a departure is not known: there is time for it, and its end counts.
            Step::Expect(_) | Step::DeleteVisibly { .. } | Step::Refused { .. } if backend.has_departed() => {
                backend.pass(AFTER_DEPARTURE).await;
            }
            Step::DeleteVisibly { of, before } => self.delete_visibly(of, before, backend).await?,
            Step::Refused { of, message } => self.refused(of, message, backend).await?,
            Step::Expect(expectation) => self.expect(expectation, backend).await?,
        }
        Ok(Flow::Goes)
    }

    async fn define(&mut self, name: &str, backend: &mut dyn CompositionBackend) -> Result<(), Unexpected> {
        for object in CompositionScenario::definition(name).map_err(Unexpected)? {
            let path = {
                let reference = self.objects.take_note(&object);
                self.objects.path(&reference)?
            };
            // What was defined before, and was not deleted, stays.
            if backend.kube(Method::GET, &path, &Value::Null).await?.0 == 404 {
                self.apply(&object, backend).await?;
            }
        }
        Ok(())
    }

    async fn apply(
        &mut self,
        object: &Value,
        backend: &mut dyn CompositionBackend,
    ) -> Result<(), Unexpected> {
        let reference = self.objects.take_note(object);
        let path = self.objects.path(&reference)?;
        let collection = path.rsplit_once('/').map(|(collection, _)| collection);
        let object = self.objects.fill_all(object);
        backend.note_applied(&path, &object);
        ask(backend, Method::POST, collection.unwrap_or_default(), &object)
            .await
            .map(drop)
    }

    /// The path of an object; `Claim/name>XKind` is read from the claim.
    async fn path(
        &self,
        reference: &str,
        backend: &mut dyn CompositionBackend,
    ) -> Result<String, Unexpected> {
        let Some((claim, kind)) = reference.split_once('>') else {
            return self.objects.path(reference);
        };
        let path = self.objects.path(claim)?;
        let end = Instant::now() + backend.wait_limit();
        loop {
            let object = ask(backend, Method::GET, &path, &Value::Null).await?;
            let name = object.pointer("/spec/resourceRef/name").and_then(Value::as_str);
            if let Some(name) = name {
                return self.objects.path(&format!("{kind}/{name}"));
            }
            if Instant::now() > end {
                return Err(Unexpected(format!("{claim} refers to no composite resource")));
            }
            backend.pass(LOOK_AGAIN).await;
        }
    }

    async fn delete_visibly(
        &self,
        of: &str,
        before: &[String],
        backend: &mut dyn CompositionBackend,
    ) -> Result<(), Unexpected> {
        let path = self.path(of, backend).await?;
        let mut others = Vec::new();
        for other in before {
            others.push((other, self.path(other, backend).await?));
        }
        demand(backend, Method::DELETE, &path, &Value::Null).await?;
        let end = Instant::now() + backend.wait_limit();
        loop {
            backend.pass(LOOK_AGAIN).await;
            let mut going = Vec::new();
            // First those that may not go first.
            for (name, path) in &others {
                let (code, object) = backend.kube(Method::GET, path, &Value::Null).await?;
                if code == 404 || is_deleting(&object) {
                    going.push(name.as_str());
                }
            }
            let (code, object) = backend.kube(Method::GET, &path, &Value::Null).await?;
            if code == 404 {
                return Err(Unexpected(format!(
                    "{of} is gone, and never said that it is being deleted"
                )));
            }
            if state(&object, "Ready") == "False/Deleting" {
                return Ok(());
            }
            // With real processes the first sample is a matter of the machine: there the order counts.
            if !going.is_empty() || backend.is_without_fault() || Instant::now() > end {
                return Err(Unexpected(format!(
                    "{of} says {} in a sample after its deletion, while these go: {going:?}",
                    state(&object, "Ready")
                )));
            }
        }
    }

    async fn refused(
        &self,
        of: &str,
        message: &str,
        backend: &mut dyn CompositionBackend,
    ) -> Result<(), Unexpected> {
        let path = self.path(of, backend).await?;
        let (code, answer) = backend.kube(Method::DELETE, &path, &Value::Null).await?;
        let said = answer["message"].as_str().unwrap_or_default();
        if matches!(code, 403 | 409) && said.contains(message) {
            return Ok(());
        }
        Err(Unexpected(format!("the deletion of {of}: {code} {said:?}")))
    }

    async fn expect(
        &self,
        wanted: &Expectation,
        backend: &mut dyn CompositionBackend,
    ) -> Result<(), Unexpected> {
        if let Some(name) = &wanted.other_than
            && !self.objects.noted.contains_key(name)
        {
            return Err(Unexpected(format!("no uid was noted as {name:?}")));
        }
        let path = self.path(&wanted.of, backend).await?;
        let within = wanted.within.map(|seconds| Duration::from_secs(seconds.into()));
        let end = Instant::now() + within.unwrap_or_else(|| backend.wait_limit());
        let had_departed = backend.has_departed();
        loop {
            if backend.has_departed() && !had_departed {
                return Err(Unexpected(format!("{}: a user did something else", wanted.of)));
            }
            let missing = match backend.kube(Method::GET, &path, &Value::Null).await {
                Ok((code @ (200 | 404), object)) => {
                    let object = (code == 200).then_some(object);
                    match self.missing(wanted, object.as_ref()) {
                        None => return Ok(()),
                        Some(missing) => missing,
                    }
                }
                Ok((code, _)) => format!("the API server answers {code}"),
                Err(error) => error.to_string(),
            };
            if Instant::now() > end {
                return Err(Unexpected(format!("{}: {missing}", wanted.of)));
            }
            backend.pass(LOOK_AGAIN).await;
        }
    }

    /// What is not yet as it is expected.
    fn missing(&self, wanted: &Expectation, object: Option<&Value>) -> Option<String> {
        let is_gone = object.is_none();
        let mut missing = Vec::new();
        if wanted.gone.unwrap_or(false) != is_gone {
            missing.push(format!("gone is {is_gone}"));
        }
        let object = object.unwrap_or(&Value::Null);
        let deleting = is_deleting(object);
        if wanted.deleting.is_some_and(|wanted| wanted != deleting) {
            missing.push(format!("being deleted is {deleting}"));
        }
        if let Some(name) = &wanted.other_than
            && self.objects.noted.get(name).map(String::as_str) == object["metadata"]["uid"].as_str()
        {
            missing.push(format!("it is still {name}"));
        }
        for (kind, wanted) in &wanted.conditions {
            let is = state(object, kind);
            if is != *wanted {
                missing.push(format!("{kind} is {is}, not {wanted}"));
            }
        }
        for (kind, part) in &wanted.messages {
            let (said, part) = (condition(object, kind, "message"), self.objects.fill(part));
            if !said.contains(&part) {
                missing.push(format!("{kind} says {said:?}, without {part:?}"));
            }
        }
        for (pointer, wanted) in &wanted.fields {
            let is = object.pointer(pointer).unwrap_or(&Value::Null);
            if *is != self.objects.fill_all(wanted) {
                missing.push(format!("{pointer} is {is}, not {wanted}"));
            }
        }
        (!missing.is_empty()).then(|| format!("{}; {}", missing.join(", "), conditions(object)))
    }

    /// Deletes what was applied, last things first, until all of it is gone, and nothing that was composed is left. Namespaces stay: the simulation
    /// has nothing that empties them.
    async fn clear(&self, backend: &mut dyn CompositionBackend) -> Result<(), Unexpected> {
        for reference in self.objects.applied.iter().rev() {
            if reference.starts_with("Namespace/") {
                continue;
            }
            let path = self.objects.path(reference)?;
            let (code, object) = backend.kube(Method::GET, &path, &Value::Null).await?;
            if code == 404 {
                continue;
            }
            if !is_deleting(&object) && backend.has_departed() {
                // It may be in use, or of the bridge, for a while.
                let is_temporary = |code| code != 404;
                let _ = ask_while(backend, Method::DELETE, &path, &Value::Null, is_temporary).await;
            } else if !is_deleting(&object) {
                demand(backend, Method::DELETE, &path, &Value::Null).await?;
            }
            // Something may wait for it.
            backend.delete_stripped();
            let gone = Expectation {
                of: reference.clone(),
                gone: Some(true),
                ..Expectation::default()
            };
            self.expect(&gone, backend).await?;
        }
        let end = Instant::now() + backend.wait_limit();
        while backend.delete_stripped() && Instant::now() < end {
            backend.pass(LOOK_AGAIN).await;
        }
        for collection in COMPOSED {
            let list = demand(backend, Method::GET, collection, &Value::Null).await?;
            let items = list["items"].as_array().into_iter().flatten();
            let left = items.filter(|item| !item["metadata"]["labels"]["crossplane.io/composite"].is_null());
            let left: Vec<_> = left.map(|item| &item["metadata"]["name"]).collect();
            if !left.is_empty() {
                return Err(Unexpected(format!("of {collection} these are left: {left:?}")));
            }
        }
        Ok(())
    }
}

/// A request that must be a success at once: only an API server that does not answer, or not now, is asked again.
async fn demand(
    backend: &mut dyn CompositionBackend,
    method: Method,
    path: &str,
    body: &Value,
) -> Result<Value, Unexpected> {
    ask_while(backend, method, path, body, |code| code == 429 || code >= 500).await
}

fn is_deleting(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Status and reason of a condition.
fn state(object: &Value, kind: &str) -> String {
    format!(
        "{}/{}",
        condition(object, kind, "status"),
        condition(object, kind, "reason")
    )
}
