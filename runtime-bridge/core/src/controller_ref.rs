//! The owner reference that says which object controls another.

use serde_json::{Value, json};

/// The one owner that controls an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ControllerRef {
    /// API group and version, as the owner's writer knows it.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// Name; of the object's own namespace, or cluster-scoped.
    pub name: String,
    /// The one object that is meant: its namesakes are others.
    pub uid: String,
}

impl ControllerRef {
    /// The controller of an object; `None`: it has none.
    pub fn of(object: &Value) -> Option<Self> {
        let references = object.pointer("/metadata/ownerReferences")?.as_array()?;
        let controller = references.iter().find(|owner| owner["controller"] == true)?;
        let text = |field: &str| controller[field].as_str().unwrap_or_default().to_owned();
        Some(Self {
            api_version: text("apiVersion"),
            kind: text("kind"),
            name: text("name"),
            uid: text("uid"),
        })
    }

    /// As it stands in `metadata.ownerReferences`: the owner cannot be deleted in the foreground before what it controls.
    pub fn to_value(&self) -> Value {
        json!({
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        })
    }

    /// Makes it the controller of an object, in place of the one that it has. Other owners stay.
    pub fn set_on(&self, object: &mut Value) {
        let references = &mut object["metadata"]["ownerReferences"];
        let mut kept: Vec<Value> = references.as_array().cloned().unwrap_or_default();
        kept.retain(|owner| owner["controller"] != true && owner["uid"] != self.uid.as_str());
        kept.push(self.to_value());
        *references = Value::from(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_controller_takes_the_place_of_the_old_one() {
        let plain = json!({ "apiVersion": "v1", "kind": "Node", "name": "n", "uid": "9" });
        let old = json!({ "apiVersion": "v1", "kind": "Old", "name": "o", "uid": "1", "controller": true });
        let mut object = json!({ "metadata": { "ownerReferences": [old, plain] } });
        let new = ControllerRef {
            api_version: "example.org/v1".into(),
            kind: "New".into(),
            name: "n".into(),
            uid: "2".into(),
        };
        new.set_on(&mut object);
        assert_eq!(
            object["metadata"]["ownerReferences"],
            json!([plain, new.to_value()])
        );
        assert_eq!(ControllerRef::of(&object), Some(new));
        assert_eq!(ControllerRef::of(&json!({ "metadata": {} })), None);
    }
}
