//! The content of a revision, in a form in which equal contents are equal, whoever wrote them.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{COMPOSITION_HASH, COMPOSITION_NAME, Composition, Revision};

/// What `kubectl apply` notes: it changes with the form of a file, and says nothing that the object does not.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The longest value of a label.
const LABEL: usize = 63;

/// Digits of the digest that stand in a name, unless it is taken.
const IN_NAME: usize = 7;

/// Labels, annotations and spec, without what revisions have on top, and without what differs in form alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Content(Value);

impl Content {
    /// Of a composition.
    pub fn of(composition: &Composition) -> Self {
        Self::new(&composition.labels, &composition.annotations, &composition.spec)
    }

    /// Of a revision.
    pub fn of_revision(revision: &Revision) -> Self {
        Self::new(&revision.labels, &revision.annotations, &revision.spec)
    }

    fn new(labels: &BTreeMap<String, String>, annotations: &BTreeMap<String, String>, spec: &Value) -> Self {
        let mut content = json!({
            "labels": copied_labels(labels),
            "annotations": copied_annotations(annotations),
            "spec": plain_spec(spec),
        });
        content.sort_all_objects();
        Self(content)
    }

    /// The spec alone is the same.
    pub(super) fn has_spec_of(&self, other: &Self) -> bool {
        self.0["spec"] == other.0["spec"]
    }

    /// SHA-256 in hexadecimal digits.
    pub fn digest(&self) -> String {
        let digest = Sha256::digest(self.0.to_string());
        digest.iter().fold(String::new(), |mut text, byte| {
            // Into a text it cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }

    /// Value of the label.
    pub(super) fn hash(&self) -> String {
        self.digest()[..LABEL].to_owned()
    }

    /// Names for a revision of this content, the usual one first.
    pub(super) fn names(&self, composition: &str) -> impl Iterator<Item = String> {
        let (digest, composition) = (self.digest(), composition.to_owned());
        (IN_NAME..=digest.len()).map(move |digits| format!("{composition}-{}", &digest[..digits]))
    }
}

/// The labels of a composition that its revisions have. The two that are ours say what they say, whatever the composition has there.
pub(super) fn copied_labels(labels: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut copied = labels.clone();
    copied.retain(|name, _| name != COMPOSITION_NAME && name != COMPOSITION_HASH);
    copied
}

/// The annotations of a composition that its revisions have.
pub(super) fn copied_annotations(annotations: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut copied = annotations.clone();
    copied.remove(LAST_APPLIED);
    copied
}

/// Crossplane drops what is empty, save in inputs of functions, when it copies; so does this, or its revisions would never be equal to ours.
fn plain_spec(spec: &Value) -> Value {
    let mut plain = without_empty(spec, "").unwrap_or_else(|| json!({}));
    if let Some(fields) = plain.as_object_mut() {
        fields.remove("revision");
        fields.entry("mode").or_insert_with(|| json!("Pipeline"));
    }
    plain
}

fn without_empty(value: &Value, field: &str) -> Option<Value> {
    match value {
        Value::Null => None,
        input if field == "input" => Some(input.clone()),
        Value::Object(fields) => {
            let kept: serde_json::Map<String, Value> = fields
                .iter()
                .filter_map(|(name, value)| Some((name.clone(), without_empty(value, name)?)))
                .collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        Value::Array(list) => {
            let kept: Vec<Value> = list.iter().filter_map(|value| without_empty(value, "")).collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Some(value.clone()),
    }
}
