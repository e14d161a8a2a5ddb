//! A claim as the machine reads it.

use jiff::Timestamp;
use serde_json::Value;

use super::names;
use crate::composite::names::PAUSED;

/// A claim, in the version in which its definition is referred to.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The whole object, without managed fields.
    pub object: Value,
}

impl Claim {
    /// An object as the API server holds it.
    pub fn new(object: Value) -> Self {
        Self { object }
    }

    fn text(&self, pointer: &str) -> &str {
        let value = self.object.pointer(pointer);
        value.and_then(Value::as_str).unwrap_or_default()
    }

    /// `group/version`.
    pub fn api_version(&self) -> &str {
        self.text("/apiVersion")
    }

    /// Kind.
    pub fn kind(&self) -> &str {
        self.text("/kind")
    }

    /// Name.
    pub fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// Namespace.
    pub fn namespace(&self) -> &str {
        self.text("/metadata/namespace")
    }

    /// Uid.
    pub fn uid(&self) -> &str {
        self.text("/metadata/uid")
    }

    /// `resourceVersion`.
    pub fn resource_version(&self) -> &str {
        self.text("/metadata/resourceVersion")
    }

    /// Generation: it counts changes of the spec.
    pub fn generation(&self) -> i64 {
        self.object["metadata"]["generation"].as_i64().unwrap_or_default()
    }

    /// When it was created.
    pub fn created(&self) -> Option<Timestamp> {
        self.text("/metadata/creationTimestamp").parse().ok()
    }

    /// It has a `deletionTimestamp`.
    pub fn is_deleting(&self) -> bool {
        !self.object["metadata"]["deletionTimestamp"].is_null()
    }

    /// Since when it is being deleted.
    pub fn deletion_time(&self) -> Option<Timestamp> {
        self.text("/metadata/deletionTimestamp").parse().ok()
    }

    /// Its `compositeDeletePolicy` asks to stay until its composite resource is gone, whatever the operator has chosen.
    pub fn deletes_in_foreground(&self) -> bool {
        self.text("/spec/compositeDeletePolicy") == "Foreground"
    }

    /// It bears our finalizer.
    pub fn has_finalizer(&self) -> bool {
        let finalizers = self.object["metadata"]["finalizers"].as_array();
        finalizers
            .into_iter()
            .flatten()
            .any(|one| one == names::FINALIZER)
    }

    /// Value of an annotation.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.object["metadata"]["annotations"].get(name)?.as_str()
    }

    /// It is paused by a person.
    pub fn is_paused(&self) -> bool {
        self.annotation(PAUSED) == Some("true")
    }

    /// Its spec; `Null` if it has none.
    pub fn spec(&self) -> &Value {
        &self.object["spec"]
    }

    /// Name of the composite resource that it names.
    pub fn composite(&self) -> Option<&str> {
        let name = self.spec()["resourceRef"]["name"].as_str()?;
        Some(name).filter(|name| !name.is_empty())
    }

    /// Its status; `Null` if it has none.
    pub fn status(&self) -> &Value {
        &self.object["status"]
    }

    /// One of its conditions.
    pub fn condition(&self, type_: &str) -> Option<&Value> {
        let conditions = self.status()["conditions"].as_array()?;
        conditions.iter().find(|condition| condition["type"] == type_)
    }
}
