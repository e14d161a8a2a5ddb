//! Keeps the secrets of a call out of what leaves the plugin.

use crossbridge_types::{
    Config, Failure, Observation, ObserveResult, Operation, Outcome, OutcomeResult, Rule, Secrets, Violation,
    Warning,
};
use tonic::Status;

/// Shorter ones occur by chance.
const SHORTEST: usize = 6;

/// What stands in their place.
const REDACTED: &str = "[redacted]";

/// The credentials and sensitive values of one call. Has no `Debug`.
#[derive(Default)]
pub(super) struct Redaction(Vec<String>);

impl Redaction {
    /// Those of a config, and of a desired state.
    pub(super) fn of(config: &Config, sensitive: &Secrets) -> Self {
        let values = config.credentials.0.values().chain(sensitive.0.values());
        // A key that was read from a file may end in a line break that texts leave out.
        let mut secrets: Vec<String> = values
            .filter_map(|value| std::str::from_utf8(value).ok())
            .flat_map(|value| [value, value.trim()])
            .filter(|value| value.len() >= SHORTEST)
            .map(str::to_owned)
            .collect();
        // One may hold another: the longest goes first.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.dedup();
        Self(secrets)
    }

    fn text(&self, text: &mut String) {
        for secret in &self.0 {
            if text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), REDACTED);
            }
        }
    }

    pub(super) fn failure(&self, failure: &mut Failure) {
        self.text(&mut failure.message);
        for violation in &mut failure.violations {
            self.text(&mut violation.message);
        }
    }

    pub(super) fn status(&self, status: Status) -> Status {
        let mut message = status.message().to_owned();
        self.text(&mut message);
        if message == status.message() {
            return status;
        }
        Status::new(status.code(), message)
    }

    pub(super) fn outcome(&self, outcome: &mut Outcome) {
        self.warnings(&mut outcome.warnings);
        match &mut outcome.result {
            OutcomeResult::Failure(failure) => self.failure(failure),
            OutcomeResult::Operation(operation) => self.text(&mut operation.message),
            OutcomeResult::Completed(completed) => {
                if let Some(observation) = &mut completed.observation {
                    self.observation(observation);
                }
            }
        }
    }

    pub(super) fn observe_result(&self, result: &mut ObserveResult) {
        match result {
            ObserveResult::Found(observation) => self.observation(observation),
            ObserveResult::Failed(failure) => self.failure(failure),
            ObserveResult::Absent(_) => {}
        }
    }

    fn observation(&self, observation: &mut Observation) {
        self.text(&mut observation.ready_message);
        self.warnings(&mut observation.warnings);
        if let Some(operation) = &mut observation.operation {
            self.text(&mut operation.message);
        }
    }

    fn warnings(&self, warnings: &mut [Warning]) {
        for warning in warnings {
            self.text(&mut warning.message);
        }
    }

    /// Whatever stands for the answer to a call.
    pub(super) fn any(&self, failure: crate::Failure) -> crate::Failure {
        match failure.into_types() {
            Ok(mut failure) => {
                self.failure(&mut failure);
                crate::Failure::of(failure)
            }
            Err(status) => crate::Failure::status(self.status(status)),
        }
    }

    /// Checks that no handle and no state holds a secret: the bridge stores both in the open.
    pub(super) fn check_outcome(&self, outcome: &Outcome) -> Result<(), Violation> {
        self.check(&outcome.provider_state, "provider_state")?;
        match &outcome.result {
            OutcomeResult::Operation(operation) => self
                .check_operation(operation)
                .map_err(|violation| violation.within("operation")),
            OutcomeResult::Completed(completed) => match &completed.observation {
                Some(observation) => self
                    .check_observation(observation)
                    .map_err(|violation| violation.within("completed.observation")),
                None => Ok(()),
            },
            OutcomeResult::Failure(_) => Ok(()),
        }
    }

    /// Likewise.
    pub(super) fn check_observation(&self, observation: &Observation) -> Result<(), Violation> {
        self.check(&observation.provider_state, "provider_state")?;
        match &observation.operation {
            Some(operation) => self
                .check_operation(operation)
                .map_err(|violation| violation.within("operation")),
            None => Ok(()),
        }
    }

    fn check_operation(&self, operation: &Operation) -> Result<(), Violation> {
        self.check(&operation.handle, "handle")
    }

    fn check(&self, text: &str, field: &str) -> Result<(), Violation> {
        if self.0.iter().any(|secret| text.contains(secret.as_str())) {
            let why = "it holds a credential or a sensitive value of the call".to_owned();
            return Err(Violation::new(field, Rule::NotAllowed { why }));
        }
        Ok(())
    }
}
