//! Which object, whatever its version.

use std::fmt;

use crate::watch_plan::GroupKind;

/// Names one object of the cluster, in whatever version it is read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// API group; empty for the core group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// `None`: cluster-scoped.
    pub namespace: Option<String>,
    /// `metadata.name`.
    pub name: String,
}

impl ObjectId {
    /// Its group and kind.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(&self.group, &self.kind)
    }
}

/// `Bucket.s3.aws.crossbridge.dev "team/logs"`.
impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} \"", self.group_kind())?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        write!(f, "{}\"", self.name)
    }
}

/// API group of an `apiVersion`.
pub(super) fn group_of(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}
