//! What is known of one object of a tree.

use bridge_core::composite::{LiveObject, Ownership, ResourceRef, names};
use serde::Serialize;
use serde_json::{Map, Value};

use super::desired::{Compared, Desired};

/// One object of a tree of composite resources, and those below it. It holds no content of the object: that may be a Secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::trace) struct Node {
    pub(super) api_version: String,
    pub(super) kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) uid: Option<String>,
    /// Composition resource name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) resource_name: Option<String>,
    /// Of a composite resource: what composes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) composed_by: Option<ComposedBy>,
    pub(super) existence: Existence,
    /// The object above refers to it.
    pub(super) referenced: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) synced: Option<ConditionState>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ready: Option<ConditionState>,
    /// Of a composite resource: what its last run desires, if its bridge could be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::trace) desired: Option<Desired>,
    /// Of a composite resource: what its bridge reports of it, if it could be asked.
    #[serde(skip)]
    pub(in crate::trace) reported: Option<Value>,
    /// Of a composed resource: how it stands to what the last run of the object above desires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) compared: Option<Compared>,
    /// What a person should know of it beside its conditions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) notes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) children: Vec<Self>,
}

/// Whether an object exists, as far as it could be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::trace) enum Existence {
    /// It exists.
    Exists,
    /// It does not.
    Absent,
    /// The cluster does not serve its kind in this version.
    NotServed,
    /// It cannot be read, and why.
    Unknown(String),
}

/// A condition, as a person reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::trace) struct ConditionState {
    pub(super) status: String,
    pub(super) reason: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(super) message: String,
}

/// What composes a composite resource, as it says itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::trace) struct ComposedBy {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) composition: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) revision: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) update_policy: Option<String>,
}

/// The object above.
#[derive(Debug, Clone, Copy)]
pub(super) enum Parent<'a> {
    /// A composite resource controls what it composed.
    Composite { uid: &'a str },
    /// A claim refers to its composite resource, which refers to it.
    Claim { namespace: &'a str, name: &'a str },
}

impl Node {
    /// One that is not there, or not to be read.
    pub(super) fn missing(reference: &ResourceRef, namespace: Option<&str>, existence: Existence) -> Self {
        Self {
            api_version: reference.api_version.clone(),
            kind: reference.kind.clone(),
            namespace: namespace.map(str::to_owned),
            name: reference.name.clone(),
            uid: None,
            resource_name: None,
            composed_by: None,
            desired: None,
            reported: None,
            compared: None,
            existence,
            referenced: true,
            synced: None,
            ready: None,
            notes: Vec::new(),
            children: Vec::new(),
        }
    }

    /// One that exists. `parent`: `None` at the root.
    pub(super) fn of(object: &Value, parent: Option<Parent>, referenced: bool) -> Self {
        let metadata = &object["metadata"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let live = LiveObject::new(object.clone());
        let mut notes = Vec::new();
        notes.extend(belongs(&live, parent));
        if !referenced {
            notes.push("is not among the references".to_owned());
        }
        if let Some(since) = metadata["deletionTimestamp"].as_str() {
            let finalizers = metadata["finalizers"].as_array().into_iter().flatten();
            let finalizers: Vec<&str> = finalizers.filter_map(Value::as_str).collect();
            notes.push(match finalizers.as_slice() {
                [] => format!("is being deleted since {since}"),
                held => format!("is being deleted since {since}, held by {}", held.join(", ")),
            });
        }
        if live.annotation(names::PAUSED) == Some("true") {
            notes.push("is paused".to_owned());
        }
        let (synced, ready) = (condition(object, "Synced"), condition(object, "Ready"));
        let generation = metadata["generation"].as_i64();
        let stale = [&synced, &ready].into_iter().flatten().find_map(|(_, seen)| {
            let seen = seen.filter(|seen| Some(*seen) != generation)?;
            Some(format!("conditions are of generation {seen}"))
        });
        notes.extend(stale.filter(|_| generation.is_some()));
        Self {
            api_version: text(&object["apiVersion"]).unwrap_or_default(),
            kind: text(&object["kind"]).unwrap_or_default(),
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]).unwrap_or_default(),
            uid: text(&metadata["uid"]),
            resource_name: live.resource_name().map(str::to_owned),
            composed_by: None,
            desired: None,
            reported: None,
            compared: None,
            existence: Existence::Exists,
            referenced,
            synced: synced.map(|(state, _)| state),
            ready: ready.map(|(state, _)| state),
            notes,
            children: Vec::new(),
        }
    }

    /// Of a composite resource: what its machinery fields say.
    pub(super) fn compose(&mut self, machinery: Option<&Map<String, Value>>) {
        let text = |field: &str, name: Option<&str>| {
            let field = machinery?.get(field)?;
            let value = name.map_or(Some(field), |name| field.get(name))?;
            value.as_str().map(str::to_owned)
        };
        self.composed_by = Some(ComposedBy {
            composition: text("compositionRef", Some("name")),
            revision: text("compositionRevisionRef", Some("name")),
            update_policy: text("compositionUpdatePolicy", None),
        });
    }

    /// The composite resource at the top of the tree: this, or that of the claim.
    pub(in crate::trace) fn composite(&self) -> Option<&Self> {
        let is_composite = |node: &&Self| node.composed_by.is_some();
        Some(self)
            .filter(is_composite)
            .or_else(|| self.children.iter().find(is_composite))
    }

    /// What composes it, in a line; `None`: it is no composite resource.
    pub(in crate::trace) fn composed_by(&self) -> Option<String> {
        let by = self.composed_by.as_ref()?;
        let Some(composition) = &by.composition else {
            return Some("composition: none is chosen yet".to_owned());
        };
        let revision = by.revision.as_deref().unwrap_or("none yet");
        let policy = by
            .update_policy
            .as_ref()
            .map(|policy| format!(" ({policy})"))
            .unwrap_or_default();
        Some(format!("composition: {composition}, revision {revision}{policy}"))
    }

    /// Its API group; empty for the core group.
    pub(super) fn group(&self) -> &str {
        self.api_version.rsplit_once('/').map_or("", |(group, _)| group)
    }

    /// In one line: what is wrong, else what its condition says.
    pub(super) fn status(&self) -> String {
        let exists = match &self.existence {
            Existence::Exists => None,
            Existence::Absent => Some("does not exist".to_owned()),
            Existence::NotServed => Some(format!(
                "the cluster does not serve {} in {}",
                self.kind, self.api_version
            )),
            Existence::Unknown(why) => Some(format!("cannot be read: {why}")),
        };
        let unmet = |state: &Option<ConditionState>| state.clone().filter(|state| state.status != "True");
        let condition = unmet(&self.synced)
            .or_else(|| unmet(&self.ready))
            .or_else(|| self.ready.clone())
            .map(|state| state.words());
        let compared = self.compared.as_ref().and_then(Compared::words);
        let parts = exists
            .into_iter()
            .chain(self.notes.iter().cloned())
            .chain(compared)
            .chain(condition);
        let line = parts.collect::<Vec<_>>().join("; ");
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl ConditionState {
    fn words(&self) -> String {
        if self.message.is_empty() {
            self.reason.clone()
        } else {
            format!("{}: {}", self.reason, self.message)
        }
    }
}

/// Why it does not belong to what refers to it; `None`: it does.
fn belongs(object: &LiveObject, parent: Option<Parent>) -> Option<String> {
    match parent? {
        Parent::Composite { uid } => match object.ownership(uid) {
            Ownership::Ours => None,
            Ownership::Uncontrolled => Some("has no controller".to_owned()),
            Ownership::Foreign => Some(format!("is controlled by {}", object.controller_name())),
        },
        Parent::Claim { namespace, name } => {
            let claim = &object.object()["spec"]["claimRef"];
            let of = |field: &str| claim[field].as_str().unwrap_or_default();
            if of("namespace") == namespace && of("name") == name {
                None
            } else if claim.is_null() {
                Some("is bound to no claim".to_owned())
            } else {
                Some(format!(
                    "is bound to another claim: {}/{}",
                    of("namespace"),
                    of("name")
                ))
            }
        }
    }
}

/// With the generation that it is of, if it says so.
fn condition(object: &Value, kind: &str) -> Option<(ConditionState, Option<i64>)> {
    let conditions = object["status"]["conditions"].as_array()?;
    let found = conditions.iter().find(|condition| condition["type"] == kind)?;
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    let state = ConditionState {
        status: text("status"),
        reason: text("reason"),
        message: text("message"),
    };
    Some((state, found["observedGeneration"].as_i64()))
}
