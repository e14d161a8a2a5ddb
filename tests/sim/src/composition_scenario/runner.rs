//! Takes a scenario's steps on any backend.

use std::time::Duration;

use async_trait::async_trait;
use http::Method;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{CompositionScenario, Expectation, Process, Step, objects::Objects};
use crate::scenario::{ClusterBackend, Flow, LOOK_AGAIN, Unexpected, ask, condition, conditions};

/// Where a scenario of compositions runs.
#[async_trait(?Send)]
pub trait CompositionBackend: ClusterBackend {
    /// Ends the process with SIGKILL.
    async fn crash(&mut self, process: Process) -> Result<Flow, Unexpected>;
    /// Starts the process again.
    async fn start(&mut self, process: Process) -> Result<(), Unexpected>;
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
            if taken.map_err(about)? == Flow::Interrupted {
                return Ok(Flow::Interrupted);
            }
        }
        let cleared = self.clear(backend).await;
        cleared.map_err(|why| Unexpected(format!("{}: at its end: {why}", self.scenario.name)))?;
        Ok(Flow::Goes)
    }

    async fn take(&mut self, step: &Step, backend: &mut dyn CompositionBackend) -> Result<Flow, Unexpected> {
        match step {
            Step::Crash(process) => return backend.crash(*process).await,
            Step::Terminate => return backend.terminate().await,
            Step::Start(process) => backend.start(*process).await?,
            Step::Api(power) => backend.power(*power).await?,
            Step::Pass(seconds) => backend.pass(Duration::from_secs((*seconds).into())).await,
            Step::Define(name) => self.define(name, backend).await?,
            Step::Apply(object) => self.apply(object, backend).await?,
            Step::Patch { of, change } => {
                let path = self.path(of, backend).await?;
                let change = self.objects.fill_all(change);
                ask(backend, Method::PATCH, &path, &change).await?;
            }
            Step::Delete { of, propagation } => {
                let options = json!({"propagationPolicy": format!("{propagation:?}")});
                for one in of {
                    let path = self.path(one, backend).await?;
                    ask(backend, Method::DELETE, &path, &options).await?;
                }
            }
            Step::DeleteVisibly { of, before } => self.delete_visibly(of, before, backend).await?,
            Step::Refused { of, message } => self.refused(of, message, backend).await?,
            Step::Note { of, name } => {
                let path = self.path(of, backend).await?;
                let object = ask(backend, Method::GET, &path, &Value::Null).await?;
                let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
                self.objects.noted.insert(name.clone(), uid.to_owned());
            }
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
        ask(backend, Method::DELETE, &path, &Value::Null).await?;
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
            if !going.is_empty() || Instant::now() > end {
                return Err(Unexpected(format!(
                    "{of} says {}, while these go: {going:?}",
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
        let path = self.path(&wanted.of, backend).await?;
        let within = wanted.within.map(|seconds| Duration::from_secs(seconds.into()));
        let end = Instant::now() + within.unwrap_or_else(|| backend.wait_limit());
        loop {
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

    /// Deletes what was applied, last things first, until all of it is gone. Namespaces stay: the simulation has nothing that empties them.
    async fn clear(&self, backend: &mut dyn CompositionBackend) -> Result<(), Unexpected> {
        for reference in self.objects.applied.iter().rev() {
            if reference.starts_with("Namespace/") {
                continue;
            }
            let path = self.objects.path(reference)?;
            let end = Instant::now() + backend.wait_limit();
            loop {
                let (code, answer) = backend.kube(Method::DELETE, &path, &Value::Null).await?;
                if code == 404 {
                    break;
                }
                if Instant::now() > end {
                    let (_, object) = backend.kube(Method::GET, &path, &Value::Null).await?;
                    return Err(Unexpected(format!(
                        "{reference} stays: {code} {}; {}",
                        answer["message"],
                        conditions(&object)
                    )));
                }
                backend.pass(LOOK_AGAIN).await;
            }
        }
        Ok(())
    }
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
