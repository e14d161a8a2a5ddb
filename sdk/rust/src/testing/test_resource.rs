//! One managed resource: what a bridge would know of it, and the calls that it would send.

use std::{marker::PhantomData, sync::Arc, time::Duration};

use crossbridge_proto::v1alpha1::{self as wire, resource_service_server::ResourceService};
use crossbridge_types::{
    Call, DesiredState, Document, Kind, ObserveResult, Outcome, OutcomeResult, Owner, ResourceType, Secrets,
    Target, Verb, Violation,
};
use jiff::Timestamp;
use serde::Serialize;
use tokio::time::{Instant, sleep};
use tonic::{Request, Response, Status};
use uuid::Uuid;

use super::{
    Answer, Harness, ObserveAnswer,
    harness::{out_of_form, written},
};
use crate::Resource;

/// Between two polls, where the operation sets no `poll_after`.
const PAUSE: Duration = Duration::from_millis(10);

/// How long an operation is followed, where the kind sets no limit.
const PATIENCE: Duration = Duration::from_mins(1);

/// One managed resource in the test's hands. Beside its desired state it holds what the plugin's answers reported, and what a bridge
/// stores: the token, the external name, the provider state, the etag, the handle of an operation. A call that is dropped teaches it
/// nothing.
pub struct TestResource<'harness, R: Resource> {
    pub(super) harness: &'harness Harness,
    pub(super) kind: Kind,
    pub(super) target: Target,
    desired: DesiredState,
    /// Of its creation: the same at every repeat.
    token: String,
    /// The name that its creation is sent with; empty where the user does not give it.
    given_name: String,
    etag: String,
    /// Handle of the operation that runs; empty: none.
    handle: String,
    resource: PhantomData<fn() -> R>,
}

impl Harness {
    /// A managed resource of this kind of this desired state, a value or JSON, that is not created yet.
    ///
    /// # Panics
    /// If the plugin does not serve the kind, or the desired state is no JSON object.
    #[track_caller]
    pub fn resource<R: Resource>(&self, parameters: &impl Serialize) -> TestResource<'_, R> {
        let declared = R::kind().wire.resource_type.unwrap_or_default();
        let resource_type = ResourceType {
            group: declared.group,
            version: declared.version,
            kind: declared.kind,
        };
        let kind = match self.service().kind(&resource_type) {
            Ok(kind) => kind.published().rules.clone(),
            Err(failure) => panic!("{failure}"),
        };
        TestResource::new(self, kind, written(parameters, "desired state"))
    }
}

impl<'harness, R: Resource> TestResource<'harness, R> {
    fn new(harness: &'harness Harness, kind: Kind, parameters: Document) -> Self {
        let uid = Uuid::new_v4();
        let namespace = if kind.namespaced { "lab" } else { "" };
        Self {
            harness,
            target: Target {
                resource_type: kind.resource_type.clone(),
                config: Arc::new(harness.config().clone()),
                owner: Owner {
                    namespace: namespace.to_owned(),
                    name: "thing".to_owned(),
                    uid: uid.to_string(),
                    generation: 1,
                },
                external_name: String::new(),
                ownership_marker: format!("cb-lab-{}", uid.simple()),
                former_marker: String::new(),
                provider_state: String::new(),
            },
            kind,
            desired: DesiredState {
                parameters,
                sensitive: Secrets::default(),
            },
            token: Uuid::new_v4().to_string(),
            given_name: String::new(),
            etag: String::new(),
            handle: String::new(),
            resource: PhantomData,
        }
    }

    /// The external name that the user gives.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        name.clone_into(&mut self.given_name);
        name.clone_into(&mut self.target.external_name);
        self
    }

    /// The value of a sensitive field, by its JSON Pointer.
    #[must_use]
    pub fn sensitive(mut self, pointer: &str, value: &str) -> Self {
        let values = &mut self.desired.sensitive.0;
        values.insert(pointer.to_owned(), value.as_bytes().to_vec());
        self
    }

    /// Replaces the desired parameters from now on, a value or JSON.
    ///
    /// # Panics
    /// If it is no JSON object.
    #[track_caller]
    pub fn set_parameters(&mut self, parameters: &impl Serialize) {
        self.desired.parameters = written(parameters, "desired state");
        self.target.owner.generation += 1;
    }

    /// Lets another replica take the calls from now on: what it knows is what the contract's fields carry.
    pub fn on(&mut self, replica: &'harness Harness) {
        self.harness = replica;
    }

    /// The name that is known by now; empty: none.
    pub fn external_name(&self) -> &str {
        &self.target.external_name
    }

    /// The marker that its calls carry.
    pub fn ownership_marker(&self) -> &str {
        &self.target.ownership_marker
    }

    /// The token of its creation.
    pub fn client_request_token(&self) -> &str {
        &self.token
    }

    /// What the plugin last gave to be handed back; empty: nothing.
    pub fn provider_state(&self) -> &str {
        &self.target.provider_state
    }

    /// Sends Observe, and keeps the name, state and etag of the answer.
    pub async fn observe(&mut self) -> ObserveAnswer<R> {
        let request = wire::ObserveRequest::of(&self.target, &self.desired);
        let answer = match request {
            Ok(request) => self.harness.service().observe(self.request(request)).await,
            Err(violation) => Err(Status::invalid_argument(violation.to_string())),
        };
        let look = read::<_, ObserveResult>(answer);
        if let Ok(ObserveResult::Found(observation)) = &look {
            self.learn_name(&observation.external_name);
            self.learn_state(&observation.provider_state);
            self.etag.clone_from(&observation.etag);
        }
        ObserveAnswer::new(look)
    }

    /// Asks for its creation, for the first time.
    pub async fn create(&mut self) -> Answer {
        self.create_once(false).await
    }

    /// Asks again, as a bridge that does not know how the first call ended.
    pub async fn repeat(&mut self) -> Answer {
        self.create_once(true).await
    }

    async fn create_once(&mut self, outcome_unknown: bool) -> Answer {
        let mut call = Call {
            token: self.token.clone(),
            outcome_unknown,
            ..self.call(Verb::Create)
        };
        call.target.external_name.clone_from(&self.given_name);
        let answer = self.harness.service().create(self.send(&call)).await;
        self.learned(answer)
    }

    /// Sends Update with the desired state.
    pub async fn update(&mut self) -> Answer {
        let call = Call {
            etag: self.etag.clone(),
            ..self.call(Verb::Update)
        };
        let answer = self.harness.service().update(self.send(&call)).await;
        self.learned(answer)
    }

    /// Sends Delete, which may answer with an operation to follow.
    pub async fn delete(&mut self) -> Answer {
        let call = Call {
            etag: self.etag.clone(),
            ..self.call(Verb::Delete)
        };
        let answer = self.harness.service().delete(self.send(&call)).await;
        self.learned(answer)
    }

    /// Asks once where the operation has got to.
    pub async fn poll(&mut self) -> Answer {
        let call = Call {
            handle: self.handle.clone(),
            ..self.call(Verb::Poll)
        };
        let answer = self.harness.service().poll_operation(self.send(&call)).await;
        self.learned(answer)
    }

    fn call(&self, verb: Verb) -> Call {
        Call::new(verb, self.target.clone(), self.desired.clone(), Timestamp::MAX)
    }

    /// The request of a call. Sensitive values are text here: they were given as such.
    #[track_caller]
    fn send<W>(&self, call: &Call) -> Request<W>
    where
        W: for<'a> TryFrom<&'a Call, Error = Violation>,
    {
        match W::try_from(call) {
            Ok(request) => self.request(request),
            Err(violation) => panic!("the call cannot be sent: {violation}"),
        }
    }

    /// Polls until the operation has ended, no sooner than it asks to be; the last answer. What is no operation is its own end.
    ///
    /// # Panics
    /// If it does not end within the kind's timeout of creations, or a minute.
    pub async fn follow(&mut self, first: Answer) -> Answer {
        let limit = self.kind.timeouts.create.unwrap_or(PATIENCE);
        let until = Instant::now() + limit;
        let mut answer = first;
        while let Ok(outcome) = &answer.0
            && let OutcomeResult::Operation(operation) = &outcome.result
        {
            assert!(
                Instant::now() < until,
                "the operation did not end within {limit:?}: {operation:?}"
            );
            sleep(operation.poll_after.unwrap_or(PAUSE)).await;
            answer = self.poll().await;
        }
        answer
    }

    fn request<W>(&self, message: W) -> Request<W> {
        let mut request = Request::new(message);
        request.set_timeout(self.kind.timeouts.call);
        request
    }

    /// Takes in what a bridge would store.
    fn learned<W>(&mut self, answer: Result<Response<W>, Status>) -> Answer
    where
        Outcome: TryFrom<W, Error = Violation>,
    {
        let outcome = read::<_, Outcome>(answer);
        if let Ok(outcome) = &outcome {
            self.learn_name(&outcome.external_name);
            self.learn_state(&outcome.provider_state);
            self.handle.clear();
            match &outcome.result {
                OutcomeResult::Failure(_) => {}
                OutcomeResult::Operation(operation) => {
                    self.handle.clone_from(&operation.handle);
                    self.etag.clear();
                }
                OutcomeResult::Completed(completed) => {
                    let observed = completed.observation.as_ref();
                    self.etag = observed.map_or_else(String::new, |observation| observation.etag.clone());
                }
            }
        }
        Answer(outcome)
    }

    pub(super) fn learn_name(&mut self, name: &str) {
        if self.target.external_name.is_empty() {
            name.clone_into(&mut self.target.external_name);
        }
    }

    /// Unset keeps the former one.
    fn learn_state(&mut self, state: &str) {
        if !state.is_empty() {
            state.clone_into(&mut self.target.provider_state);
        }
    }
}

fn read<W, T: TryFrom<W, Error = Violation>>(answer: Result<Response<W>, Status>) -> Result<T, Status> {
    T::try_from(answer?.into_inner()).map_err(|violation| out_of_form(&violation))
}
