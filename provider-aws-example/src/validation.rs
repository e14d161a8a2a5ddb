//! Validation of a spec beyond its schema: every violation is reported at once.

use crossbridge_sdk::Failure;

/// Invalid fields by JSON Pointer, and why they are invalid.
#[derive(Debug, Default)]
pub(crate) struct Violations(Vec<(String, String)>);

impl Violations {
    /// Reports the field at the JSON Pointer `path`.
    pub(crate) fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.0.push((path.into(), message.into()));
    }

    /// Reports the field if `invalid`.
    pub(crate) fn add_if(&mut self, invalid: bool, path: impl Into<String>, message: impl Into<String>) {
        if invalid {
            self.add(path, message);
        }
    }

    /// Reports a policy that is given and no JSON object. Empty text means "none".
    pub(crate) fn add_unless_policy(&mut self, path: &str, text: Option<&str>) {
        let Some(text) = text.filter(|text| !text.is_empty()) else {
            return;
        };
        match serde_json::from_str::<serde_json::Value>(text) {
            Ok(value) if value.is_object() => {}
            Ok(_) => self.add(path, "a policy is a JSON object"),
            Err(error) => self.add(path, format!("a policy is JSON: {error}")),
        }
    }

    /// # Errors
    /// `INVALID_SPEC` that names every reported field.
    pub(crate) fn into_result(self) -> Result<(), Failure> {
        if self.0.is_empty() {
            return Ok(());
        }
        let texts: Vec<String> = self
            .0
            .iter()
            .map(|(path, message)| format!("{path}: {message}"))
            .collect();
        let failure = Failure::invalid_spec(texts.join("; "));
        Err(self.0.into_iter().fold(failure, |failure, (path, message)| {
            failure.violation(path, message)
        }))
    }
}

/// The failure of an update that would change the field at the JSON Pointer `path`, which cannot change.
pub(crate) fn immutable(path: impl Into<String>, message: impl Into<String>) -> Failure {
    let message = message.into();
    Failure::immutable_field(message.clone()).violation(path, message)
}
