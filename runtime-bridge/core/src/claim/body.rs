//! What a claim wants of its composite resource, as it is written.

use serde_json::Value;

use crate::composite::{AppliedMark, BodyDigest, Written, names};

/// What a claim wants of its composite resource.
#[derive(Debug, Clone, PartialEq)]
pub struct CompositeBody {
    api_version: String,
    kind: String,
    content: Value,
}

impl CompositeBody {
    /// `content`: labels, annotations and spec.
    pub(super) fn new(api_version: String, kind: &str, content: Value) -> Self {
        Self {
            api_version,
            kind: kind.to_owned(),
            content,
        }
    }

    /// Labels, annotations and spec.
    pub(super) fn content(&self) -> &Value {
        &self.content
    }

    /// Digest of what is wanted.
    pub(super) fn digest(&self) -> BodyDigest {
        BodyDigest::of(&self.content)
    }

    /// What creates it.
    pub fn created(&self, name: &str) -> Value {
        let mut body = self.marked(Written::Created);
        body["metadata"]["name"] = name.into();
        body
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
        let mut body = self.content.clone();
        body["metadata"]["annotations"][names::APPLIED] = mark.to_string().into();
        body["apiVersion"] = self.api_version.as_str().into();
        body["kind"] = self.kind.as_str().into();
        body
    }
}
