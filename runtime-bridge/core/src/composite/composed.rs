//! A composed resource as it is written.

use serde_json::{Value, json};

use super::{
    ResourceRef,
    desired::ComposedResource,
    digest::{AppliedMark, BodyDigest, Written},
    live::LiveObject,
    names,
};

impl ComposedResource {
    /// Its entry in the composite resource. `home`: that one is namespaced, so that the namespace is not repeated.
    pub fn reference(&self, home: bool) -> ResourceRef {
        ResourceRef {
            api_version: self.api_version.clone(),
            kind: self.id.kind.clone(),
            namespace: self.id.namespace.clone().filter(|_| !home),
            name: self.id.name.clone(),
        }
    }

    /// Digest of what is desired.
    pub fn digest(&self) -> BodyDigest {
        BodyDigest::of(&self.body)
    }

    /// What creates it.
    pub fn created(&self) -> Value {
        self.marked(Written::Created)
    }

    /// What is applied to it.
    pub fn applied(&self) -> Value {
        self.marked(Written::Applied)
    }

    fn marked(&self, written: Written) -> Value {
        let mark = AppliedMark {
            written,
            digest: self.digest(),
        };
        let mut body = self.body.clone();
        let metadata = &mut body["metadata"];
        if !metadata["annotations"].is_object() {
            metadata["annotations"] = json!({});
        }
        metadata["annotations"][names::APPLIED] = mark.to_string().into();
        body
    }
}

impl LiveObject {
    /// How it was written last, by its mark.
    pub(crate) fn mark(&self) -> Option<AppliedMark> {
        AppliedMark::parse(self.annotation(names::APPLIED)?)
    }
}
