//! A composite resource as the machine reads it.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value};

use super::{ObjectId, ResourceRef, names};
use crate::{definition::Scope, managed::parse_go};

/// A composite resource (XR) of one version.
#[derive(Debug, Clone, PartialEq)]
pub struct Composite {
    /// The whole object, without managed fields.
    pub object: Value,
    /// Where its machinery fields are.
    pub scope: Scope,
    /// What it refers to, in its order.
    pub refs: Vec<ResourceRef>,
}

impl Composite {
    /// Reads an object as the API server holds it.
    pub fn parse(object: Value, scope: Scope) -> Self {
        let entries = machinery_of(&object, scope).and_then(|machinery| machinery.get("resourceRefs"));
        let refs = entries
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(ResourceRef::parse)
            .collect();
        Self { object, scope, refs }
    }

    /// Each object that it refers to.
    pub fn ids(&self) -> impl Iterator<Item = ObjectId> {
        let home = self.namespace();
        self.refs.iter().map(move |one| one.id(home))
    }

    fn text(&self, pointer: &str) -> &str {
        self.object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
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

    /// Namespace; `None`: cluster-scoped.
    pub fn namespace(&self) -> Option<&str> {
        Some(self.text("/metadata/namespace")).filter(|namespace| !namespace.is_empty())
    }

    /// Uid.
    pub fn uid(&self) -> &str {
        self.text("/metadata/uid")
    }

    /// `resourceVersion`.
    pub fn resource_version(&self) -> &str {
        self.text("/metadata/resourceVersion")
    }

    /// Generation: it counts changes of the spec, those of machinery fields too.
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

    /// It bears this finalizer.
    pub fn has_finalizer(&self, finalizer: &str) -> bool {
        let finalizers = self.object["metadata"]["finalizers"].as_array();
        finalizers.into_iter().flatten().any(|one| one == finalizer)
    }

    /// Value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.object["metadata"]["labels"].get(name)?.as_str()
    }

    /// Value of an annotation.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.object["metadata"]["annotations"].get(name)?.as_str()
    }

    /// It is paused by a person.
    pub fn is_paused(&self) -> bool {
        self.annotation(names::PAUSED) == Some("true")
    }

    /// How often a person wants it to be looked at though nothing changed.
    pub fn poll_interval(&self) -> Option<Duration> {
        parse_go(self.annotation(names::POLL_INTERVAL)?).filter(|interval| !interval.is_zero())
    }

    /// Its machinery fields.
    pub fn machinery(&self) -> Option<&Map<String, Value>> {
        machinery_of(&self.object, self.scope)
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

/// The field below `spec` that holds the machinery fields; `None`: they are in `spec` itself.
pub fn machinery_field(scope: Scope) -> Option<&'static str> {
    match scope {
        Scope::LegacyCluster => None,
        Scope::Namespaced | Scope::Cluster => Some("crossplane"),
    }
}

fn machinery_of(object: &Value, scope: Scope) -> Option<&Map<String, Value>> {
    let spec = object.get("spec")?;
    match machinery_field(scope) {
        Some(field) => spec.get(field)?.as_object(),
        None => spec.as_object(),
    }
}
