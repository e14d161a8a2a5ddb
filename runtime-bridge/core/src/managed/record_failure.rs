//! What the memory takes in when a call did not work: how it is reported, and when the next one may go.

use crate::external::{CallError, Failure, Verb};
use crate::{back_off::policies, limits, reasons::WarningEvent};

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
        let message = described(verb, failure);
        let is_rejected = reacts == Reaction::WaitForUser;
        let wait = if is_rejected && verb == Verb::Observe {
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
            rejected_until: (is_rejected && verb != Verb::Observe)
                .then(|| snapshot.now + policies::REJECTED_CALL.wait(failures, snapshot.fresh.jitter)),
        });
    }

    /// A call brought no answer, or was refused as a bug.
    pub fn record_call_error(&mut self, snapshot: &Snapshot, verb: Verb, error: &CallError) {
        let failures = self.failures_of(verb) + 1;
        let retry_state = RetryState {
            verb,
            message: format!("{}: {error}", prefix(verb)),
            waiting: false,
            failures,
            until: Some(
                snapshot.now + delay(&snapshot.settings.backoffs, None, failures, snapshot.fresh.jitter),
            ),
            inputs: ReconcileInputs::of(snapshot),
            rejected_until: None,
        };
        // It is the plugin that is away, not this object: it has one event for all of them.
        if matches!(error, CallError::Unreachable { .. }) {
            self.retry_state = Some(RetryState {
                message: limits::cut(retry_state.message),
                ..retry_state
            });
        } else {
            self.fail(retry_state);
        }
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

/// What a person reads: the reason, the message, what the upstream calls it, and the fields at fault.
fn described(verb: Verb, failure: &Failure) -> String {
    let code = format!(" ({})", failure.upstream_code);
    // Some upstreams name it in their message.
    let is_said = failure.upstream_code.is_empty() || failure.message.contains(code.trim_start());
    let code = if is_said { "" } else { &code };
    let mut message = format!("{}: {}: {}{code}", prefix(verb), failure.reason, failure.message);
    for violation in &failure.violations {
        // SDKs put the only one into the message, too.
        let is_said = says(&failure.message, violation.message.trim_end_matches('.'));
        message.push_str(&match (violation.path.as_str(), is_said) {
            ("", true) => String::new(),
            ("", false) => format!("; external name: {}", violation.message),
            (field, true) => format!("; at {field}"),
            (field, false) => format!("; {field}: {}", violation.message),
        });
    }
    message
}

/// Whether these words stand in the message as they are, and not as a part of others: `1` is not said by `at most 10`.
fn says(message: &str, words: &str) -> bool {
    message.match_indices(words).any(|(at, found)| {
        let (before, after) = (&message[..at], &message[at + found.len()..]);
        let is_part = |inside: Option<char>, outside: Option<char>| {
            inside.is_some_and(char::is_alphanumeric) && outside.is_some_and(char::is_alphanumeric)
        };
        !is_part(found.chars().next(), before.chars().next_back())
            && !is_part(found.chars().next_back(), after.chars().next())
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::external::{Effect, FailureCode};
    use crossbridge_types::FieldViolation;

    fn message_of(message: &str, violations: &[(&str, &str)]) -> String {
        let violations = violations.iter().map(|(path, message)| FieldViolation {
            path: (*path).to_owned(),
            message: (*message).to_owned(),
        });
        let failure = Failure {
            code: FailureCode::InvalidSpec,
            effect: Effect::None,
            reason: "Invalid".to_owned(),
            message: message.to_owned(),
            retry_after: None,
            violations: violations.collect(),
            upstream_code: "Bad".to_owned(),
            upstream_request_id: String::new(),
            existing_external_name: String::new(),
        };
        described(Verb::Create, &failure)
    }

    #[test]
    fn what_a_plugin_says_twice_is_told_once() {
        let once = "create failed: Invalid: the size is not valid: too small (Bad)";
        let message = "the size is not valid: too small";
        assert_eq!(message_of(message, &[]), once);
        assert_eq!(
            message_of(message, &[("/size", "too small.")]),
            format!("{once}; at /size")
        );
        assert_eq!(message_of(message, &[("", "too small")]), once);
        assert_eq!(message_of(&format!("{message} (Bad)"), &[]), once);
        assert_eq!(
            message_of(
                message,
                &[("/size", "too small"), ("/color", "unknown"), ("", "too long")]
            ),
            format!("{once}; at /size; /color: unknown; external name: too long")
        );
    }

    #[test]
    fn a_word_that_occurs_by_chance_is_not_said() {
        let message = "the size must be at most 10, and is 21";
        let begins = format!("create failed: Invalid: {message} (Bad)");
        assert_eq!(
            message_of(message, &[("/size", "1"), ("/name", "most 1")]),
            format!("{begins}; /size: 1; /name: most 1")
        );
        assert_eq!(
            message_of(message, &[("/size", "10")]),
            format!("{begins}; at /size")
        );
        assert_eq!(
            message_of(message, &[("/size", "at most 10, and is 21.")]),
            format!("{begins}; at /size")
        );
    }
}
