//! The fields of a definition.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{API_VERSION, DefinitionRejected, KIND};
use crate::controller_ref::ControllerRef;

/// Where composite resources of a type live, and where their machinery fields stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum Scope {
    /// Cluster-scoped, with claims and connection Secrets, as in Crossplane v1.
    LegacyCluster,
    /// In a namespace.
    Namespaced,
    /// Cluster-scoped.
    Cluster,
}

/// When a composite resource moves to a newer revision of its composition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum UpdatePolicy {
    /// At once.
    Automatic,
    /// When its revision reference is changed.
    Manual,
}

impl UpdatePolicy {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Automatic => "Automatic",
            Self::Manual => "Manual",
        }
    }
}

/// How a claim that is deleted deletes its composite resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum DeletePolicy {
    /// The claim goes before what the composite resource composed.
    Background,
    /// The claim goes last.
    Foreground,
}

impl DeletePolicy {
    /// As it is written.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Background => "Background",
            Self::Foreground => "Foreground",
        }
    }
}

/// Names of a kind. Empty: not given, the API server fills in what it needs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Names {
    /// Kind.
    pub kind: String,
    /// Plural; part of the CRD's name.
    pub plural: String,
    /// Singular.
    #[serde(default)]
    pub singular: Option<String>,
    /// Kind of lists.
    #[serde(default)]
    pub list_kind: Option<String>,
    /// Short names.
    #[serde(default)]
    pub short_names: Option<Vec<String>>,
    /// Categories, without those that every composite resource or claim is in.
    #[serde(default)]
    pub categories: Option<Vec<String>>,
}

/// One version of the type.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DefinitionVersion {
    /// Such as `v1alpha1`.
    pub name: String,
    /// The API server serves it.
    pub served: bool,
    /// It is the one that is stored, and in which the bridge reads and writes.
    pub referenceable: bool,
    /// Schema of the author; the API server judges it.
    #[serde(default)]
    schema: Option<VersionSchema>,
    /// Its users are warned.
    #[serde(default)]
    pub deprecated: Option<bool>,
    /// The text of the warning.
    #[serde(default)]
    pub deprecation_warning: Option<String>,
    /// Columns of the author, which stand before the usual ones.
    #[serde(default)]
    pub additional_printer_columns: Option<Vec<Value>>,
    /// What of the subresources the author may choose.
    #[serde(default)]
    subresources: Option<Subresources>,
}

impl DefinitionVersion {
    /// The author's schema; `None`: there is none.
    pub fn schema(&self) -> Option<&Value> {
        self.schema.as_ref()?.open_api_v3_schema.as_ref()
    }

    /// Paths of the scale subresource; `None`: there is none.
    pub fn scale(&self) -> Option<&Value> {
        self.subresources.as_ref()?.scale.as_ref()
    }
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct VersionSchema {
    #[serde(default, rename = "openAPIV3Schema")]
    open_api_v3_schema: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Subresources {
    #[serde(default)]
    scale: Option<Value>,
}

/// What is copied into the metadata of the CRDs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct ExtraMetadata {
    /// On top of the definition's own labels.
    #[serde(default)]
    pub labels: Option<BTreeMap<String, String>>,
    /// The only ones: the definition's own are not copied.
    #[serde(default)]
    pub annotations: Option<BTreeMap<String, String>>,
}

/// A definition with all that the bridge reads of it. Defaults of the API server are filled in where the object lacks them, as in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// Name: `<plural>.<group>`.
    pub name: String,
    /// The one object that is meant; empty in a file.
    pub uid: String,
    /// Counts changes of the spec.
    pub generation: i64,
    /// It is being deleted.
    pub is_deleting: bool,
    /// Its own labels.
    pub labels: BTreeMap<String, String>,
    /// API group of the type.
    pub group: String,
    /// Names of the composite resources.
    pub names: Names,
    /// Where they live.
    pub scope: Scope,
    /// Names of the claims; `None`: none are offered.
    pub claim_names: Option<Names>,
    /// Keys of connection Secrets that are published; empty: all.
    pub connection_keys: Vec<String>,
    /// Default of claims; `None`: none.
    pub default_delete_policy: Option<DeletePolicy>,
    /// Composition of those that name none.
    pub default_composition: Option<String>,
    /// Composition of all, whatever they name.
    pub enforced_composition: Option<String>,
    /// The selector has `matchExpressions`, too.
    pub selects_by_expressions: bool,
    /// Labels of the revisions to choose from, for those that say nothing about it.
    pub default_revision_selector: Option<BTreeMap<String, String>>,
    /// Default of composite resources; `None`: none.
    pub default_update_policy: Option<UpdatePolicy>,
    /// In the author's order.
    pub versions: Vec<DefinitionVersion>,
    /// How the API server converts between versions, as a CRD has it.
    pub conversion: Option<Value>,
    /// For the CRDs.
    pub metadata: ExtraMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written {
    api_version: String,
    metadata: ObjectMetadata,
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectMetadata {
    name: String,
    #[serde(default)]
    uid: String,
    #[serde(default)]
    generation: i64,
    #[serde(default)]
    deletion_timestamp: Option<String>,
    #[serde(default)]
    labels: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Spec {
    group: String,
    names: Names,
    #[serde(default)]
    scope: Option<Scope>,
    #[serde(default)]
    claim_names: Option<Names>,
    #[serde(default)]
    connection_secret_keys: Option<Vec<String>>,
    #[serde(default)]
    default_composite_delete_policy: Option<DeletePolicy>,
    #[serde(default)]
    default_composition_ref: Option<NameRef>,
    #[serde(default)]
    enforced_composition_ref: Option<NameRef>,
    #[serde(default)]
    default_composition_revision_selector: Option<LabelSelector>,
    #[serde(default)]
    default_composition_update_policy: Option<UpdatePolicy>,
    versions: Vec<DefinitionVersion>,
    #[serde(default)]
    conversion: Option<Value>,
    #[serde(default)]
    metadata: Option<ExtraMetadata>,
}

#[derive(Deserialize)]
struct NameRef {
    name: String,
}

/// The schema of composite resources knows `matchLabels` alone, and so does the choice.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LabelSelector {
    #[serde(default)]
    match_labels: Option<BTreeMap<String, String>>,
    #[serde(default)]
    match_expressions: Option<Vec<Value>>,
}

impl Definition {
    /// Reads a definition of either version. That the CRDs can be made of it is not judged.
    ///
    /// # Errors
    /// [`DefinitionRejected::Field`]: a field is missing, or not what it must be.
    pub fn read(object: &Value) -> Result<Self, DefinitionRejected> {
        let written: Written =
            serde_path_to_error::deserialize(object).map_err(|error| DefinitionRejected::Field {
                field: error.path().to_string(),
                why: error.inner().to_string(),
            })?;
        let Written {
            api_version,
            metadata,
            spec,
        } = written;
        let is_v1 = api_version == API_VERSION;
        let selector = spec.default_composition_revision_selector;
        let selects_by_expressions = selector
            .as_ref()
            .and_then(|selector| selector.match_expressions.as_ref())
            .is_some_and(|expressions| !expressions.is_empty());
        let (scope, delete_policy) = if is_v1 {
            (Scope::LegacyCluster, Some(DeletePolicy::Background))
        } else {
            (Scope::Namespaced, None)
        };
        Ok(Self {
            name: metadata.name,
            uid: metadata.uid,
            generation: metadata.generation,
            is_deleting: metadata.deletion_timestamp.is_some(),
            labels: metadata.labels.unwrap_or_default(),
            group: spec.group,
            names: spec.names,
            scope: spec.scope.unwrap_or(scope),
            claim_names: spec.claim_names,
            connection_keys: spec.connection_secret_keys.unwrap_or_default(),
            default_delete_policy: spec.default_composite_delete_policy.or(delete_policy),
            default_composition: spec.default_composition_ref.map(|reference| reference.name),
            enforced_composition: spec.enforced_composition_ref.map(|reference| reference.name),
            selects_by_expressions,
            default_revision_selector: selector.map(|selector| selector.match_labels.unwrap_or_default()),
            default_update_policy: spec
                .default_composition_update_policy
                .or(Some(UpdatePolicy::Automatic)),
            versions: spec.versions,
            conversion: spec.conversion,
            metadata: spec.metadata.unwrap_or_default(),
        })
    }

    /// As it stands on what it controls.
    pub fn controller_ref(&self) -> ControllerRef {
        ControllerRef {
            api_version: API_VERSION.into(),
            kind: KIND.into(),
            name: self.name.clone(),
            uid: self.uid.clone(),
        }
    }
}
