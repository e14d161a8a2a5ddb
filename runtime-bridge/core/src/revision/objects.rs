//! Compositions and revisions as the bridge reads them. The API server has checked them against their schemas: what is missing is empty.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{COMPOSITION, COMPOSITION_HASH, COMPOSITION_NAME};
use crate::{controller_ref::ControllerRef, definition::API_VERSION};

/// The type that a composition composes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeRef {
    /// API group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
}

impl TypeRef {
    fn of(object: &Value) -> Self {
        let reference = &object["spec"]["compositeTypeRef"];
        Self {
            api_version: text(&reference["apiVersion"]),
            kind: text(&reference["kind"]),
        }
    }
}

/// A composition.
#[derive(Debug, Clone, PartialEq)]
pub struct Composition {
    /// Name.
    pub name: String,
    /// The one object that is meant.
    pub uid: String,
    /// It is being deleted.
    pub is_deleting: bool,
    /// Labels, by which composite resources select it.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// What it composes.
    pub type_ref: TypeRef,
    /// Spec.
    pub spec: Value,
}

impl Composition {
    /// Reads an object as the API server holds it.
    pub fn read(object: &Value) -> Self {
        let metadata = &object["metadata"];
        Self {
            name: text(&metadata["name"]),
            uid: text(&metadata["uid"]),
            is_deleting: !metadata["deletionTimestamp"].is_null(),
            labels: texts(&metadata["labels"]),
            annotations: texts(&metadata["annotations"]),
            type_ref: TypeRef::of(object),
            spec: object["spec"].clone(),
        }
    }

    /// As it stands on its revisions.
    pub fn controller_ref(&self) -> ControllerRef {
        ControllerRef {
            api_version: API_VERSION.into(),
            kind: COMPOSITION.into(),
            name: self.name.clone(),
            uid: self.uid.clone(),
        }
    }
}

/// What the status of a revision says about its pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Validity {
    /// Condition `ValidPipeline` is true.
    Valid,
    /// It is not, and why.
    Invalid(String),
    /// Nothing is said yet.
    Unknown,
}

/// A revision of a composition.
#[derive(Debug, Clone, PartialEq)]
pub struct Revision {
    /// Name.
    pub name: String,
    /// The one object that is meant.
    pub uid: String,
    /// The version that was read.
    pub resource_version: String,
    /// It is being deleted.
    pub is_deleting: bool,
    /// Labels: those of the composition, and two more.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// What controls it: its composition, unless it was restored without owners.
    pub controller: Option<ControllerRef>,
    /// The highest is the latest.
    pub number: i64,
    /// What it composes.
    pub type_ref: TypeRef,
    /// Its pipeline can be run.
    pub validity: Validity,
    /// Spec: that of the composition, and the number.
    pub spec: Value,
}

impl Revision {
    /// Reads an object as the API server holds it.
    pub fn read(object: &Value) -> Self {
        let metadata = &object["metadata"];
        Self {
            name: text(&metadata["name"]),
            uid: text(&metadata["uid"]),
            resource_version: text(&metadata["resourceVersion"]),
            is_deleting: !metadata["deletionTimestamp"].is_null(),
            labels: texts(&metadata["labels"]),
            annotations: texts(&metadata["annotations"]),
            controller: ControllerRef::of(object),
            number: object["spec"]["revision"].as_i64().unwrap_or_default(),
            type_ref: TypeRef::of(object),
            validity: validity(object),
            spec: object["spec"].clone(),
        }
    }

    /// Name of its composition by its label.
    pub fn composition(&self) -> Option<&str> {
        self.labels.get(COMPOSITION_NAME).map(String::as_str)
    }

    /// Label of the digest of its content.
    pub(super) fn hash(&self) -> Option<&str> {
        self.labels.get(COMPOSITION_HASH).map(String::as_str)
    }

    /// This very object controls it.
    pub fn is_controlled_by(&self, uid: &str) -> bool {
        self.controller
            .as_ref()
            .is_some_and(|controller| controller.uid == uid)
    }

    /// Names of the functions of its pipeline, in order.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        let steps = self.spec["pipeline"].as_array().into_iter().flatten();
        steps.filter_map(|step| step["functionRef"]["name"].as_str())
    }
}

fn validity(object: &Value) -> Validity {
    let conditions = object["status"]["conditions"].as_array();
    let condition = conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == "ValidPipeline");
    match condition {
        Some(condition) if condition["status"] == "True" => Validity::Valid,
        Some(condition) => match text(&condition["message"]) {
            message if message.is_empty() => Validity::Invalid("pipeline status unknown".to_owned()),
            message => Validity::Invalid(message),
        },
        None => Validity::Unknown,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn texts(value: &Value) -> BTreeMap<String, String> {
    let entries = value.as_object().into_iter().flatten();
    entries.map(|(name, value)| (name.clone(), text(value))).collect()
}
