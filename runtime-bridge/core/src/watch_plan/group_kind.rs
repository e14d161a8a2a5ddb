use std::{fmt, sync::Arc};

use serde::{Serialize, Serializer};

use crate::kind::ResourceType;

/// API group and kind, whatever the version. Cheap to clone; prints as `Bucket.s3.aws.crossbridge.dev`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupKind {
    group: Arc<str>,
    kind: Arc<str>,
}

impl GroupKind {
    /// `group` is empty for the core group.
    pub fn new(group: &str, kind: &str) -> Self {
        Self {
            group: group.into(),
            kind: kind.into(),
        }
    }

    /// API group; empty for the core group.
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Kind.
    pub fn kind(&self) -> &str {
        &self.kind
    }
}

impl From<&ResourceType> for GroupKind {
    fn from(resource_type: &ResourceType) -> Self {
        Self::new(&resource_type.group, &resource_type.kind)
    }
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(&self.kind)
        } else {
            write!(f, "{}.{}", self.kind, self.group)
        }
    }
}

impl fmt::Debug for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for GroupKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
