//! Digests of what is desired and of what was seen: equal content, equal digest, in every process.

use std::{collections::BTreeMap, fmt};

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Number, Value};
use sha2::{Digest as _, Sha256};

use crate::function::SecretData;

use super::names;

/// The form of the digests that are stored. Another one is never equal: what bears it counts as different, once.
const FORM: &str = "v1";

/// Digest of the desired form of a composed resource: `v1:<64 hex digits>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyDigest(String);

impl BodyDigest {
    /// Of what is to be written, [`AppliedMark`] aside.
    pub fn of(body: &Value) -> Self {
        Self(format!("{FORM}:{}", hex(&Sha256::digest(canonical(body)))))
    }
}

/// How a composed resource was written last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// Created, and not changed by us since: its fields belong to the manager of creations.
    Created,
    /// Applied.
    Applied,
}

/// Value of the annotation [`names::APPLIED`]: `created/v1:…` or `applied/v1:…`, written in one request with the fields that it stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppliedMark {
    /// How.
    pub written: Written,
    /// What.
    pub digest: BodyDigest,
}

impl AppliedMark {
    /// `None`: it is not of ours, and counts as none.
    pub fn parse(text: &str) -> Option<Self> {
        let (written, digest) = text.split_once('/')?;
        let written = match written {
            "created" => Written::Created,
            "applied" => Written::Applied,
            _ => return None,
        };
        let digest = BodyDigest(digest.to_owned());
        Some(Self { written, digest })
    }
}

impl fmt::Display for AppliedMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = match self.written {
            Written::Created => "created",
            Written::Applied => "applied",
        };
        write!(f, "{written}/{}", self.digest.0)
    }
}

/// Digest of something that was seen; of secret content it does not print.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ContentDigest {
    bytes: [u8; 32],
    hidden: bool,
}

impl ContentDigest {
    /// Of any JSON.
    pub fn of_value(value: &Value) -> Self {
        Self::of_bytes(&canonical(value), false)
    }

    /// Of an object as the API server has it, whatever its resource version, managed fields and our own annotations.
    pub fn of_object(object: &Value) -> Self {
        Self::of_bytes(&to_bytes(&Content(object)), is_secret(object))
    }

    /// Of what a Secret holds.
    pub fn of_secret(data: &SecretData) -> Self {
        Self::of_bytes(&to_bytes(&data.0), true)
    }

    /// Of several, in this order.
    pub fn of_all(parts: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Vec::new();
        let mut hidden = false;
        for part in parts {
            all.extend_from_slice(&part.bytes);
            hidden |= part.hidden;
        }
        Self::of_bytes(&all, hidden)
    }

    fn of_bytes(bytes: &[u8], hidden: bool) -> Self {
        let bytes = Sha256::digest(bytes).into();
        Self { bytes, hidden }
    }

    /// The same, printed no longer.
    #[must_use]
    pub fn hide(self) -> Self {
        Self { hidden: true, ..self }
    }
}

impl fmt::Debug for ContentDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.hidden {
            f.write_str("[redacted]")
        } else {
            f.write_str(&hex(&self.bytes[..8]))
        }
    }
}

/// An object as functions see it: without managed fields, and without our own annotations.
#[must_use]
pub fn for_functions(mut object: Value) -> Value {
    if let Some(metadata) = object.get_mut("metadata") {
        remove(metadata, &["managedFields"]);
        remove_our_annotations(metadata);
    }
    object
}

/// Takes fields away.
pub(super) fn remove(object: &mut Value, fields: &[&str]) {
    if let Value::Object(object) = object {
        for field in fields {
            object.remove(*field);
        }
    }
}

/// Takes our own annotations away, and the field if nothing is left in it.
pub(super) fn remove_our_annotations(metadata: &mut Value) {
    let Some(Value::Object(annotations)) = metadata.get_mut("annotations") else {
        return;
    };
    annotations.retain(|name, _| !name.starts_with(names::OUR_PREFIX));
    if annotations.is_empty() {
        remove(metadata, &["annotations"]);
    }
}

/// Whether its content is secret.
pub(super) fn is_secret(object: &Value) -> bool {
    object["kind"] == "Secret" && object["apiVersion"] == "v1"
}

/// Lower case.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A number, however it is written: 1.0 is 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PlainNumber {
    Integer(i128),
    Real(f64),
}

impl PlainNumber {
    pub fn of(number: &Number) -> Self {
        /// 2⁶⁴: what is larger is no integer of JSON here, however it is written.
        const BOUND: f64 = 18_446_744_073_709_551_616.0;
        let integer = number
            .as_i64()
            .map(i128::from)
            .or_else(|| number.as_u64().map(i128::from));
        if let Some(integer) = integer {
            return Self::Integer(integer);
        }
        let real = number.as_f64().unwrap_or(f64::NAN);
        if real.fract() == 0.0 && real.abs() < BOUND {
            #[allow(clippy::cast_possible_truncation)] // It is whole, and far below what fits.
            return Self::Integer(real as i128);
        }
        Self::Real(real)
    }
}

/// JSON text with sorted keys and plain numbers.
fn canonical(value: &Value) -> Vec<u8> {
    to_bytes(&Canonical(value))
}

fn to_bytes(content: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(content).expect("keys are strings, and nothing else fails in memory")
}

struct Canonical<'a>(&'a Value);

impl Serialize for Canonical<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(object) => {
                let sorted: BTreeMap<&String, &Value> = object.iter().collect();
                serializer.collect_map(sorted.into_iter().map(|(key, value)| (key, Canonical(value))))
            }
            Value::Array(elements) => serializer.collect_seq(elements.iter().map(Canonical)),
            Value::Number(number) => match PlainNumber::of(number) {
                PlainNumber::Integer(integer) => serializer.serialize_i128(integer),
                PlainNumber::Real(real) => serializer.serialize_f64(real),
            },
            other => other.serialize(serializer),
        }
    }
}

/// An object without what changes when nothing does.
struct Content<'a>(&'a Value);

impl Serialize for Content<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Value::Object(object) = self.0 else {
            return Canonical(self.0).serialize(serializer);
        };
        let mut metadata = object.get("metadata").cloned().unwrap_or_default();
        remove(&mut metadata, &["managedFields", "resourceVersion"]);
        remove_our_annotations(&mut metadata);
        let sorted: BTreeMap<&String, &Value> = object.iter().filter(|(key, _)| *key != "metadata").collect();
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("metadata", &Canonical(&metadata))?;
        for (key, value) in sorted {
            map.serialize_entry(key, &Canonical(value))?;
        }
        map.end()
    }
}

#[cfg(test)]
#[path = "digest_tests.rs"]
mod tests;
