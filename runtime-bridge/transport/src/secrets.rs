//! Secret values that were sent must not come back in a text that people read: a plugin that quotes what it was given, or an upstream that does,
//! would put them into conditions, events and logs.

mod forms;

use std::cell::LazyCell;

use bridge_core::external::{
    CallError, Config, DesiredState, Failure, Observation, ObserveResult, Operation, Outcome, OutcomeResult,
    Warning,
};
use serde_json::Value;
use sha2::{Digest, Sha256};

use self::forms::{Forms, HIDDEN, SHORTEST};

/// The message of a gRPC status travels in headers, of which all together are no longer: neither is a value in it.
const MOST_STATUS: usize = 16 << 10;

/// In data, a value that is shorter is replaced only where it is all there is: as a part of something else it is there by chance.
pub const SHORTEST_PART: usize = 12;

/// What stands in place of a reason or a phase with a value in it.
const HIDDEN_NAME: &str = "Redacted";

/// What stands in place of a path with a value in it.
const HIDDEN_PATH: &str = "/Redacted";

/// The secret values of one call.
pub struct SentSecrets<'a> {
    config: &'a Config,
    desired: Option<&'a DesiredState>,
}

impl<'a> SentSecrets<'a> {
    /// The credentials of the config and the sensitive values of the desired state.
    pub fn of(config: &'a Config, desired: Option<&'a DesiredState>) -> Self {
        Self { config, desired }
    }

    /// The same answer, its texts without the values.
    pub fn hide_in_answer<T: Texts>(&self, mut answer: T) -> T {
        // Most answers have no text.
        let forms = LazyCell::new(|| self.forms());
        answer.each_text(&mut |text| {
            if !text.is_empty() {
                forms.hide(text);
            }
        });
        answer.each_name(&mut |name| {
            if !name.is_empty() && forms.is_in(name) {
                let hidden = if name.starts_with('/') {
                    HIDDEN_PATH
                } else {
                    HIDDEN_NAME
                };
                hidden.clone_into(name);
            }
        });
        self.hide_sensitive_in(&mut answer);
        answer
    }

    /// The same error, its message without the values.
    pub fn hide_in_error(&self, mut error: CallError) -> CallError {
        let (CallError::Rejected { message, .. }
        | CallError::Unreachable { message }
        | CallError::Unknown { message, .. }) = &mut error;
        if !message.is_empty() {
            self.forms().hide(message);
        }
        error
    }

    /// What is published as data shows no sensitive value of the object. Credentials may stand there: an account, a project or a subscription is one
    /// of them in many clouds, and a part of every id.
    fn hide_sensitive_in<T: Texts>(&self, answer: &mut T) {
        if self.sensitive().next().is_some() {
            let forms = LazyCell::new(|| Forms::of(self.sensitive(), SHORTEST_PART));
            answer.each_published(&mut |text| {
                if forms.is_one(text) {
                    HIDDEN.clone_into(text);
                }
                forms.hide(text);
            });
        }
    }

    fn sensitive(&self) -> impl Iterator<Item = &'a Vec<u8>> {
        let desired = self.desired.into_iter();
        desired.flat_map(|desired| desired.sensitive.0.values())
    }

    fn forms(&self) -> Forms {
        let values = self.config.credentials.0.values().chain(self.sensitive());
        Forms::of(values, SHORTEST)
    }
}

/// Values that were sent outside of a call to a plugin.
pub struct SentValues(Forms);

impl SentValues {
    /// Of all of them, but those that are longer than a text can be.
    pub fn of<'a>(values: impl Iterator<Item = &'a Vec<u8>>) -> Self {
        Self(Forms::of(values, SHORTEST))
    }

    /// A text for people, without the values. Of a longer one than any may be, nothing is kept that could be the beginning of a value.
    pub fn hide_in(&self, text: &mut String) {
        let most = 2 * MOST_STATUS;
        let longest = self.0.longest();
        let is_cut = text.len() > most + longest;
        if is_cut {
            text.truncate(text.floor_char_boundary(most + longest));
        }
        self.0.hide(text);
        if is_cut {
            text.truncate(text.floor_char_boundary(text.len().saturating_sub(longest)));
        }
    }
}

/// The texts of an answer that people read.
pub trait Texts {
    /// Each text that reaches conditions, events and logs.
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String));

    /// Each reason, phase and path, which people read, too, and which has a form.
    fn each_name(&mut self, _: &mut dyn FnMut(&mut String)) {}

    /// Each text of the data that stands in the object's status for everybody to read.
    fn each_published(&mut self, _: &mut dyn FnMut(&mut String)) {}
}

fn each_string(value: &mut Value, change: &mut dyn FnMut(&mut String)) {
    match value {
        Value::String(text) => change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| each_string(item, change)),
        Value::Object(fields) => fields.values_mut().for_each(|field| each_string(field, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl Texts for Failure {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        change(&mut self.message);
        change(&mut self.upstream_code);
        change(&mut self.upstream_request_id);
        for violation in &mut self.violations {
            change(&mut violation.message);
        }
    }

    fn each_name(&mut self, change: &mut dyn FnMut(&mut String)) {
        change(&mut self.reason);
        for violation in &mut self.violations {
            change(&mut violation.path);
        }
    }
}

impl Texts for Operation {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        change(&mut self.message);
        change(&mut self.upstream_operation_id);
    }

    fn each_name(&mut self, change: &mut dyn FnMut(&mut String)) {
        change(&mut self.phase);
    }
}

impl Texts for Vec<Warning> {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        for warning in self {
            change(&mut warning.message);
        }
    }

    fn each_name(&mut self, change: &mut dyn FnMut(&mut String)) {
        for warning in self {
            change(&mut warning.reason);
        }
    }
}

impl Texts for Observation {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        change(&mut self.ready_message);
        self.warnings.each_text(change);
        if let Some(operation) = &mut self.operation {
            operation.each_text(change);
        }
    }

    fn each_name(&mut self, change: &mut dyn FnMut(&mut String)) {
        self.warnings.each_name(change);
        if let Some(operation) = &mut self.operation {
            operation.each_name(change);
        }
    }

    fn each_published(&mut self, change: &mut dyn FnMut(&mut String)) {
        let fields = self.status.iter_mut().flat_map(|status| status.values_mut());
        fields.for_each(|field| each_string(field, change));
    }
}

impl Texts for ObserveResult {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        match self {
            Self::Found(observation) => observation.each_text(change),
            Self::Absent(_) => {}
            Self::Failed(failure) => failure.each_text(change),
        }
    }

    fn each_name(&mut self, change: &mut dyn FnMut(&mut String)) {
        match self {
            Self::Found(observation) => observation.each_name(change),
            Self::Absent(_) => {}
            Self::Failed(failure) => failure.each_name(change),
        }
    }

    fn each_published(&mut self, change: &mut dyn FnMut(&mut String)) {
        if let Self::Found(observation) = self {
            observation.each_published(change);
        }
    }
}

impl Texts for Outcome {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        self.warnings.each_text(change);
        match &mut self.result {
            OutcomeResult::Completed(completed) => {
                if let Some(observation) = &mut completed.observation {
                    observation.each_text(change);
                }
            }
            OutcomeResult::Operation(operation) => operation.each_text(change),
            OutcomeResult::Failure(failure) => failure.each_text(change),
        }
    }

    fn each_name(&mut self, change: &mut dyn FnMut(&mut String)) {
        self.warnings.each_name(change);
        match &mut self.result {
            OutcomeResult::Completed(completed) => {
                if let Some(observation) = &mut completed.observation {
                    observation.each_name(change);
                }
            }
            OutcomeResult::Operation(operation) => operation.each_name(change),
            OutcomeResult::Failure(failure) => failure.each_name(change),
        }
    }

    fn each_published(&mut self, change: &mut dyn FnMut(&mut String)) {
        if let OutcomeResult::Completed(completed) = &mut self.result
            && let Some(observation) = &mut completed.observation
        {
            observation.each_published(change);
        }
    }
}

impl Texts for Result<String, Failure> {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        match self {
            Ok(identity) => {
                let whole = identity.clone();
                change(identity);
                // The id of an account may be one of its credentials. What tells accounts apart still does, or all would be one.
                if *identity != whole {
                    let digest = Sha256::digest(whole.as_bytes());
                    let digest: String = digest[..8].iter().map(|byte| format!("{byte:02x}")).collect();
                    *identity = format!("{identity} (sha256:{digest})");
                }
            }
            Err(failure) => failure.each_text(change),
        }
    }

    fn each_name(&mut self, change: &mut dyn FnMut(&mut String)) {
        if let Err(failure) = self {
            failure.each_name(change);
        }
    }
}

#[cfg(test)]
#[path = "secrets_tests.rs"]
mod tests;
