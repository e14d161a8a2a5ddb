//! Secrets that the kit sends, and looks for where none may be.

use std::collections::BTreeSet;

use base64::{Engine, engine::general_purpose::STANDARD};
use crossbridge_proto::checked::Example;

/// Shorter ones occur by chance.
const SHORTEST: usize = 6;

/// Values that no answer and no log may hold. `Debug` prints none.
#[derive(Clone, Default)]
pub(crate) struct Canaries {
    /// What it is called, and the forms in which it may occur.
    values: Vec<(String, BTreeSet<Vec<u8>>)>,
}

impl Canaries {
    /// A secret and what people call it. Short ones are left out.
    pub(crate) fn add(&mut self, what: &str, value: &[u8]) {
        if value.len() < SHORTEST || self.values.iter().any(|(_, forms)| forms.contains(value)) {
            return;
        }
        let mut forms = BTreeSet::from([value.to_vec(), STANDARD.encode(value).into_bytes()]);
        if let Ok(text) = std::str::from_utf8(value) {
            let quoted = serde_json::Value::from(text).to_string();
            forms.insert(quoted.trim_matches('"').as_bytes().to_vec());
        }
        self.values.push((what.to_owned(), forms));
    }

    /// The secrets of an example.
    pub(crate) fn add_sensitive(&mut self, example: &Example) {
        for (pointer, value) in &example.sensitive_values {
            self.add(&format!("sensitive value {pointer}"), value.as_bytes());
        }
    }

    /// What was found, by the secret's name.
    pub(crate) fn found_in(&self, bytes: &[u8]) -> Option<&str> {
        self.values
            .iter()
            .find(|(_, forms)| forms.iter().any(|form| contains(bytes, form)))
            .map(|(what, _)| what.as_str())
    }

    /// Whether there is anything to look for.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl std::fmt::Debug for Canaries {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set()
            .entries(self.values.iter().map(|(what, _)| what))
            .finish()
    }
}

fn contains(bytes: &[u8], form: &[u8]) -> bool {
    bytes.windows(form.len()).any(|window| window == form)
}

#[cfg(test)]
mod tests {
    use super::Canaries;

    #[test]
    fn a_secret_is_found_raw_quoted_and_encoded() {
        let mut canaries = Canaries::default();
        canaries.add("credential key", b"pass\"word");
        canaries.add("short", b"abc");
        for text in [
            &b"the key pass\"word"[..],
            b"{\"key\": \"pass\\\"word\"}",
            b"cGFzcyJ3b3Jk",
        ] {
            assert_eq!(canaries.found_in(text), Some("credential key"));
        }
        assert_eq!(canaries.found_in(b"abc password"), None);
        assert_eq!(format!("{canaries:?}"), "{\"credential key\"}");
    }
}
