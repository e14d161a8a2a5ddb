//! What a story about one kind has in its hands.

mod count;
mod follow;
mod list;
mod remove;
mod thing;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{
    CreateRecovery, Example, FailureCode, Kind, Look, NameSource, Observation, Outcome, OutcomeResult,
};
use tokio::time::{Instant, sleep};
use tonic::Status;
use uuid::Uuid;

pub(crate) use follow::Trail;
pub(crate) use list::list_all;
pub(crate) use thing::Thing;

use crate::{
    bench::Bench,
    client::{Terms, told},
    fixtures::{NamePattern, desired, fresh_name},
    verdict::Stop,
};

/// Between two looks at something that is waited for.
const PAUSE: Duration = Duration::from_millis(50);

/// One kind with one of its examples.
#[derive(Debug, Clone)]
pub(crate) struct Lab {
    pub bench: Bench,
    pub kind: Arc<Kind>,
    pub example: Example,
    /// The rules of its names.
    pub names: Arc<NamePattern>,
}

impl Lab {
    pub(crate) fn new(bench: &Bench, kind: &Arc<Kind>, example: &Example) -> Self {
        let mut canaries = bench.client.watch().canaries.clone();
        canaries.add_sensitive(example);
        // A pattern that cannot be compiled has its own assertion.
        let names = NamePattern::of(&kind.external_name).unwrap_or_default();
        Self {
            bench: bench.watching(kind, canaries),
            kind: Arc::clone(kind),
            example: example.clone(),
            names: Arc::new(names),
        }
    }

    /// A new managed resource that nobody has made yet, as its example wants it.
    pub(crate) fn thing(&self) -> Result<Thing, Stop> {
        let parameters = self.example.create_parameters.clone().unwrap_or_default();
        let name = match self.kind.external_name.source {
            NameSource::User => self.fresh_name(&self.example.external_name)?,
            NameSource::Provider | NameSource::Derived => String::new(),
        };
        Ok(self.thing_of(&name, desired(&parameters, &self.sensitive_values())))
    }

    pub(crate) fn thing_of(&self, name: &str, desired: wire::DesiredState) -> Thing {
        let id = Uuid::new_v4();
        let target = wire::Target {
            resource_type: Some(self.kind.resource_type.clone().into()),
            config: Some(self.bench.config()),
            owner: Some(wire::ObjectRef {
                namespace: if self.kind.namespaced {
                    "conformance".to_owned()
                } else {
                    String::new()
                },
                name: format!("conformance-{}", self.example.name),
                uid: id.to_string(),
                generation: 1,
            }),
            external_name: name.to_owned(),
            ownership_marker: new_marker(),
            ..Default::default()
        };
        Thing {
            target,
            desired,
            token: Uuid::new_v4().to_string(),
            given_name: name.to_owned(),
            refused: false,
        }
    }

    /// A valid name that nobody has.
    pub(crate) fn fresh_name(&self, base: &str) -> Result<String, Stop> {
        let base = if base.is_empty() {
            &self.kind.external_name.example
        } else {
            base
        };
        fresh_name(&self.names, base, &mut rand::rng())
            .ok_or_else(|| Stop::blocked(format!("no other name like {base:?} fits the kind's pattern")))
    }

    /// Only where the kind says that they are sensitive.
    pub(crate) fn sensitive_values(&self) -> BTreeMap<String, String> {
        self.example.sensitive_values.clone()
    }

    pub(crate) fn recovers_by(&self, way: CreateRecovery) -> bool {
        self.kind.capabilities.create_recovery.contains(&way)
    }

    /// Whether a look without a name is possible.
    pub(crate) fn looks_without_name(&self) -> bool {
        self.kind.external_name.source == NameSource::Derived || self.recovers_by(CreateRecovery::Marker)
    }

    /// The usual terms of a call.
    pub(crate) fn terms(&self) -> Terms {
        Terms::within(self.kind.timeouts.call)
    }

    /// Looks; anything but an answer in form ends the story.
    pub(crate) async fn look(&self, thing: &Thing) -> Result<Look, Stop> {
        let answer = self.bench.client.observe(thing.observe(), self.terms()).await;
        look_of(answer)
    }

    /// What exists, looked for as long as absence is not to be believed; `None`: it reads as absent.
    pub(crate) async fn presence(&self, thing: &Thing) -> Result<Option<Observation>, Stop> {
        let until = Instant::now() + self.kind.capabilities.consistency_window;
        loop {
            match self.look(thing).await? {
                Look::Found(observation) => return Ok(Some(*observation)),
                Look::Absent(_) if Instant::now() < until => sleep(PAUSE).await,
                Look::Absent(_) => return Ok(None),
                Look::Failed(failure) => {
                    return Err(Stop::blocked(format!(
                        "Observe failed: {}: {}",
                        failure.reason, failure.message
                    )));
                }
            }
        }
    }

    /// What exists, or the end of the story.
    pub(crate) async fn found(&self, thing: &Thing) -> Result<Observation, Stop> {
        let seen = self.presence(thing).await?;
        seen.ok_or_else(|| Stop::blocked(format!("{:?} reads as absent though it was made", thing.name())))
    }

    /// Whether it is absent, looked for until it is or the kind's window has passed.
    pub(crate) async fn becomes_absent(&self, thing: &Thing) -> Result<bool, Stop> {
        let until = Instant::now() + self.kind.capabilities.consistency_window;
        loop {
            match self.look(thing).await? {
                Look::Absent(_) => return Ok(true),
                Look::Found(observation)
                    if observation.deleting && Instant::now() < until + self.bench.patience =>
                {
                    sleep(PAUSE).await;
                }
                Look::Found(_) if Instant::now() < until => sleep(PAUSE).await,
                Look::Found(_) => return Ok(false),
                Look::Failed(failure) => {
                    return Err(Stop::blocked(format!("Observe failed: {}", failure.message)));
                }
            }
        }
    }

    /// Waits out the time in which a Create may still show.
    pub(crate) async fn wait_out_window(&self) {
        let capabilities = &self.kind.capabilities;
        sleep(capabilities.consistency_window + capabilities.late_margin).await;
    }

    /// Sends one Create and takes in the answer. The thing is entered for removal before. What must wait for something else is asked for
    /// again, as the bridge would: a name may have to rest.
    pub(crate) async fn create_once(&self, thing: &mut Thing, unknown: bool) -> Result<Outcome, Stop> {
        let until = Instant::now() + self.bench.patience;
        loop {
            let outcome = self
                .create_under(thing, unknown, self.terms())
                .await
                .map_err(|status| Stop::blocked(format!("Create was not processed: {}", told(&status))))??;
            match wait(&outcome) {
                Some(wait) if Instant::now() + wait < until => sleep(wait).await,
                _ => return Ok(outcome),
            }
        }
    }

    /// The same under other terms: the status that came instead, or an answer out of form.
    pub(crate) async fn create_under(
        &self,
        thing: &mut Thing,
        unknown: bool,
        terms: Terms,
    ) -> Result<Result<Outcome, Stop>, Status> {
        self.bench.registry.enter(thing);
        let answer = self.bench.client.create(thing.create(unknown), terms).await?;
        let outcome = match Outcome::try_from(answer) {
            Ok(outcome) => outcome,
            Err(violation) => return Ok(Err(Stop::blocked(format!("the answer to Create: {violation}")))),
        };
        thing.learn(&outcome);
        thing.refused = is_refusal(&outcome);
        self.bench.registry.enter(thing);
        Ok(Ok(outcome))
    }

    /// Made to the end, or the story ends.
    pub(crate) async fn made(&self) -> Result<Thing, Stop> {
        let mut thing = self.thing()?;
        self.make(&mut thing).await?;
        Ok(thing)
    }

    /// Creates it to the end.
    pub(crate) async fn make(&self, thing: &mut Thing) -> Result<Trail, Stop> {
        let outcome = self.create_once(thing, false).await?;
        let trail = self.follow(thing, outcome, self.kind.timeouts.create).await?;
        trail.completed("Create")?;
        if thing.name().is_empty() {
            return Err(Stop::blocked("Create was complete and gave no name"));
        }
        Ok(trail)
    }

    /// Sends one Update and follows it to the end.
    pub(crate) async fn update(
        &self,
        thing: &mut Thing,
        request: wire::UpdateRequest,
    ) -> Result<Trail, Stop> {
        let answer = self.bench.client.update(request, self.terms()).await;
        let outcome = outcome_of("Update", answer)?;
        self.follow(thing, outcome, self.kind.timeouts.update).await
    }

    /// Sends one Delete and follows it to the end.
    pub(crate) async fn delete(
        &self,
        thing: &mut Thing,
        request: wire::DeleteRequest,
    ) -> Result<Trail, Stop> {
        let answer = self.bench.client.delete(request, self.terms()).await;
        let outcome = outcome_of("Delete", answer)?;
        self.follow(thing, outcome, self.kind.timeouts.delete).await
    }
}

/// The call certainly made nothing, as far as the plugin says.
fn is_refusal(outcome: &Outcome) -> bool {
    matches!(
        &outcome.result,
        OutcomeResult::Failure(failure) if failure.effect == crossbridge_types::Effect::None
    )
}

/// How long a creation that did nothing has to wait for something else; `None`: it need not.
fn wait(outcome: &Outcome) -> Option<Duration> {
    match &outcome.result {
        OutcomeResult::Failure(failure) if failure.code == FailureCode::DependencyNotReady => {
            is_refusal(outcome).then(|| failure.retry_after.unwrap_or_default().max(PAUSE))
        }
        _ => None,
    }
}

/// A marker of nobody else.
pub(crate) fn new_marker() -> String {
    format!("cb-conformance-{}", Uuid::new_v4().simple())
}

/// A look's answer in form, or the end of the story.
pub(crate) fn look_of(answer: Result<wire::ObserveResponse, Status>) -> Result<Look, Stop> {
    let answer =
        answer.map_err(|status| Stop::blocked(format!("Observe was not processed: {}", told(&status))))?;
    Look::try_from(answer).map_err(|violation| Stop::blocked(format!("the answer to Observe: {violation}")))
}

/// An outcome in form, or the end of the story.
pub(crate) fn outcome_of<A>(method: &str, answer: Result<A, Status>) -> Result<Outcome, Stop>
where
    Outcome: TryFrom<A, Error = crossbridge_types::Violation>,
{
    let answer =
        answer.map_err(|status| Stop::blocked(format!("{method} was not processed: {}", told(&status))))?;
    Outcome::try_from(answer)
        .map_err(|violation| Stop::blocked(format!("the answer to {method}: {violation}")))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crossbridge_proto::v1alpha1 as wire;
    use crossbridge_types::Outcome;

    use super::{PAUSE, wait};

    fn failed(code: wire::FailureCode, effect: wire::Effect, retry_after: Option<i64>) -> Outcome {
        let failure = wire::Failure {
            code: code.into(),
            effect: effect.into(),
            reason: "NameRests".to_owned(),
            message: "the name rests".to_owned(),
            retry_after: retry_after.map(|seconds| prost_types::Duration { seconds, nanos: 0 }),
            ..Default::default()
        };
        let answer = wire::CreateResponse {
            outcome: Some(wire::Outcome {
                result: Some(wire::outcome::Result::Failure(failure)),
                ..Default::default()
            }),
        };
        answer.try_into().expect("it is in form")
    }

    #[test]
    fn only_what_did_nothing_and_must_wait_is_asked_for_again_and_no_sooner_than_advised() {
        use wire::{
            Effect,
            FailureCode::{AlreadyExists, DependencyNotReady},
        };
        let waits = |code, effect, after| wait(&failed(code, effect, after));
        assert_eq!(
            waits(DependencyNotReady, Effect::None, Some(60)),
            Some(Duration::from_mins(1))
        );
        assert_eq!(waits(DependencyNotReady, Effect::None, None), Some(PAUSE));
        assert_eq!(waits(DependencyNotReady, Effect::Partial, Some(60)), None);
        assert_eq!(waits(AlreadyExists, Effect::None, Some(60)), None);
    }
}
