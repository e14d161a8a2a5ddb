//! What did not work: how it is told, and for how long it stands in the way.

use jiff::Timestamp;

use crate::external::{CallError, Failure, Verb};
use crate::reasons::WarningEvent;

use super::{
    decision::Event,
    failure::{Reaction, delay, reaction},
    reconcile_memory::{ReconcileInputs, ReconcileMemory, poll_interval},
    snapshot::Snapshot,
};

/// Something that did not work, shown until a later attempt does.
#[derive(Debug, Clone, PartialEq)]
pub struct RetryState {
    /// What was tried.
    pub verb: Verb,
    /// As it stands in the condition: `create failed: …`.
    pub message: String,
    /// Told as waiting, not as an error.
    pub waiting: bool,
    /// How many in a row.
    pub failures: u32,
    /// No call before; `None`: not before the user changes something.
    pub until: Option<Timestamp>,
    /// What the user wanted when it failed.
    pub inputs: ReconcileInputs,
    /// The same call is not tried again for this wish, though others are.
    pub for_these_inputs: bool,
}

impl ReconcileMemory {
    /// Whatever stands in the way of calls now.
    pub fn backoff_active(&self, snapshot: &Snapshot) -> Option<&RetryState> {
        self.retry_state.as_ref().filter(|retry_state| {
            retry_state.inputs == ReconcileInputs::of(snapshot)
                && retry_state.until.is_none_or(|until| until > snapshot.now)
        })
    }

    /// This wish was refused for this verb, and waits for the user.
    pub fn refused(&self, snapshot: &Snapshot, verb: Verb) -> Option<&RetryState> {
        self.retry_state.as_ref().filter(|retry_state| {
            retry_state.for_these_inputs
                && retry_state.verb == verb
                && retry_state.inputs == ReconcileInputs::of(snapshot)
        })
    }

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

    fn fail(&mut self, retry_state: RetryState) {
        if !retry_state.waiting {
            self.events.push(Event::warning(
                event_reason(retry_state.verb),
                &retry_state.message,
            ));
        }
        self.retry_state = Some(retry_state);
    }

    fn failures_of(&self, verb: Verb) -> u32 {
        self.retry_state
            .as_ref()
            .filter(|retry_state| retry_state.verb == verb)
            .map_or(0, |retry_state| retry_state.failures)
    }

    /// A call of this verb worked.
    pub fn clear_retry_state(&mut self, verb: Verb) {
        if self
            .retry_state
            .as_ref()
            .is_some_and(|retry_state| retry_state.verb == verb)
        {
            self.retry_state = None;
        }
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
