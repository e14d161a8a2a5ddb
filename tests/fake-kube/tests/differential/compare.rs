//! Whether two API servers answered alike: versions, uids and times count by the order in which they came.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{draw::Sequence, play::Played};
use crate::server::Answer;

#[derive(Default)]
struct Names {
    versions: BTreeMap<String, String>,
    uids: BTreeMap<String, String>,
}

impl Names {
    fn version(&mut self, version: &str) -> String {
        let next = format!("version {}", self.versions.len());
        self.versions.entry(version.to_owned()).or_insert(next).clone()
    }

    fn uid(&mut self, uid: &str) -> String {
        let next = format!("uid {}", self.uids.len());
        self.uids.entry(uid.to_owned()).or_insert(next).clone()
    }

    fn object(&mut self, object: &Value) -> Value {
        let mut object = object.clone();
        let Some(metadata) = object["metadata"].as_object_mut() else {
            return object;
        };
        metadata.remove("managedFields");
        for field in ["creationTimestamp", "deletionTimestamp"] {
            if let Some(time) = metadata.get_mut(field).filter(|time| time.is_string()) {
                *time = "a time".into();
            }
        }
        if let Some(version) = metadata.get("resourceVersion").and_then(Value::as_str) {
            let version = self.version(version);
            metadata.insert("resourceVersion".to_owned(), version.into());
        }
        if let Some(uid) = metadata.get("uid").and_then(Value::as_str) {
            let uid = self.uid(uid);
            metadata.insert("uid".to_owned(), uid.into());
        }
        object
    }

    /// Of a `Status` what a client may rely on: where an object is invalid, the fields that are, in no order.
    fn status(&mut self, status: &Value) -> Value {
        let details = &status["details"];
        let mut fields: Vec<&str> = details["causes"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|cause| cause["field"].as_str())
            .collect();
        fields.sort_unstable();
        fields.dedup();
        // Where a field is wrong the real server may name the object around it too.
        let all = fields.clone();
        fields.retain(|field| {
            let inside = |other: &&str| other.starts_with(&format!("{field}."));
            !all.iter().any(inside)
        });
        let mut told = json!({
            "status": status["status"], "reason": status["reason"], "code": status["code"],
            "name": details["name"], "group": details["group"], "kind": details["kind"], "fields": fields,
        });
        if let Some(uid) = details["uid"].as_str() {
            told["uid"] = self.uid(uid).into();
        }
        if !matches!(status["reason"].as_str(), Some("Invalid" | "BadRequest")) {
            let mut message = status["message"].as_str().unwrap_or_default().to_owned();
            let mut known: Vec<(String, String)> = self.uids.clone().into_iter().collect();
            // A version of a few digits may be part of anything.
            known.extend(
                self.versions
                    .iter()
                    .map(|(version, name)| (format!("({version})"), format!("({name})"))),
            );
            for (word, name) in known {
                message = message.replace(&word, &name);
            }
            told["message"] = message.into();
        }
        told
    }

    fn answer(&mut self, answer: &Answer) -> Value {
        let body = match answer.body["kind"].as_str() {
            Some("Status") => self.status(&answer.body),
            Some(kind) if kind.ends_with("List") => {
                let items = answer.body["items"].as_array().into_iter().flatten();
                json!({"kind": kind, "items": items.map(|item| self.object(item)).collect::<Vec<_>>()})
            }
            _ => self.object(&answer.body),
        };
        json!({"code": answer.code, "body": body})
    }
}

/// The real server created a new version where nothing but a field manager is new: the first write of a subresource. The fake keeps no
/// managed fields, so that from here on versions and events prove nothing.
fn is_a_managers_version(ours: &Value, theirs: &Value) -> bool {
    const VERSION: &str = "/body/metadata/resourceVersion";
    let version = |answer: &Value| answer.pointer(VERSION).map(Value::to_string);
    let (Some(our_version), Some(their_version)) = (version(ours), version(theirs)) else {
        return false;
    };
    let mut theirs = theirs.clone();
    theirs["body"]["metadata"]["resourceVersion"] = ours["body"]["metadata"]["resourceVersion"].clone();
    our_version != their_version && theirs == *ours
}

/// How far two servers were compared, and what was found.
#[derive(Debug, PartialEq, Eq)]
pub enum Comparison {
    /// To the end, events included.
    Alike,
    /// Up to a version that only a field manager made.
    AlikeSoFar,
    /// They differ here.
    Different(String),
}

/// Compares answers, and then events, up to the first difference.
pub fn compare(steps: &Sequence, fake: &Played, real: &Played) -> Comparison {
    let (mut fakes, mut reals) = (Names::default(), Names::default());
    for (at, step) in steps.steps.iter().enumerate() {
        let pairs = fake.answers[at].iter().zip(&real.answers[at]);
        for (part, (fake, real)) in pairs.enumerate() {
            let (ours, theirs) = (fakes.answer(fake), reals.answer(real));
            if is_a_managers_version(&ours, &theirs) {
                return Comparison::AlikeSoFar;
            }
            if ours != theirs {
                return Comparison::Different(format!(
                    "step {at}.{part} of {}: {step:?}\n  fake: {ours}\n  real: {theirs}\n  real message: {}",
                    steps.plural, real.body["message"]
                ));
            }
        }
    }
    let event = |names: &mut Names, event: &Value| json!([event["type"], names.object(&event["object"])]);
    let count = fake.events.len().max(real.events.len());
    for at in 0..count {
        let ours = fake.events.get(at).map(|one| event(&mut fakes, one));
        let theirs = real.events.get(at).map(|one| event(&mut reals, one));
        if ours != theirs {
            return Comparison::Different(format!(
                "event {at} of {}:\n  fake: {ours:?}\n  real: {theirs:?}",
                steps.plural
            ));
        }
    }
    Comparison::Alike
}
