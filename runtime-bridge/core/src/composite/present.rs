//! Is all that is desired present in what exists? What nobody desires does not count.

use std::{fmt, iter};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Map, Value};

use super::digest::{ContentDigest, PlainNumber, is_secret};

/// The most characters of a value that are printed.
const PRINTED: usize = 100;

/// A desired leaf that is not there, and what is there instead. Equal differences may be remembered as those that were in vain to mend.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// JSON Pointer.
    pub path: String,
    /// What exists at it.
    pub seen: Seen,
}

/// What exists in place of what is desired.
#[derive(Debug, Clone, PartialEq)]
pub enum Seen {
    /// Nothing.
    Absent,
    /// This.
    Value(Value),
    /// Something in a Secret: neither kept nor printed.
    Hidden(ContentDigest),
}

/// `/spec/replicas is 3`.
impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is ", self.path)?;
        match &self.seen {
            Seen::Absent => f.write_str("absent"),
            Seen::Hidden(_) => f.write_str("[redacted]"),
            Seen::Value(value) => {
                let text = value.to_string();
                let shown: String = text.chars().take(PRINTED).collect();
                let rest = if shown.len() < text.len() { "…" } else { "" };
                write!(f, "{shown}{rest}")
            }
        }
    }
}

/// All leaves of `desired` that `observed` does not have, by path.
///
/// A list has those that are desired in their order, others between them or not; elements that are maps may have more fields. `null` is as good
/// as absent, 1 as 1.0; a map or list without leaves desires nothing. Quantities are compared as text. `status` is not the writer's, and a
/// Secret's `stringData` is looked for in its `data`.
pub fn differences(desired: &Value, observed: &Value) -> Vec<Difference> {
    let secret = is_secret(desired);
    let stored = secret.then(|| with_encoded_data(desired));
    let desired = stored.as_ref().unwrap_or(desired);
    let mut walk = Walk {
        found: Vec::new(),
        secret,
        path: Vec::new(),
    };
    match desired {
        Value::Object(desired) => {
            let desired = desired.iter().filter(|(field, _)| *field != "status");
            walk.each(desired, observed.as_object());
        }
        other => walk.value(other, Some(observed)),
    }
    walk.found.sort_by(|a, b| a.path.cmp(&b.path));
    walk.found
}

/// A Secret as the API server stores it, which takes `stringData` for a way to write `data`.
fn with_encoded_data(secret: &Value) -> Value {
    let mut stored = secret.clone();
    let Value::Object(fields) = &mut stored else {
        return stored;
    };
    if let Some(Value::Object(texts)) = fields.remove("stringData") {
        let data = fields.entry("data").or_insert(Value::Null);
        if !data.is_object() {
            *data = Value::Object(Map::new());
        }
        for (key, text) in texts {
            data[key] = text.as_str().map(|text| BASE64_STANDARD.encode(text)).into();
        }
    }
    stored
}

struct Walk<'a> {
    found: Vec<Difference>,
    secret: bool,
    path: Vec<Step<'a>>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Field(&'a str),
    Element(usize),
}

impl<'a> Walk<'a> {
    fn value(&mut self, desired: &'a Value, observed: Option<&Value>) {
        match (desired, observed.unwrap_or(&Value::Null)) {
            (Value::Object(desired), Value::Object(observed)) => self.fields(desired, Some(observed)),
            (Value::Object(desired), Value::Null) => self.fields(desired, None),
            (Value::Array(desired), Value::Array(existing)) => {
                if is_subsequence(desired, existing) {
                    return;
                }
                if desired.len() != existing.len() {
                    return self.differs(observed);
                }
                for (i, (desired, existing)) in iter::zip(desired, existing).enumerate() {
                    self.at(Step::Element(i), |walk| walk.value(desired, Some(existing)));
                }
            }
            (desired, existing) if is_present(desired, existing) => {}
            _ => self.differs(observed),
        }
    }

    fn fields(&mut self, desired: &'a Map<String, Value>, observed: Option<&Map<String, Value>>) {
        self.each(desired.iter(), observed);
    }

    fn each(
        &mut self,
        desired: impl Iterator<Item = (&'a String, &'a Value)>,
        observed: Option<&Map<String, Value>>,
    ) {
        for (field, desired) in desired {
            let existing = observed.and_then(|observed| observed.get(field));
            self.at(Step::Field(field), |walk| walk.value(desired, existing));
        }
    }

    fn at(&mut self, step: Step<'a>, look: impl FnOnce(&mut Self)) {
        self.path.push(step);
        look(self);
        self.path.pop();
    }

    fn differs(&mut self, observed: Option<&Value>) {
        let is_hidden = self.secret && matches!(self.path.first(), Some(Step::Field("data" | "stringData")));
        let seen = match observed {
            None | Some(Value::Null) => Seen::Absent,
            Some(value) if is_hidden => Seen::Hidden(ContentDigest::of_value(value).hide()),
            Some(value) => Seen::Value(value.clone()),
        };
        let path = self.path.iter().map(|step| step.to_pointer()).collect();
        self.found.push(Difference { path, seen });
    }
}

impl Step<'_> {
    fn to_pointer(self) -> String {
        match self {
            Self::Field(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
            Self::Element(index) => format!("/{index}"),
        }
    }
}

/// Each is looked at once: the first that fits leaves most for those that follow.
fn is_subsequence(desired: &[Value], observed: &[Value]) -> bool {
    let mut rest = observed.iter();
    desired
        .iter()
        .all(|desired| rest.any(|observed| is_present(desired, observed)))
}

fn is_present(desired: &Value, observed: &Value) -> bool {
    match (desired, observed) {
        (Value::Object(desired), Value::Object(observed)) => desired
            .iter()
            .all(|(field, desired)| is_present(desired, observed.get(field).unwrap_or(&Value::Null))),
        (Value::Object(desired), Value::Null) => {
            desired.values().all(|desired| is_present(desired, &Value::Null))
        }
        (Value::Array(desired), Value::Array(observed)) => is_subsequence(desired, observed),
        (Value::Array(desired), Value::Null) => desired.is_empty(),
        (Value::Number(desired), Value::Number(observed)) => {
            PlainNumber::of(desired) == PlainNumber::of(observed)
        }
        (desired, observed) => desired == observed,
    }
}

#[cfg(test)]
#[path = "present_tests.rs"]
mod tests;
