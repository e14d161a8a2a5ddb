//! Composed resources as they are found.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use jiff::Timestamp;
use serde_json::Value;

use super::{digest::ContentDigest, names};
use crate::{reasons::ConditionReason, rule::Rule};

/// What is known of an object that a composite resource refers to, or would create.
#[derive(Debug, Clone, PartialEq)]
pub enum ObjectState {
    /// It exists.
    Exists(Arc<LiveObject>),
    /// A watch that is live, or a read, shows none of this name.
    Absent,
    /// Its kind is not served: nothing of it exists.
    KindGone,
    /// Nothing is known, and why.
    Unknown(String),
}

/// An object as it was read.
#[derive(Clone)]
pub struct LiveObject {
    object: Value,
    /// As long as that is not changed.
    content: OnceLock<ContentDigest>,
}

impl PartialEq for LiveObject {
    fn eq(&self, other: &Self) -> bool {
        self.object == other.object
    }
}

impl std::fmt::Debug for LiveObject {
    /// What identifies it: its content may be a Secret's.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {} uid {} version {}",
            self.object["kind"].as_str().unwrap_or_default(),
            self.text("/metadata/name"),
            self.uid(),
            self.resource_version()
        )
    }
}

impl LiveObject {
    /// A whole object, without managed fields.
    pub fn new(object: Value) -> Self {
        Self {
            object,
            content: OnceLock::new(),
        }
    }

    /// The whole object, without managed fields.
    pub fn object(&self) -> &Value {
        &self.object
    }

    /// The same, for whoever needs nothing else.
    pub fn into_object(self) -> Value {
        self.object
    }

    /// The same, to be changed.
    pub fn object_mut(&mut self) -> &mut Value {
        self.content = OnceLock::new();
        &mut self.object
    }

    /// [`ContentDigest::of_object`], made once.
    pub fn content(&self) -> ContentDigest {
        *self
            .content
            .get_or_init(|| ContentDigest::of_object(&self.object))
    }

    fn text(&self, pointer: &str) -> &str {
        self.object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// Name.
    pub fn name(&self) -> &str {
        self.text("/metadata/name")
    }

    /// Uid.
    pub fn uid(&self) -> &str {
        self.text("/metadata/uid")
    }

    /// `resourceVersion`.
    pub fn resource_version(&self) -> &str {
        self.text("/metadata/resourceVersion")
    }

    /// It has a `deletionTimestamp`.
    pub fn is_deleting(&self) -> bool {
        !self.object["metadata"]["deletionTimestamp"].is_null()
    }

    /// Since when it is being deleted.
    pub fn deletion_time(&self) -> Option<Timestamp> {
        self.text("/metadata/deletionTimestamp").parse().ok()
    }

    /// When its deletion began: of what is given a grace period, `deletionTimestamp` is the end of that.
    pub fn deletion_began(&self) -> Option<Timestamp> {
        let grace = self.object["metadata"]["deletionGracePeriodSeconds"].as_u64();
        Some(self.deletion_time()? - Duration::from_secs(grace.unwrap_or_default()))
    }

    /// One of its conditions.
    pub fn condition(&self, type_: &str) -> Option<&Value> {
        let conditions = self.object["status"]["conditions"].as_array()?;
        conditions.iter().find(|condition| condition["type"] == type_)
    }

    /// What its `Ready` says while it reports to be in deletion, empty if there is nothing to add; `None`: it reports none.
    pub fn deletion_report(&self) -> Option<&str> {
        let ready = self.condition("Ready")?;
        let is_deleting = ready["status"] == "False" && ready["reason"] == ConditionReason::Deleting.as_str();
        is_deleting.then(|| ready["message"].as_str().unwrap_or_default())
    }

    /// Its finalizers.
    pub fn finalizers(&self) -> impl Iterator<Item = &str> {
        let finalizers = self.object["metadata"]["finalizers"].as_array();
        finalizers.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Value of a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.object["metadata"]["labels"].get(name)?.as_str()
    }

    /// When it was created.
    pub fn created(&self) -> Option<Timestamp> {
        self.text("/metadata/creationTimestamp").parse().ok()
    }

    /// Value of an annotation.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.object["metadata"]["annotations"].get(name)?.as_str()
    }

    /// Under which composition resource name it was composed.
    pub fn resource_name(&self) -> Option<&str> {
        self.annotation(names::RESOURCE_NAME)
            .filter(|name| !name.is_empty())
    }

    /// The owner that controls it.
    pub fn controller(&self) -> Option<&Value> {
        let owners = self.object["metadata"]["ownerReferences"].as_array()?;
        owners.iter().find(|owner| owner["controller"] == true)
    }

    /// Whose it is, as a composite resource of this uid sees it.
    pub fn ownership(&self, composite: &str) -> Ownership {
        match self.controller() {
            Some(controller) if controller["uid"] == composite => Ownership::Ours,
            Some(_) if Rule::ForeignIsLeftAlone.is_off() => Ownership::Ours,
            Some(_) => Ownership::Foreign,
            None => Ownership::Uncontrolled,
        }
    }

    /// Kind and name of who controls it, for messages.
    pub fn controller_name(&self) -> String {
        let of = |name: &str| {
            let controller = self.controller();
            controller
                .and_then(|c| c[name].as_str())
                .unwrap_or_default()
                .to_owned()
        };
        format!("{} {:?}", of("kind"), of("name"))
    }
}

/// Whose an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ownership {
    /// The composite resource controls it, by uid.
    Ours,
    /// Nobody controls it.
    Uncontrolled,
    /// Somebody else controls it.
    Foreign,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_digest_is_of_the_object_as_it_is() {
        let mut object = LiveObject::new(json!({"kind": "Part", "spec": {"size": 1}}));
        let former = object.content();
        assert_eq!(object.clone().content(), former);
        object.object_mut()["spec"]["size"] = json!(2);
        assert_eq!(object.content(), ContentDigest::of_object(object.object()));
        assert_ne!(object.content(), former);
    }
}
