//! The parts of an answer that are judged wherever they occur.

use crossbridge_proto::v1alpha1::{self as wire, observe_response, outcome};
use crossbridge_types::{self as types, KindPage, ObserveResult, PluginInfo, Violation};
use prost::Message;

/// What an answer holds, seen through its message type.
#[derive(Debug, Default)]
pub(crate) struct Parts<'a> {
    pub failures: Vec<&'a wire::Failure>,
    pub operations: Vec<&'a wire::Operation>,
    /// Operations that an observation found running, whichever call began them.
    pub found_operations: Vec<&'a wire::Operation>,
    pub external_names: Vec<&'a str>,
    pub provider_states: Vec<&'a str>,
    pub connection_keys: Vec<&'a str>,
    /// Messages and the like.
    pub texts: Vec<&'a str>,
}

impl<'a> Parts<'a> {
    fn observation(&mut self, observation: &'a wire::Observation) {
        self.external_names.push(&observation.external_name);
        self.provider_states.push(&observation.provider_state);
        self.connection_keys
            .extend(observation.connection_details.keys().map(String::as_str));
        self.found_operations.extend(&observation.operation);
        self.texts.push(&observation.ready_message);
        self.warnings(&observation.warnings);
        observation
            .operation
            .iter()
            .for_each(|operation| self.texts.push(&operation.message));
    }

    fn warnings(&mut self, warnings: &'a [wire::Warning]) {
        self.texts
            .extend(warnings.iter().map(|warning| warning.message.as_str()));
    }

    fn failure(&mut self, failure: &'a wire::Failure) {
        self.failures.push(failure);
        self.texts.extend([
            &*failure.message,
            &failure.upstream_code,
            &failure.upstream_request_id,
        ]);
        self.texts.extend(
            failure
                .violations
                .iter()
                .map(|violation| violation.message.as_str()),
        );
    }

    fn outcome(&mut self, outcome: &'a wire::Outcome) {
        self.warnings(&outcome.warnings);
        self.external_names.push(&outcome.external_name);
        self.provider_states.push(&outcome.provider_state);
        self.connection_keys
            .extend(outcome.connection_details.keys().map(String::as_str));
        match &outcome.result {
            Some(outcome::Result::Completed(completed)) => {
                completed
                    .observation
                    .iter()
                    .for_each(|seen| self.observation(seen));
            }
            Some(outcome::Result::Operation(operation)) => {
                self.operations.push(operation);
                self.texts.push(&operation.message);
            }
            Some(outcome::Result::Failure(failure)) => self.failure(failure),
            None => {}
        }
    }
}

/// An answer of the contract.
pub(crate) trait ResponseMessage: Message + Clone {
    /// What is judged wherever it occurs.
    fn parts(&self) -> Parts<'_>;
    /// The first rule that it breaks by itself.
    fn violation(&self) -> Option<Violation>;
    /// Takes out what may hold secrets.
    fn hide_secrets(&mut self);
}

fn hide_in_outcome(outcome: Option<&mut wire::Outcome>) {
    let Some(outcome) = outcome else { return };
    outcome.connection_details.clear();
    if let Some(outcome::Result::Completed(completed)) = &mut outcome.result
        && let Some(observation) = &mut completed.observation
    {
        observation.connection_details.clear();
    }
}

macro_rules! outcome_answers {
    ($($response:ident),*) => {
        $(
            impl ResponseMessage for wire::$response {
                fn parts(&self) -> Parts<'_> {
                    let mut parts = Parts::default();
                    self.outcome.iter().for_each(|outcome| parts.outcome(outcome));
                    parts
                }

                fn violation(&self) -> Option<Violation> {
                    types::Outcome::try_from(self.clone()).err()
                }

                fn hide_secrets(&mut self) {
                    hide_in_outcome(self.outcome.as_mut());
                }
            }
        )*
    };
}

outcome_answers!(
    CreateResponse,
    UpdateResponse,
    DeleteResponse,
    PollOperationResponse
);

impl ResponseMessage for wire::ObserveResponse {
    fn parts(&self) -> Parts<'_> {
        let mut parts = Parts::default();
        match &self.result {
            Some(observe_response::Result::Observation(observation)) => parts.observation(observation),
            Some(observe_response::Result::Failure(failure)) => parts.failure(failure),
            // A derived name follows today's desired state, so that it may differ from the one that was asked for.
            Some(observe_response::Result::Absent(_)) | None => {}
        }
        parts
    }

    fn violation(&self) -> Option<Violation> {
        ObserveResult::try_from(self.clone()).err()
    }

    fn hide_secrets(&mut self) {
        if let Some(observe_response::Result::Observation(observation)) = &mut self.result {
            observation.connection_details.clear();
        }
    }
}

/// Answers without connection details.
macro_rules! plain_answers {
    ($($response:ident: $parts:expr, $checked:ty;)*) => {
        $(
            impl ResponseMessage for wire::$response {
                fn parts(&self) -> Parts<'_> {
                    let failures: fn(&Self) -> Option<&wire::Failure> = $parts;
                    let mut parts = Parts::default();
                    if let Some(failure) = failures(self) {
                        parts.failure(failure);
                    }
                    parts
                }

                fn violation(&self) -> Option<Violation> {
                    <$checked>::try_from(self.clone()).err()
                }

                fn hide_secrets(&mut self) {}
            }
        )*
    };
}

plain_answers! {
    GetPluginInfoResponse: |_| None, PluginInfo;
    ListResourceKindsResponse: |_| None, KindPage;
    GetResourceKindResponse: |_| None, types::Kind;
    CheckConfigResponse: |response| response.failure.as_ref(), types::ConfigVerdict;
    ListExternalResponse: |response| response.failure.as_ref(), Result<types::Listed, types::Failure>;
}
