//! Everything that is wrong with a spec, told at once.

use crossbridge_sdk::Failure;

/// Fields at fault, and why.
#[derive(Debug, Default)]
pub(crate) struct Violations(Vec<(String, String)>);

impl Violations {
    /// A field at fault, by JSON Pointer.
    pub(crate) fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.0.push((path.into(), message.into()));
    }

    /// At fault if `wrong`.
    pub(crate) fn add_if(&mut self, wrong: bool, path: impl Into<String>, message: impl Into<String>) {
        if wrong {
            self.add(path, message);
        }
    }

    /// At fault if it is there and no JSON object. Empty text stands for "none".
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

    /// `INVALID_SPEC` that names them all, if there are any.
    pub(crate) fn into_result(self) -> Result<(), Failure> {
        if self.0.is_empty() {
            return Ok(());
        }
        let told: Vec<String> = self
            .0
            .iter()
            .map(|(path, message)| format!("{path}: {message}"))
            .collect();
        let failure = Failure::invalid_spec(told.join("; "));
        Err(self.0.into_iter().fold(failure, |failure, (path, message)| {
            failure.violation(path, message)
        }))
    }
}
