//! What the memory takes in when a call did not work: how it is reported, and when the next one may go.

use crate::external::{CallError, Failure, Verb};
use crate::limits;
use crate::reasons::WarningEvent;

use super::{
    decision::Event,
    failure::{Reaction, delay, reaction},
    intervals::poll_interval,
    reconcile_inputs::ReconcileInputs,
    reconcile_memory::ReconcileMemory,
    retry_state::RetryState,
    snapshot::Snapshot,
};

impl ReconcileMemory {
    /// A call brought a failure.
    pub fn record_failure(&mut self, snapshot: &Snapshot, verb: Verb, failure: &Failure) {
        let failures = self.failures_of(verb) + 1;
        let reacts = reaction(failure.code);
        let code = if failure.upstream_code.is_empty() {
            String::new()
        } else {
            format!(" ({})", failure.upstream_code)
        };
        let mut message = format!("{}: {}: {}{code}", prefix(verb), failure.reason, failure.message);
        for violation in &failure.violations {
            let field = if violation.path.is_empty() {
                "external name"
            } else {
                &violation.path
            };
            message.push_str(&format!("; {field}: {}", violation.message));
        }
        let for_these_inputs = reacts == Reaction::WaitForUser;
        let wait = if for_these_inputs && verb == Verb::Observe {
            poll_interval(snapshot)
        } else {
            delay(
                &snapshot.settings.backoffs,
                Some(failure),
                failures,
                snapshot.fresh.jitter,
            )
        };
        self.fail(RetryState {
            verb,
            message,
            waiting: reacts == Reaction::WaitForDependency,
            failures,
            until: Some(snapshot.now + wait),
            inputs: ReconcileInputs::of(snapshot),
            for_these_inputs: for_these_inputs && verb != Verb::Observe,
        });
    }

    /// A call brought no answer, or was refused as a bug.
    pub fn record_call_error(&mut self, snapshot: &Snapshot, verb: Verb, error: &CallError) {
        let failures = self.failures_of(verb) + 1;
        self.fail(RetryState {
            verb,
            message: format!("{}: {error}", prefix(verb)),
            waiting: false,
            failures,
            until: Some(
                snapshot.now + delay(&snapshot.settings.backoffs, None, failures, snapshot.fresh.jitter),
            ),
            inputs: ReconcileInputs::of(snapshot),
            for_these_inputs: false,
        });
    }

    /// What is told of it is bounded: it becomes a condition's message, and is written at each change.
    fn fail(&mut self, mut retry_state: RetryState) {
        retry_state.message = limits::cut(retry_state.message);
        if !retry_state.waiting {
            self.events.push(Event::warning(
                event_reason(retry_state.verb),
                &retry_state.message,
            ));
        }
        self.retry_state = Some(retry_state);
    }
}

/// As crossplane-runtime wraps errors.
fn prefix(verb: Verb) -> &'static str {
    match verb {
        Verb::Observe => "observe failed",
        Verb::Create => "create failed",
        Verb::Update => "update failed",
        Verb::Delete => "delete failed",
        Verb::Poll => "operation failed",
    }
}

fn event_reason(verb: Verb) -> WarningEvent {
    match verb {
        Verb::Observe | Verb::Poll => WarningEvent::CannotObserveExternalResource,
        Verb::Create => WarningEvent::CannotCreateExternalResource,
        Verb::Update => WarningEvent::CannotUpdateExternalResource,
        Verb::Delete => WarningEvent::CannotDeleteExternalResource,
    }
}
