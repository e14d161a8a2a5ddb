//! Kinds as the services see them: the typed trait behind an untyped one.

use std::collections::BTreeMap;

use async_trait::async_trait;
use crossbridge_types::{
    self as types, Absent, Completed, Document, ObserveResult, OperationVerb, ResourceType, Secrets, Verb,
    Violation,
};
use serde_json::Value;

use crate::{
    Call, ConfigCall, Create, Delete, Desired, Failure, Known, List, Listed, Observation, Observed, Outcome,
    Poll, Resource, Update, answer::OutcomeResult, document, kind::PublishedKind, service::broken,
};

/// A kind whose types are hidden. Answers hold what the author said; [`types::Outcome::check`] is the caller's matter.
#[async_trait]
pub(crate) trait ServedKind: Send + Sync {
    fn published(&self) -> &PublishedKind;
    async fn observe(&self, call: &Call, request: types::Observe) -> Result<ObserveResult, Failure>;
    /// Serves a call that may change something, or a poll.
    async fn execute(&self, call: &Call, request: types::Call) -> Result<types::Outcome, Failure>;
    async fn list(&self, call: &ConfigCall, request: List) -> Result<types::Listed, Failure>;
}

/// All kinds of a plugin, in the order of their types.
pub(crate) type Kinds = BTreeMap<ResourceType, Box<dyn ServedKind>>;

/// A kind with the author's code that serves it.
pub(crate) struct Served<R: Resource> {
    resource: R,
    published: PublishedKind,
}

impl<R: Resource> Served<R> {
    pub(crate) fn new(resource: R, published: PublishedKind) -> Self {
        Self { resource, published }
    }

    fn parameters(&self, parameters: &R::Parameters) -> Result<Document, Violation> {
        let mut document = document::write(parameters, "parameters")?;
        for path in self.published.sensitive_paths() {
            document::remove(&mut document, path);
        }
        Ok(document)
    }

    fn observation(
        &self,
        observation: Observation<R>,
        desired: Option<&Document>,
    ) -> Result<types::Observation, Violation> {
        let parameters = self.parameters(&observation.parameters)?;
        let status = observation
            .status
            .map(|status| document::write(&status, "status"))
            .transpose()?;
        let value = |document: Option<&Document>, path: &str| -> Option<Value> {
            document.and_then(|document| document::at(document, path).cloned())
        };
        let diffs = observation
            .diffs
            .into_iter()
            .map(|diff| types::FieldDiff {
                desired: value(desired, &diff.path),
                observed: value(Some(&parameters), &diff.path),
                path: diff.path,
                needs_replacement: diff.needs_replacement,
            })
            .collect();
        Ok(types::Observation {
            external_name: observation.external_name,
            canonical_id: observation.canonical_id,
            provider_state: observation.provider_state,
            status,
            ready: observation.ready,
            ready_message: observation.ready_message,
            up_to_date: observation.up_to_date,
            diffs,
            connection_details: observation.connection_details,
            etag: observation.etag,
            deleting: observation.deleting,
            operation: observation.operation.map(crate::Operation::into_types),
            found_marker: observation.found_marker,
            observe_after: observation.observe_after,
            warnings: observation.warnings,
            parameters,
        })
    }

    /// The name, id, state and details of an observation become the outcome's, where it has none of its own.
    fn outcome(
        &self,
        call: &Call,
        verb: Option<OperationVerb>,
        outcome: Outcome<R>,
        desired: Option<&Document>,
    ) -> Result<types::Outcome, Failure> {
        let mut answer = types::Outcome {
            external_name: outcome.external_name,
            canonical_id: outcome.canonical_id,
            provider_state: outcome.provider_state,
            connection_details: outcome.connection_details,
            warnings: outcome.warnings,
            result: types::OutcomeResult::Completed(Box::default()),
        };
        answer.result = match outcome.result {
            OutcomeResult::Operation(operation) => types::OutcomeResult::Operation(operation.into_types()),
            OutcomeResult::Failure(failure) => {
                // A status would leave out what may be given only once.
                let failure = if answer.external_name.is_empty() && !call.has_news(verb) {
                    failure
                } else {
                    failure.after_name()
                };
                failure.report(Some(&self.published.source));
                // A call that was not processed has no outcome: the status stands alone.
                types::OutcomeResult::Failure(failure.into_types().map_err(Failure::status)?)
            }
            OutcomeResult::Completed {
                observation,
                already_done,
            } => {
                let observation = observation
                    .map(|observation| self.completed_observation(*observation, desired, &mut answer))
                    .transpose();
                match observation {
                    Ok(observation) => types::OutcomeResult::Completed(Box::new(Completed {
                        observation,
                        already_done,
                    })),
                    Err(violation) => {
                        // What may be given only once goes along, and nothing else.
                        answer.provider_state.clear();
                        answer.warnings.clear();
                        let failure = self.broken(&violation.within("completed.observation"));
                        types::OutcomeResult::Failure(failure.into_types().map_err(Failure::status)?)
                    }
                }
            }
        };
        Ok(answer)
    }

    fn broken(&self, violation: &Violation) -> Failure {
        broken(violation, Some(&self.published))
    }

    fn completed_observation(
        &self,
        mut observation: Observation<R>,
        desired: Option<&Document>,
        outcome: &mut types::Outcome,
    ) -> Result<types::Observation, Violation> {
        let or = |own: &mut String, observed: &mut String| {
            let observed = std::mem::take(observed);
            if own.is_empty() {
                *own = observed;
            }
        };
        or(&mut outcome.external_name, &mut observation.external_name);
        or(&mut outcome.canonical_id, &mut observation.canonical_id);
        or(&mut outcome.provider_state, &mut observation.provider_state);
        let Secrets(observed) = std::mem::take(&mut observation.connection_details);
        for (key, value) in observed {
            outcome.connection_details.0.entry(key).or_insert(value);
        }
        outcome.warnings.append(&mut observation.warnings);
        self.observation(observation, desired)
    }
}

fn desired<P: serde::de::DeserializeOwned>(desired: types::DesiredState) -> Result<Desired<P>, Failure> {
    Ok(Desired {
        parameters: document::read_parameters(&desired.parameters)?,
        json: desired.parameters,
        sensitive: desired.sensitive,
    })
}

/// Reads a desired state that may be incomplete.
fn known<P: serde::de::DeserializeOwned>(desired: types::DesiredState) -> Known<P> {
    let parameters = document::read_parameters(&desired.parameters)
        .inspect_err(|failure: &Failure| tracing::debug!(%failure, "the desired state is incomplete"))
        .ok();
    Desired {
        parameters,
        json: desired.parameters,
        sensitive: desired.sensitive,
    }
}

#[async_trait]
impl<R: Resource> ServedKind for Served<R> {
    fn published(&self) -> &PublishedKind {
        &self.published
    }

    async fn observe(&self, call: &Call, request: types::Observe) -> Result<ObserveResult, Failure> {
        let desired = known(request.desired);
        Ok(match self.resource.observe(call, &desired).await? {
            Observed::Found(observation) => {
                let observation = self.observation(*observation, Some(&desired.json));
                ObserveResult::Found(Box::new(
                    observation.map_err(|violation| self.broken(&violation.within("observation")))?,
                ))
            }
            Observed::Absent { external_name } => ObserveResult::Absent(Absent { external_name }),
        })
    }

    async fn execute(&self, call: &Call, request: types::Call) -> Result<types::Outcome, Failure> {
        let verb = request.operation_verb();
        match request.verb {
            Verb::Create => {
                let create = Create {
                    desired: desired(request.desired)?,
                    client_request_token: request.token,
                    outcome_unknown: request.outcome_unknown,
                };
                let outcome = self.resource.create(call, &create).await?;
                self.outcome(call, verb, outcome, Some(&create.desired.json))
            }
            Verb::Update => {
                let update = Update {
                    desired: desired(request.desired)?,
                    changed_paths: request.changed_paths,
                    etag: request.etag,
                };
                let outcome = self.resource.update(call, &update).await?;
                self.outcome(call, verb, outcome, Some(&update.desired.json))
            }
            Verb::Delete => {
                let delete = Delete {
                    desired: known(request.desired),
                    etag: request.etag,
                };
                let outcome = self.resource.delete(call, &delete).await?;
                self.outcome(call, verb, outcome, None)
            }
            Verb::Poll => {
                let poll = Poll {
                    handle: request.handle,
                    desired: known(request.desired),
                };
                let outcome = self.resource.poll(call, &poll).await?;
                self.outcome(call, verb, outcome, Some(&poll.desired.json))
            }
            Verb::Observe => Err(Failure::unimplemented()),
        }
    }

    async fn list(&self, call: &ConfigCall, request: List) -> Result<types::Listed, Failure> {
        let Listed {
            items,
            next_page_token,
            unreachable,
        } = self.resource.list(call, &request).await?;
        let items = items
            .into_iter()
            .enumerate()
            .map(|(index, item)| {
                Ok(types::ListedItem {
                    parameters: item
                        .parameters
                        .map(|parameters| self.parameters(&parameters))
                        .transpose()
                        .map_err(|violation| self.broken(&violation.within(format!("items[{index}]"))))?,
                    external_name: item.external_name,
                    canonical_id: item.canonical_id,
                    display_name: item.display_name,
                    found_marker: item.found_marker,
                })
            })
            .collect::<Result<_, Failure>>()?;
        Ok(types::Listed {
            items,
            next_page_token,
            unreachable,
        })
    }
}
