//! A usage as the machine reads it.

use std::{collections::BTreeMap, ops::Deref};

use serde_json::Value;

use super::{names, record::Record};
use crate::{
    composite::{LiveObject, ResourceRef},
    rule::Rule,
};

/// A usage of any of the three kinds.
#[derive(Debug, Clone, PartialEq)]
pub struct Usage(pub LiveObject);

impl Deref for Usage {
    type Target = LiveObject;

    fn deref(&self) -> &LiveObject {
        &self.0
    }
}

/// Objects of this kind are usages.
pub fn is_usage(group: &str, kind: &str) -> bool {
    match group {
        names::GROUP => kind == "Usage" || kind == "ClusterUsage",
        names::LEGACY_GROUP => kind == "Usage",
        _ => false,
    }
}

/// Which of its two resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// `spec.of`.
    Used,
    /// `spec.by`.
    Using,
}

impl Side {
    /// Field of the spec.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Used => "of",
            Self::Using => "by",
        }
    }

    /// For people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Used => "used resource",
            Self::Using => "using resource",
        }
    }
}

/// How a usage names one of its resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Naming {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Where it is, if its kind is namespaced.
    pub namespace: Option<String>,
    /// By name or by labels.
    pub which: Which,
}

/// By what one object is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    /// Its name.
    Name(String),
    /// The first that bears all labels.
    Selector(Selector),
}

/// Selects objects.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selector {
    /// All of them.
    pub labels: BTreeMap<String, String>,
    /// And the same controller as the usage.
    pub same_controller: bool,
}

impl Naming {
    /// The object of this name. `namespaced`: its kind is.
    pub fn reference(&self, name: &str, namespaced: bool) -> ResourceRef {
        ResourceRef {
            api_version: self.api_version.clone(),
            kind: self.kind.clone(),
            namespace: self.namespace.clone().filter(|_| namespaced),
            name: name.to_owned(),
        }
    }
}

impl Usage {
    /// An object as the API server holds it.
    pub fn new(object: Value) -> Self {
        Self(LiveObject::new(object))
    }

    fn text(&self, pointer: &str) -> &str {
        let value = self.object().pointer(pointer);
        value.and_then(Value::as_str).unwrap_or_default()
    }

    /// Kind.
    pub fn kind(&self) -> &str {
        self.text("/kind")
    }

    /// Name.
    pub fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// `None`: it is of a cluster-scoped kind.
    pub fn namespace(&self) -> Option<&str> {
        Some(self.text("/metadata/namespace")).filter(|namespace| !namespace.is_empty())
    }

    /// Generation: it counts changes of the spec.
    pub fn generation(&self) -> i64 {
        self.object()["metadata"]["generation"]
            .as_i64()
            .unwrap_or_default()
    }

    /// It bears our finalizer.
    pub fn has_finalizer(&self) -> bool {
        self.finalizers().any(|one| one == names::FINALIZER)
    }

    /// `Usage default/protect-db`.
    pub fn title(&self) -> String {
        match self.namespace() {
            Some(namespace) => format!("{} {namespace}/{}", self.kind(), self.name()),
            None => format!("{} {}", self.kind(), self.name()),
        }
    }

    /// How it names one of its resources; `None`: it does not.
    pub fn naming(&self, side: Side) -> Option<Naming> {
        let named = &self.object()["spec"][side.field()];
        let text = |value: &Value| {
            value
                .as_str()
                .filter(|text| !text.is_empty())
                .map(ToOwned::to_owned)
        };
        let (reference, selector) = (&named["resourceRef"], &named["resourceSelector"]);
        let which = match text(&reference["name"]) {
            Some(name) => Which::Name(name),
            None if selector.is_object() => Which::Selector(self::selector(selector)),
            None => return None,
        };
        // What uses something is where its usage is.
        let elsewhere = match &which {
            Which::Name(_) => text(&reference["namespace"]),
            Which::Selector(_) => text(&selector["namespace"]),
        };
        let elsewhere = elsewhere.filter(|_| side == Side::Used && self.namespace().is_some());
        Some(Naming {
            api_version: text(&named["apiVersion"]).unwrap_or_default(),
            kind: text(&named["kind"]).unwrap_or_default(),
            namespace: elsewhere.or_else(|| self.namespace().map(ToOwned::to_owned)),
            which,
        })
    }

    /// A refused deletion is to be done when nothing uses the resource any more.
    pub fn replays_deletion(&self) -> bool {
        self.object()["spec"]["replayDeletion"] == true
    }

    /// What uses what, or why it may not be deleted, once the names are known.
    pub fn details(&self, used: &str, using: Option<&str>) -> String {
        let spec = &self.object()["spec"];
        if let Some(reason) = spec["reason"].as_str().filter(|reason| !reason.is_empty()) {
            return reason.to_owned();
        }
        let kind = |side: Side| spec[side.field()]["kind"].as_str().unwrap_or_default();
        let Some(using) = using else {
            return "undefined".to_owned();
        };
        let mut details = format!("{}/{using} uses {}/{used}", kind(Side::Using), kind(Side::Used));
        let naming = self.naming(Side::Used);
        let namespace = naming.and_then(|naming| naming.namespace);
        if let Some(namespace) = namespace.filter(|namespace| Some(namespace.as_str()) != self.namespace()) {
            details += &format!(" in namespace {namespace}");
        }
        details
    }

    /// The objects that it is about, as they were found first. That of a former self speaks of objects that may be no more.
    pub fn record(&self) -> Option<Record> {
        let record = Record::parse(self.annotation(names::RECORD)?)?;
        let is_its_own = record.usage.is_empty() || record.usage == self.uid();
        (is_its_own || Rule::UsageRecordIsItsOwn.is_off()).then_some(record)
    }

    /// Uid of what uses the resource: as recorded, else as the owner reference has it that Crossplane sets.
    pub fn using_uid(&self) -> Option<String> {
        if let Some(record) = self.record() {
            return record.by.map(|by| by.uid);
        }
        // Of a former self, the owner reference is that one's, too.
        if self.annotation(names::RECORD).is_some() {
            return None;
        }
        let naming = self.naming(Side::Using)?;
        let Which::Name(name) = naming.which else {
            return None;
        };
        let owners = self.object()["metadata"]["ownerReferences"].as_array()?;
        let is_it = |owner: &&Value| {
            owner["controller"] != true
                && owner["kind"] == naming.kind.as_str()
                && owner["name"] == name.as_str()
        };
        owners.iter().find(is_it)?["uid"].as_str().map(ToOwned::to_owned)
    }

    /// Its status; `Null` if it has none.
    pub fn status(&self) -> &Value {
        &self.object()["status"]
    }

    /// One of its conditions.
    pub fn condition(&self, type_: &str) -> Option<&Value> {
        let conditions = self.status()["conditions"].as_array()?;
        conditions.iter().find(|condition| condition["type"] == type_)
    }
}

fn selector(value: &Value) -> Selector {
    let labels = value["matchLabels"].as_object().into_iter().flatten();
    Selector {
        labels: labels
            .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect(),
        same_controller: value["matchControllerRef"] == true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn usage(spec: &Value) -> Usage {
        Usage::new(json!({
            "apiVersion": "protection.crossplane.io/v1beta1", "kind": "Usage",
            "metadata": {"name": "protect-db", "namespace": "team", "uid": "u"}, "spec": spec,
        }))
    }

    #[test]
    fn a_reference_goes_before_a_selector() {
        let both = usage(&json!({"of": {
            "apiVersion": "v1", "kind": "ConfigMap", "resourceRef": {"name": "db"},
            "resourceSelector": {"matchLabels": {"a": "b"}, "matchControllerRef": true, "namespace": "other"},
        }}));
        let naming = both.naming(Side::Used).unwrap();
        assert_eq!(
            naming,
            Naming {
                api_version: "v1".to_owned(),
                kind: "ConfigMap".to_owned(),
                namespace: Some("team".to_owned()),
                which: Which::Name("db".to_owned()),
            }
        );
        assert_eq!(naming.reference("db", false).namespace, None);
        let mut selected = both;
        selected.0.object_mut()["spec"]["of"]["resourceRef"] = Value::Null;
        let naming = selected.naming(Side::Used).unwrap();
        assert_eq!(naming.namespace.as_deref(), Some("other"));
        let selector = Selector {
            labels: [("a".to_owned(), "b".to_owned())].into(),
            same_controller: true,
        };
        assert_eq!(naming.which, Which::Selector(selector));
        assert_eq!(selected.naming(Side::Using), None);
    }

    #[test]
    fn details_are_those_of_crossplane() {
        let of = |reason: Value, by: bool, namespace: Value| {
            let mut spec =
                json!({"of": {"kind": "Db", "resourceRef": {"name": "db", "namespace": namespace}}});
            if by {
                spec["by"] = json!({"kind": "App", "resourceRef": {"name": "app"}});
            }
            spec["reason"] = reason;
            usage(&spec).details("db", by.then_some("app"))
        };
        assert_eq!(of(json!("because"), true, Value::Null), "because");
        assert_eq!(of(Value::Null, true, Value::Null), "App/app uses Db/db");
        assert_eq!(of(Value::Null, true, json!("team")), "App/app uses Db/db");
        assert_eq!(
            of(Value::Null, true, json!("x")),
            "App/app uses Db/db in namespace x"
        );
        assert_eq!(of(Value::Null, false, Value::Null), "undefined");
    }

    #[test]
    fn the_owner_reference_of_crossplane_names_the_using_object() {
        let mut of = usage(&json!({"by": {"kind": "App", "resourceRef": {"name": "app"}}}));
        assert_eq!(of.using_uid(), None);
        of.0.object_mut()["metadata"]["ownerReferences"] = json!([
            {"kind": "App", "name": "app", "uid": "controller", "controller": true},
            {"kind": "App", "name": "other", "uid": "x"},
            {"kind": "App", "name": "app", "uid": "1"},
        ]);
        assert_eq!(of.using_uid().as_deref(), Some("1"));
        let record = Record::parse(
            r#"{"usage":"u","of":{"apiVersion":"v1","kind":"Db","name":"db","uid":"2"},
            "by":{"apiVersion":"v1","kind":"App","name":"app","uid":"3"}}"#,
        )
        .unwrap();
        of.0.object_mut()["metadata"]["annotations"] = json!({names::RECORD: record.to_string()});
        assert_eq!(of.using_uid().as_deref(), Some("3"));
        // Restored from a backup.
        of.0.object_mut()["metadata"]["uid"] = "another".into();
        assert_eq!(of.using_uid(), None);
    }
}
