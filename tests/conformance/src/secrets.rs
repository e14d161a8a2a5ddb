//! Secrets that the kit sends, and searches for where none may be.

use std::collections::BTreeSet;

use base64::{
    Engine,
    engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD},
};
use crossbridge_types::Example;

/// Shorter ones occur by chance.
const SHORTEST: usize = 6;

/// Values that no answer and no log may hold. `Debug` prints none.
#[derive(Clone, Default)]
pub(crate) struct Canaries {
    /// What it is called, and the forms in which it may occur.
    values: Vec<(String, BTreeSet<Vec<u8>>)>,
    /// What those are called that are too short to be searched for.
    short: BTreeSet<String>,
}

impl Canaries {
    /// A secret and what people call it. Short ones are left out.
    pub(crate) fn add(&mut self, what: &str, value: &[u8]) {
        if value.len() < SHORTEST {
            if !value.is_empty() {
                self.short.insert(what.to_owned());
            }
            return;
        }
        if !self.values.iter().any(|(_, forms)| forms.contains(value)) {
            self.values.push((what.to_owned(), forms(value)));
        }
    }

    /// What is too short to be searched for, by name.
    pub(crate) fn short(&self) -> impl Iterator<Item = &str> {
        self.short.iter().map(String::as_str)
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

    /// Whether there is anything to search for.
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

/// The secret as it is, and as it stands within quoted or encoded text.
fn forms(value: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut forms = BTreeSet::from([value.to_vec()]);
    for offset in 0..3 {
        // A text that holds it at any place encodes it in one of these ways.
        let padded = [vec![0; offset], value.to_vec()].concat();
        for encoded in [STANDARD_NO_PAD.encode(&padded), URL_SAFE_NO_PAD.encode(&padded)] {
            forms.insert(encoded.as_bytes()[own_letters(offset, value.len())].to_vec());
        }
    }
    for hex in [
        |byte: &u8| format!("{byte:02x}"),
        |byte: &u8| format!("{byte:02X}"),
    ] {
        forms.insert(value.iter().map(hex).collect::<String>().into_bytes());
        let percent = |byte: &u8| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(*byte).to_string()
            }
            other => format!("%{}", hex(other)),
        };
        forms.insert(value.iter().map(percent).collect::<String>().into_bytes());
    }
    if let Ok(text) = std::str::from_utf8(value) {
        let quoted = serde_json::Value::from(text).to_string();
        forms.insert(quoted.as_bytes()[1..quoted.len() - 1].to_vec());
    }
    forms
}

/// Those letters of Base64, of 6 bits each, that hold bits of the value alone.
fn own_letters(offset: usize, len: usize) -> std::ops::Range<usize> {
    (offset * 8).div_ceil(6)..(offset + len) * 8 / 6
}

fn contains(bytes: &[u8], form: &[u8]) -> bool {
    bytes.windows(form.len()).any(|window| window == form)
}

#[cfg(test)]
mod tests {
    use base64::{
        Engine,
        engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
    };

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
            b"7061737322776f7264",
            b"7061737322776F7264",
            b"https://user:pass%22word@example.org",
        ] {
            assert_eq!(canaries.found_in(text), Some("credential key"));
        }
        assert_eq!(canaries.found_in(b"abc password"), None);
        assert_eq!(canaries.short().collect::<Vec<_>>(), ["short"]);
        assert_eq!(format!("{canaries:?}"), "{\"credential key\"}");
    }

    #[test]
    fn a_secret_is_found_anywhere_in_an_encoded_text() {
        for secret in ["sesame", "sesame-", "se\u{ff}same?>", "open-sesame-wide"] {
            let mut canaries = Canaries::default();
            canaries.add("key", secret.as_bytes());
            for before in ["", "a", "ab", "abc", "abcd"] {
                for after in ["", "x", "xy", "xyz"] {
                    let text = format!("{before}{secret}{after}");
                    for encoded in [STANDARD.encode(&text), URL_SAFE_NO_PAD.encode(&text)] {
                        assert_eq!(canaries.found_in(encoded.as_bytes()), Some("key"), "{text}");
                    }
                    let other = STANDARD.encode(text.replace("same", "SAME"));
                    assert_eq!(canaries.found_in(other.as_bytes()), None, "{text}");
                }
            }
        }
    }
}
