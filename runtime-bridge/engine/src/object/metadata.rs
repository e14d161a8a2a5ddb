//! `metadata` of an object, small: objects are kept by the ten thousand.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use serde::{Deserialize, Serialize};

use super::texts::Texts;

/// The fields of Kubernetes' `ObjectMeta`, but `managedFields`: they are half of an object, and the bridge needs nothing of them. They are passed over
/// without being parsed, and may be nested to any depth: those of a deep spec are as deep.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "each is documented by Kubernetes")]
pub struct Metadata {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<Texts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub creation_timestamp: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_grace_period_seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finalizers: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generate_name: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<Texts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner_references: Option<Vec<OwnerReference>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_link: Option<Box<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

impl Metadata {
    /// Without the room that lists were given to grow while they were read: four owner references for one.
    pub(super) fn shrunk(mut self) -> Self {
        self.finalizers.iter_mut().for_each(Vec::shrink_to_fit);
        self.owner_references.iter_mut().for_each(Vec::shrink_to_fit);
        self
    }
}
