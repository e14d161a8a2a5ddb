//! Secret values in all the forms that a text may have them in, sought in one walk of the text, however many there are.

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
};
use bridge_core::limits;
use serde_json::Value;

/// Shorter values occur in texts by chance, and are no secrets that withstand guessing.
pub(super) const SHORTEST: usize = 6;

/// What stands in place of a value.
pub(super) const HIDDEN: &str = "[redacted]";

/// So many bytes of a form are sought; what follows of it is compared where they are found. What is sought takes many times its room.
const BEGINNING: usize = 64;

/// The forms of some values.
pub(super) struct Forms {
    /// In order, so that those with which a text agrees longest are the neighbours of its own place.
    forms: Vec<String>,
    /// Their beginnings; `None`: too many.
    beginnings: Option<AhoCorasick>,
}

impl Forms {
    /// Of all values. Those of less than `shortest_part` bytes are not sought within texts.
    pub fn of<'a>(values: impl Iterator<Item = &'a Vec<u8>>, shortest_part: usize) -> Self {
        let mut forms: Vec<String> = values
            .filter(|value| value.len() >= SHORTEST)
            .flat_map(|value| forms(value))
            .collect();
        forms.sort_unstable();
        forms.dedup();
        let parts = forms.iter().filter(|form| form.len() >= shortest_part);
        let mut beginnings: Vec<&str> = parts
            .map(|form| &form[..form.floor_char_boundary(BEGINNING)])
            .collect();
        beginnings.dedup();
        let beginnings = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .kind(Some(AhoCorasickKind::NoncontiguousNFA))
            .build(beginnings);
        Self {
            beginnings: beginnings.ok(),
            forms,
        }
    }

    /// The length of the longest, in bytes.
    pub fn longest(&self) -> usize {
        self.forms.iter().map(String::len).max().unwrap_or_default()
    }

    /// The text is one of them.
    pub fn is_one(&self, text: &str) -> bool {
        self.forms
            .binary_search_by(|form| form.as_str().cmp(text))
            .is_ok()
    }

    /// One of them stands in the text.
    pub fn is_in(&self, text: &str) -> bool {
        let Some(beginnings) = &self.beginnings else {
            return true;
        };
        beginnings.is_match(text)
    }

    /// Replaces them in a text. Where one begins and breaks off, that part is replaced.
    pub fn hide(&self, text: &mut String) {
        let Some(beginnings) = &self.beginnings else {
            HIDDEN.clone_into(text);
            return;
        };
        let (mut hidden, mut end) = (String::new(), 0);
        while let Some(found) = beginnings.find(Input::new(text.as_str()).range(end..)) {
            hidden.push_str(&text[end..found.start()]);
            hidden.push_str(HIDDEN);
            end = found.start() + self.agreeing(&text[found.start()..]).max(found.len());
        }
        if end > 0 {
            hidden.push_str(&text[end..]);
            *text = hidden;
        }
    }

    /// So many bytes of one of them, at most, does the text begin with. What agrees is passed over, so that all of it is one walk of the text.
    fn agreeing(&self, text: &str) -> usize {
        let place = self.forms.partition_point(|form| form.as_str() <= text);
        let neighbours = self.forms[..place]
            .last()
            .into_iter()
            .chain(self.forms.get(place));
        let agree = |form: &String| {
            let pairs = form.bytes().zip(text.bytes());
            text.floor_char_boundary(pairs.take_while(|(a, b)| a == b).count())
        };
        neighbours.map(agree).max().unwrap_or_default()
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
            as_cut(text),
            quoted.trim_matches('"').to_owned(),
            url_encoded(text.as_bytes(), "%20"),
            url_encoded(text.as_bytes(), "+"),
        ]);
        if trimmed.len() >= SHORTEST && trimmed != text {
            forms.push(trimmed.to_owned());
            forms.push(as_cut(trimmed));
            forms.push(STANDARD.encode(trimmed));
            forms.push(url_encoded(trimmed.as_bytes(), "%20"));
        }
    }
    forms
}

/// As a text of the contract is shown: what comes in is cut before values are sought in it. A key with CRLF is one that was written on Windows.
fn as_cut(value: &str) -> String {
    limits::printable(value).into_owned()
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
