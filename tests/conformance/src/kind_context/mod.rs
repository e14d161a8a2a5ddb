//! What a suites about one kind has at its disposal.

mod cleanup;
mod count;
mod follow;
mod list;
mod test_resource;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use crossbridge_proto::v1alpha1 as wire;
use crossbridge_types::{
    CreateRecovery, Example, Failure, FailureCode, Kind, NameSource, Observation, ObserveResult, Outcome,
    OutcomeResult,
};
use tokio::time::{Instant, sleep};
use tonic::Status;
use uuid::Uuid;

pub(crate) use follow::CallTrace;
pub(crate) use list::{list, list_all};
pub(crate) use test_resource::TestResource;

use crate::{
    client::{CallOptions, describe},
    fixtures::{NamePattern, PLACEHOLDER, desired_state, new_unique, unfill, unused_name},
    run_context::RunContext,
    verdict::Stop,
};

/// Between two observes something that is waited for.
const PAUSE: Duration = Duration::from_millis(50);

/// How often a call is sent that fails for the moment.
const TRIES: u32 = 6;

/// One kind with one of its examples.
#[derive(Debug, Clone)]
pub(crate) struct KindContext {
    pub run_ctx: RunContext,
    pub kind: Arc<Kind>,
    pub example: Example,
    /// The rules of its names.
    pub names: Arc<NamePattern>,
}

impl KindContext {
    pub(crate) fn new(run_ctx: &RunContext, kind: &Arc<Kind>, example: &Example) -> Self {
        let mut canaries = run_ctx.client.watch().canaries.clone();
        canaries.add_sensitive(example);
        // A pattern that cannot be compiled has its own assertion.
        let names = NamePattern::of(&kind.external_name).unwrap_or_default();
        Self {
            run_ctx: run_ctx.for_kind(kind, canaries),
            kind: Arc::clone(kind),
            example: example.clone(),
            names: Arc::new(names),
        }
    }

    /// A new managed resource by the kind's example. Nothing is sent yet.
    pub(crate) fn resource(&self) -> Result<TestResource, Stop> {
        let name = match self.kind.external_name.source {
            NameSource::User => self.unused_name(&self.example.external_name)?,
            NameSource::Provider | NameSource::Derived => String::new(),
        };
        Ok(self.example_named(&name))
    }

    /// The kind's example under this name.
    pub(crate) fn example_named(&self, name: &str) -> TestResource {
        let parameters = self.example.create_parameters.clone().unwrap_or_default();
        let resource = self.resource_named(name, desired_state(&parameters, &self.sensitive_values()));
        resource.with_parameters(&parameters)
    }

    pub(crate) fn resource_named(&self, name: &str, desired: wire::DesiredState) -> TestResource {
        let id = Uuid::new_v4();
        let target = wire::Target {
            resource_type: Some(self.kind.resource_type.clone().into()),
            config: Some(self.run_ctx.config()),
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
        TestResource {
            target,
            desired,
            token: Uuid::new_v4().to_string(),
            given_name: name.to_owned(),
            unique: new_unique(),
            rejected: false,
        }
    }

    /// A valid name that is unused.
    pub(crate) fn unused_name(&self, base: &str) -> Result<String, Stop> {
        let base = if base.is_empty() {
            &self.kind.external_name.example
        } else {
            base
        };
        unused_name(&self.names, base, &mut rand::rng())
            .ok_or_else(|| Stop::blocked(format!("no other name like {base:?} fits the kind's pattern")))
    }

    /// Only where the kind reports that they are sensitive.
    pub(crate) fn sensitive_values(&self) -> BTreeMap<String, String> {
        self.example.sensitive_values.clone()
    }

    pub(crate) fn recovers_by(&self, way: CreateRecovery) -> bool {
        self.kind.capabilities.create_recovery.contains(&way)
    }

    /// Whether an observation without a name is possible.
    pub(crate) fn observes_without_name(&self) -> bool {
        self.kind.external_name.source == NameSource::Derived || self.recovers_by(CreateRecovery::Marker)
    }

    /// The usual terms of a call.
    pub(crate) fn options(&self) -> CallOptions {
        CallOptions::within(self.kind.timeouts.call)
    }

    /// Observes the resource, again where that failed only for the moment. Anything but a well-formed response ends the suite.
    pub(crate) async fn observe(&self, resource: &TestResource) -> Result<ObserveResult, Stop> {
        observed(resource, self.read(resource).await)
    }

    /// The same, as the response that came.
    pub(crate) async fn read(&self, resource: &TestResource) -> Result<wire::ObserveResponse, Status> {
        let mut tries = 1;
        loop {
            let response = self
                .run_ctx
                .client
                .observe(resource.observe(), self.options())
                .await?;
            let is_momentary = match &response.result {
                Some(wire::observe_response::Result::Failure(failure)) => matches!(
                    failure.code(),
                    wire::FailureCode::Unavailable | wire::FailureCode::Throttled
                ),
                _ => false,
            };
            if !is_momentary || tries == TRIES {
                return Ok(response);
            }
            tries += 1;
            sleep(PAUSE).await;
        }
    }

    /// Sends one Observe: where its failure is what is judged.
    pub(crate) async fn observe_once(&self, resource: &TestResource) -> Result<ObserveResult, Stop> {
        let response = self
            .run_ctx
            .client
            .observe(resource.observe(), self.options())
            .await;
        observed(resource, response)
    }

    /// Observes until the resource is found or the kind's consistency window has passed; `None`: it reads as absent.
    pub(crate) async fn find(&self, resource: &TestResource) -> Result<Option<Observation>, Stop> {
        let until = Instant::now() + self.kind.capabilities.consistency_window;
        loop {
            match self.observe(resource).await? {
                ObserveResult::Found(observation) => return Ok(Some(*observation)),
                ObserveResult::Absent(_) if Instant::now() < until => sleep(PAUSE).await,
                ObserveResult::Absent(_) => return Ok(None),
                ObserveResult::Failed(failure) => {
                    return Err(Stop::blocked(format!(
                        "Observe failed: {}: {}",
                        failure.reason, failure.message
                    )));
                }
            }
        }
    }

    /// What exists, or the end of the suite.
    pub(crate) async fn expect_exists(&self, resource: &TestResource) -> Result<Observation, Stop> {
        let seen = self.find(resource).await?;
        seen.ok_or_else(|| {
            Stop::blocked(format!(
                "{:?} reads as absent though it was created",
                resource.name()
            ))
        })
    }

    /// Whether it is absent, searched for until it is or the kind's window has passed.
    pub(crate) async fn is_eventually_absent(&self, resource: &TestResource) -> Result<bool, Stop> {
        let until = Instant::now() + self.kind.capabilities.consistency_window;
        loop {
            match self.observe(resource).await? {
                ObserveResult::Absent(_) => return Ok(true),
                ObserveResult::Found(observation)
                    if observation.deleting && Instant::now() < until + self.run_ctx.operation_timeout =>
                {
                    sleep(PAUSE).await;
                }
                ObserveResult::Found(_) if Instant::now() < until => sleep(PAUSE).await,
                ObserveResult::Found(_) => return Ok(false),
                ObserveResult::Failed(failure) => {
                    return Err(Stop::blocked(format!("Observe failed: {}", failure.message)));
                }
            }
        }
    }

    /// Waits out the time in which a Create may still show.
    pub(crate) async fn wait_for_consistency(&self) {
        let capabilities = &self.kind.capabilities;
        sleep(capabilities.consistency_window + capabilities.late_margin).await;
    }

    /// Sends one Create and takes in the answer. The resource is entered for removal before. What had no effect and must wait for something
    /// else, or failed only for the moment, is asked for again, as the bridge would.
    pub(crate) async fn create_once(
        &self,
        resource: &mut TestResource,
        unknown: bool,
    ) -> Result<Outcome, Stop> {
        let until = Instant::now() + self.run_ctx.operation_timeout;
        loop {
            let outcome = self
                .create_under(resource, unknown, self.options())
                .await
                .map_err(|status| {
                    Stop::blocked(format!("Create was not processed: {}", describe(&status)))
                })??;
            match retry_delay(&outcome) {
                Some(wait) if Instant::now() + wait < until => sleep(wait).await,
                _ => return Ok(outcome),
            }
        }
    }

    /// The same under other terms: the status that came instead, or an answer out of form.
    pub(crate) async fn create_under(
        &self,
        resource: &mut TestResource,
        unknown: bool,
        options: CallOptions,
    ) -> Result<Result<Outcome, Stop>, Status> {
        self.run_ctx.registry.add(resource);
        let response = self
            .run_ctx
            .client
            .create(resource.create(unknown), options)
            .await?;
        let outcome = match Outcome::try_from(response) {
            Ok(outcome) => outcome,
            Err(violation) => return Ok(Err(Stop::blocked(format!("the answer to Create: {violation}")))),
        };
        resource.apply_outcome(&outcome);
        resource.rejected = is_rejection(&outcome);
        self.run_ctx.registry.add(resource);
        Ok(Ok(outcome))
    }

    /// Creates a new resource to completion, or ends the suite.
    pub(crate) async fn create_new(&self) -> Result<TestResource, Stop> {
        let mut resource = self.resource()?;
        self.create_to_completion(&mut resource).await?;
        Ok(resource)
    }

    /// Creates it to the end.
    pub(crate) async fn create_to_completion(&self, resource: &mut TestResource) -> Result<CallTrace, Stop> {
        let outcome = self.create_once(resource, false).await?;
        let trace = self.follow(resource, outcome, self.kind.timeouts.create).await?;
        self.created(&trace)?;
        if resource.name().is_empty() {
            return Err(Stop::blocked("Create was complete and gave no name"));
        }
        Ok(trace)
    }

    /// Whether a creation was completed; anything else ends the suite.
    pub(crate) fn created(&self, trace: &CallTrace) -> Result<(), Stop> {
        let Err(stop) = trace.completed("Create") else {
            return Ok(());
        };
        match (stop, trace.last().map(|outcome| &outcome.result)) {
            (Stop::Blocked(why), Some(OutcomeResult::Failure(failure))) => {
                Err(Stop::blocked(why + &self.advice(failure)))
            }
            (stop, _) => Err(stop),
        }
    }

    /// What an author can do about a creation that failed because of another one of the kit; else empty.
    pub(crate) fn advice(&self, failure: &Failure) -> String {
        let may_be_taken = matches!(
            failure.code,
            FailureCode::AlreadyExists | FailureCode::Conflict | FailureCode::InvalidSpec
        );
        if !may_be_taken || self.run_ctx.registry.all().len() <= 1 {
            return String::new();
        }
        format!(
            "; another resource of the kit's own exists: put {PLACEHOLDER} into what only one may have, in the example or by --fixtures"
        )
    }

    /// Sends one Update and follows it to the end.
    pub(crate) async fn update(
        &self,
        resource: &mut TestResource,
        request: wire::UpdateRequest,
    ) -> Result<CallTrace, Stop> {
        let mut tries = 1;
        let outcome = loop {
            let response = self.run_ctx.client.update(request.clone(), self.options()).await;
            let outcome = outcome_of("Update", response)?;
            match again(&outcome, tries) {
                Some(wait) => sleep(wait).await,
                None => break outcome,
            }
            tries += 1;
        };
        self.follow(resource, outcome, self.kind.timeouts.update).await
    }

    /// Sends one Delete and follows it to the end.
    pub(crate) async fn delete(
        &self,
        resource: &mut TestResource,
        request: wire::DeleteRequest,
    ) -> Result<CallTrace, Stop> {
        let mut tries = 1;
        let outcome = loop {
            let response = self.run_ctx.client.delete(request.clone(), self.options()).await;
            let outcome = outcome_of("Delete", response)?;
            match again(&outcome, tries) {
                Some(wait) => sleep(wait).await,
                None => break outcome,
            }
            tries += 1;
        };
        self.follow(resource, outcome, self.kind.timeouts.delete).await
    }
}

/// The call certainly created nothing, as far as the plugin reports.
fn is_rejection(outcome: &Outcome) -> bool {
    matches!(
        &outcome.result,
        OutcomeResult::Failure(failure) if failure.effect == crossbridge_types::Effect::None
    )
}

/// How long a creation that did nothing has to wait for something else; `None`: it need not.
fn retry_delay(outcome: &Outcome) -> Option<Duration> {
    match &outcome.result {
        OutcomeResult::Failure(failure) if failure.code == FailureCode::DependencyNotReady => {
            is_rejection(outcome).then(|| pause(failure))
        }
        OutcomeResult::Failure(failure) if is_momentary(failure) => {
            is_rejection(outcome).then(|| pause(failure))
        }
        _ => None,
    }
}

/// By its code, the same call may succeed the next time: an upstream that fails now and then is no reason to judge nothing.
fn is_momentary(failure: &Failure) -> bool {
    matches!(failure.code, FailureCode::Unavailable | FailureCode::Throttled)
}

/// As advised.
fn pause(failure: &Failure) -> Duration {
    failure.retry_after.unwrap_or_default().max(PAUSE)
}

/// After how long an Update, a Delete or a poll is sent again, as it failed only for the moment; each of them may be. `None`: its answer counts.
fn again(outcome: &Outcome, tries: u32) -> Option<Duration> {
    match &outcome.result {
        OutcomeResult::Failure(failure) if is_momentary(failure) && tries < TRIES => Some(pause(failure)),
        _ => None,
    }
}

/// A marker of no one else.
pub(crate) fn new_marker() -> String {
    format!("cb-conformance-{}", Uuid::new_v4().simple())
}

/// The observation in the words of the kind's example.
fn observed(
    resource: &TestResource,
    response: Result<wire::ObserveResponse, Status>,
) -> Result<ObserveResult, Stop> {
    let mut result = observation_of(response)?;
    if let ObserveResult::Found(found) = &mut result {
        found.parameters = unfill(&found.parameters, &resource.unique);
    }
    Ok(result)
}

/// A well-formed response to Observe, or the end of the suite.
pub(crate) fn observation_of(response: Result<wire::ObserveResponse, Status>) -> Result<ObserveResult, Stop> {
    let response = response
        .map_err(|status| Stop::blocked(format!("Observe was not processed: {}", describe(&status))))?;
    ObserveResult::try_from(response)
        .map_err(|violation| Stop::blocked(format!("the answer to Observe: {violation}")))
}

/// An outcome in form, or the end of the suite.
pub(crate) fn outcome_of<A>(method: &str, response: Result<A, Status>) -> Result<Outcome, Stop>
where
    Outcome: TryFrom<A, Error = crossbridge_types::Violation>,
{
    let response = response
        .map_err(|status| Stop::blocked(format!("{method} was not processed: {}", describe(&status))))?;
    Outcome::try_from(response)
        .map_err(|violation| Stop::blocked(format!("the answer to {method}: {violation}")))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crossbridge_proto::v1alpha1 as wire;
    use crossbridge_types::Outcome;

    use super::{PAUSE, retry_delay};

    fn failed(code: wire::FailureCode, effect: wire::Effect, retry_after: Option<i64>) -> Outcome {
        let failure = wire::Failure {
            code: code.into(),
            effect: effect.into(),
            reason: "NameRests".to_owned(),
            message: "the name rests".to_owned(),
            retry_after: retry_after.map(|seconds| prost_types::Duration { seconds, nanos: 0 }),
            ..Default::default()
        };
        let response = wire::CreateResponse {
            outcome: Some(wire::Outcome {
                result: Some(wire::outcome::Result::Failure(failure)),
                ..Default::default()
            }),
        };
        response.try_into().expect("it is in form")
    }

    #[test]
    fn a_create_without_effect_is_retried_after_its_advised_delay() {
        use wire::{
            Effect,
            FailureCode::{AlreadyExists, DependencyNotReady, Unavailable},
        };
        let waits = |code, effect, after| retry_delay(&failed(code, effect, after));
        assert_eq!(
            waits(DependencyNotReady, Effect::None, Some(60)),
            Some(Duration::from_mins(1))
        );
        assert_eq!(waits(DependencyNotReady, Effect::None, None), Some(PAUSE));
        assert_eq!(waits(DependencyNotReady, Effect::Partial, Some(60)), None);
        assert_eq!(waits(AlreadyExists, Effect::None, Some(60)), None);
        assert_eq!(waits(Unavailable, Effect::None, None), Some(PAUSE));
        assert_eq!(waits(Unavailable, Effect::Unknown, None), None);
    }
}
