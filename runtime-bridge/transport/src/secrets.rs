//! Secret values that were sent must not come back in a text that people read: a plugin that quotes what it was given, or an upstream that does,
//! would put them into conditions, events and logs.

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
};
use bridge_core::external::{
    CallError, Config, DesiredState, Failure, Observation, ObserveResult, Operation, Outcome, OutcomeResult,
    Warning,
};
use serde_json::Value;

/// Shorter values occur in texts by chance, and are no secrets that withstand guessing.
const SHORTEST: usize = 6;

/// The message of a gRPC status travels in headers, of which all together are no longer: neither is a value in it.
const MOST_STATUS: usize = 16 << 10;

/// In data, a value that is shorter is replaced only where it is all there is: as a part of something else it is there by chance.
pub const SHORTEST_PART: usize = 12;

/// What stands in place of a value.
const HIDDEN: &str = "[redacted]";

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

    /// The same answer or error, its texts without the values.
    pub fn hide_in<T: Texts>(&self, result: Result<T, CallError>) -> Result<T, CallError> {
        // Most answers have no text.
        let mut forms = None;
        let mut hide = |text: &mut String| {
            if !text.is_empty() {
                hide(forms.get_or_insert_with(|| self.forms()).iter(), text);
            }
        };
        match result {
            Ok(mut answer) => {
                answer.each_text(&mut hide);
                self.hide_sensitive_in(&mut answer);
                Ok(answer)
            }
            Err(mut error) => {
                let (CallError::Rejected { message, .. }
                | CallError::Unreachable { message }
                | CallError::Unknown { message, .. }) = &mut error;
                hide(message);
                Err(error)
            }
        }
    }

    /// What is published as data shows no sensitive value of the object. Credentials may stand there: an account, a project or a subscription is one
    /// of them in many clouds, and a part of every id.
    fn hide_sensitive_in<T: Texts>(&self, answer: &mut T) {
        let mut forms = None;
        if self.sensitive().next().is_some() {
            answer.each_published(&mut |text| {
                let forms = forms.get_or_insert_with(|| all_forms(self.sensitive(), usize::MAX));
                if forms.contains(text) {
                    HIDDEN.clone_into(text);
                }
                let parts = forms.iter().take_while(|form| form.len() >= SHORTEST_PART);
                hide(parts, text);
            });
        }
    }

    fn sensitive(&self) -> impl Iterator<Item = &'a Vec<u8>> {
        let desired = self.desired.into_iter();
        desired.flat_map(|desired| desired.sensitive.0.values())
    }

    fn forms(&self) -> Vec<String> {
        all_forms(
            self.config.credentials.0.values().chain(self.sensitive()),
            MOST_STATUS,
        )
    }
}

/// Values that were sent outside of a call to a plugin, by their forms.
pub struct SentValues(Vec<String>);

impl SentValues {
    /// Of all of them, but those that are longer than a text can be.
    pub fn of<'a>(values: impl Iterator<Item = &'a Vec<u8>>) -> Self {
        Self(all_forms(values, MOST_STATUS))
    }

    /// A text for people, without the values. Of a longer one than any may be, nothing is kept that could be the beginning of a value.
    pub fn hide_in(&self, text: &mut String) {
        let most = 2 * MOST_STATUS;
        let longest = self.0.first().map_or(0, String::len);
        let is_cut = text.len() > most + longest;
        if is_cut {
            text.truncate(text.floor_char_boundary(most + longest));
        }
        hide(self.0.iter(), text);
        if is_cut {
            text.truncate(text.floor_char_boundary(text.len().saturating_sub(longest)));
        }
    }
}

/// All forms of all values of at most so many bytes, the longest first.
fn all_forms<'a>(values: impl Iterator<Item = &'a Vec<u8>>, most: usize) -> Vec<String> {
    let mut forms: Vec<String> = values
        .filter(|value| (SHORTEST..=most).contains(&value.len()))
        .flat_map(|value| forms(value))
        .collect();
    forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    forms.dedup();
    forms
}

fn hide<'f>(forms: impl Iterator<Item = &'f String>, text: &mut String) {
    for form in forms {
        if text.contains(form.as_str()) {
            *text = text.replace(form.as_str(), HIDDEN);
        }
    }
}

/// As it is, without white space around it, in base64 and as a part of a URL. Credentials are seldom anything but text.
fn forms(value: &[u8]) -> Vec<String> {
    let mut forms = vec![
        STANDARD.encode(value),
        STANDARD_NO_PAD.encode(value),
        URL_SAFE.encode(value),
        URL_SAFE_NO_PAD.encode(value),
    ];
    if let Ok(text) = std::str::from_utf8(value) {
        // As it stands in a quoted text of JSON or Rust.
        let quoted = Value::String(text.to_owned()).to_string();
        let trimmed = text.trim();
        forms.extend([
            text.to_owned(),
            quoted.trim_matches('"').to_owned(),
            url_encoded(text.as_bytes(), "%20"),
            url_encoded(text.as_bytes(), "+"),
        ]);
        if trimmed.len() >= SHORTEST && trimmed != text {
            forms.push(trimmed.to_owned());
            forms.push(STANDARD.encode(trimmed));
            forms.push(url_encoded(trimmed.as_bytes(), "%20"));
        }
    }
    forms
}

fn url_encoded(value: &[u8], space: &str) -> String {
    let mut encoded = String::with_capacity(value.len());
    for &byte in value {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            b' ' => encoded.push_str(space),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// The texts of an answer that people read.
pub trait Texts {
    /// Each text that reaches conditions, events and logs.
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String));

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
}

impl Texts for Operation {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        change(&mut self.message);
        change(&mut self.upstream_operation_id);
    }
}

impl Texts for Vec<Warning> {
    fn each_text(&mut self, change: &mut dyn FnMut(&mut String)) {
        for warning in self {
            change(&mut warning.message);
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
            Ok(identity) => change(identity),
            Err(failure) => failure.each_text(change),
        }
    }
}

#[cfg(test)]
mod tests {
    use bridge_core::external::Secrets;

    use super::*;

    fn sent(values: &[&str]) -> Config {
        let values = values.iter().enumerate();
        let credentials = values.map(|(n, value)| (n.to_string(), value.as_bytes().to_vec()));
        Config {
            id: "id".to_owned(),
            revision: "1".to_owned(),
            settings_digest: String::new(),
            identity: String::new(),
            settings: None,
            credentials: Secrets(credentials.collect()),
            credentials_expire: None,
        }
    }

    fn hidden(config: &Config, text: &str) -> String {
        let error = CallError::Unknown {
            code: "INTERNAL".to_owned(),
            message: text.to_owned(),
        };
        match SentSecrets::of(config, None).hide_in(Err::<ObserveResult, _>(error)) {
            Err(CallError::Unknown { message, .. }) => message,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_value_is_hidden_in_every_form_that_a_text_may_have() {
        let secrets = sent(&["s3cr3t&key/+ \"x\"\n"]);
        let forms = [
            "s3cr3t&key/+ \"x\"",
            "s3cr3t&key/+ \"x\"\n",
            "s3cr3t&key/+ \\\"x\\\"\\n",
            "czNjcjN0JmtleS8rICJ4Igo=",
            "czNjcjN0JmtleS8rICJ4Ig==",
            "s3cr3t%26key%2F%2B%20%22x%22",
            "s3cr3t%26key%2F%2B+%22x%22%0A",
        ];
        for form in forms {
            let text = hidden(&secrets, &format!("denied for <{form}>"));
            assert!(
                text.starts_with("denied for <[redacted]") && !text.contains("3cr3t"),
                "{form}: {text}"
            );
        }
    }

    #[test]
    fn of_two_values_the_longer_one_goes_first_and_short_ones_stay() {
        let secrets = sent(&["canary", "canary-long", "eu"]);
        assert_eq!(
            hidden(&secrets, "canary-long canary eu"),
            "[redacted] [redacted] eu"
        );
    }

    /// What a status shows of these texts, of an object with this sensitive value.
    fn published(value: &str, texts: &[&str]) -> Vec<String> {
        let config = sent(&[]);
        let desired = DesiredState {
            sensitive: Secrets([("/password".to_owned(), value.as_bytes().to_vec())].into()),
            ..DesiredState::default()
        };
        let status = serde_json::json!({ "texts": texts });
        let observation = Observation {
            status: status.as_object().cloned(),
            ..Observation::default()
        };
        let sent = SentSecrets::of(&config, Some(&desired));
        let hidden = sent.hide_in(Ok(ObserveResult::Found(Box::new(observation))));
        let Ok(ObserveResult::Found(observation)) = hidden else {
            panic!("{hidden:?}");
        };
        let texts = observation.status.expect("a status")["texts"].clone();
        serde_json::from_value(texts).expect("texts")
    }

    #[test]
    fn a_sensitive_value_of_any_length_is_hidden_in_a_status() {
        let long = "canary ".repeat(10_000);
        assert_eq!(published(&long, &[&format!("<{long}>")]), ["<[redacted]>"]);
    }

    #[test]
    fn a_short_value_is_hidden_in_a_status_where_it_stands_alone() {
        assert_eq!(
            published("master", &["master", "arn:master-1", "a"]),
            ["[redacted]", "arn:master-1", "a"]
        );
    }
}
