//! The calls of a reconcile to its plugin, and what their answers say of more than its object.

use bridge_core::{
    external::{Answer, CallError, Failure, ObserveResult, OutcomeResult, Verb},
    managed::{Call, ObserveCall, Reaction, Snapshot, reaction},
    reasons::WarningEvent,
};
use jiff::Timestamp;

use super::{pass::ManagedDriver, reconciler::ManagedReconciler};
use crate::{event::EventType, object::Object};

impl ManagedReconciler {
    pub(super) async fn observe(
        &self,
        driver: &ManagedDriver,
        object: &Object,
        asked: &ObserveCall,
    ) -> Result<ObserveResult, CallError> {
        let began = driver.began().unwrap_or_else(|| self.shared.clock.now());
        let look = self
            .external
            .observe(&asked.target, &asked.desired, began + self.kind.timeouts.call)
            .await;
        if let Some(snapshot) = driver.snapshot() {
            match &look {
                Ok(ObserveResult::Failed(failure)) => self.record_failure_reach(snapshot, failure, began),
                Ok(_) => self.worked(snapshot, began),
                Err(error) => self.report_unreachable(object, error),
            }
        }
        look
    }

    pub(super) async fn call(&self, driver: &ManagedDriver, object: &Object, call: &Call) -> Answer {
        let began = driver.began().unwrap_or_else(|| self.shared.clock.now());
        let answer = self.external.execute(call).await;
        // The name that came with the answer: a person can find the resource by it, whatever becomes of this process.
        let named = answer
            .as_ref()
            .map_or("", |outcome| outcome.external_name.as_str());
        let name = if named.is_empty() {
            &call.target.external_name
        } else {
            named
        };
        tracing::info!(verb = ?call.verb, external_name = name, outcome = %summary(&answer), "called");
        let Some(snapshot) = driver.snapshot() else {
            return answer;
        };
        match answer.as_ref().map(|outcome| &outcome.result) {
            Ok(OutcomeResult::Failure(failure)) => self.record_failure_reach(snapshot, failure, began),
            Ok(OutcomeResult::Completed(_) | OutcomeResult::Operation(_)) => {
                self.worked(snapshot, began);
                if call.verb == Verb::Update {
                    self.shared.counts.updated(object.uid(), self.shared.clock.now());
                }
            }
            Err(error) => self.report_unreachable(object, error),
        }
        answer
    }

    /// One event for all objects of a config: a plugin that is away is no news of each of them.
    fn report_unreachable(&self, object: &Object, error: &CallError) {
        if !matches!(error, CallError::Unreachable { .. }) {
            return;
        }
        let reason = WarningEvent::PluginUnavailable.as_str();
        let configs = self.configs.references(object);
        for config in configs.iter().filter_map(|key| self.shared.store.get(key)) {
            self.shared
                .events
                .record(&config, EventType::Warning, reason, &error.to_string());
        }
    }

    /// Takes in a failure that reaches further than its object.
    fn record_failure_reach(&self, snapshot: &Snapshot, failure: &Failure, began: Timestamp) {
        let Ok(config) = &snapshot.config else { return };
        match reaction(failure.code) {
            Reaction::SuspendConfig | Reaction::RereadCredentials => {
                self.configs.rejected(config, failure, began);
            }
            Reaction::SuspendGroup => {
                let group = &self.kind.capabilities.rate_limit_group;
                let (suspensions, jitter) = (&self.shared.suspensions, snapshot.fresh.jitter);
                suspensions.throttled(config, group, failure, began, self.shared.clock.now(), jitter);
            }
            Reaction::WaitForUser
            | Reaction::Reobserve
            | Reaction::BackOff
            | Reaction::WaitForDependency
            | Reaction::RetrySlowly => {}
        }
    }

    fn worked(&self, snapshot: &Snapshot, began: Timestamp) {
        if let Ok(config) = &snapshot.config {
            self.configs.accepted(config, began);
            let group = &self.kind.capabilities.rate_limit_group;
            self.shared
                .suspensions
                .worked(config, group, began, self.shared.clock.now());
        }
    }
}

/// For the log: how it ended, without anything that may be secret.
fn summary(answer: &Answer) -> String {
    match answer {
        Err(error) => error.to_string(),
        Ok(outcome) => match &outcome.result {
            OutcomeResult::Completed(completed) if completed.already_done => "completed before".to_owned(),
            OutcomeResult::Completed(_) => "completed".to_owned(),
            OutcomeResult::Operation(operation) => {
                format!("operation {:?} {}", operation.verb, operation.phase)
            }
            OutcomeResult::Failure(failure) => format!(
                "failure {:?}, effect {:?}: {}",
                failure.code, failure.effect, failure.reason
            ),
        },
    }
}
