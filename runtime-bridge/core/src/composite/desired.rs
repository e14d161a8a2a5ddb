//! Composed resources as they are to be written, from what the functions desire: metadata, names, namespaces.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::{Map, Value, json};

use crate::{function::DesiredState, rule::Rule, watch_plan::GroupKind};

use super::{
    desired_error::{DesiredError, DesiredWarning},
    digest::{remove, remove_our_annotations},
    name::{child_name, is_valid_name, is_valid_namespace},
    names,
    object_id::{ObjectId, group_of},
};

/// What of the metadata the API server alone decides.
const OF_THE_SERVER: [&str; 8] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// A composite resource as its composed resources name it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CompositeIdentity {
    /// In the version that is referenced.
    pub api_version: String,
    /// Kind.
    pub kind: String,
    /// `metadata.name`.
    pub name: String,
    /// `None`: it is cluster-scoped.
    pub namespace: Option<String>,
    /// `metadata.uid`.
    pub uid: String,
    /// Value of its label [`names::COMPOSITE`]: the name of the root.
    pub root: String,
    /// Name and namespace of its claim, if it bears both labels.
    pub claim: Option<(String, String)>,
}

/// The name that a composed resource already has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ObservedName {
    /// `None`: cluster-scoped.
    pub namespace: Option<String>,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.generateName`.
    pub generate_name: Option<String>,
}

/// Where the objects of a kind live.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Scope {
    /// The API server does not tell, as it does not serve the kind.
    #[default]
    Unknown,
    /// In namespaces.
    Namespaced,
    /// In none.
    Cluster,
}

/// What composed resources depend on beside what is desired.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DesiredContext {
    /// Their composite resource.
    pub composite: CompositeIdentity,
    /// The names of those that exist, by composition resource name and kind.
    pub observed: BTreeMap<(String, GroupKind), ObservedName>,
    /// Of the desired kinds; one that is missing is unknown.
    pub scopes: BTreeMap<GroupKind, Scope>,
}

/// A composed resource as it is to be written.
#[derive(Clone, PartialEq)]
pub struct ComposedResource {
    /// Composition resource name.
    pub resource_name: String,
    /// Which object it is.
    pub id: ObjectId,
    /// Version in which it is desired.
    pub api_version: String,
    /// The object with its metadata; the annotation [`names::APPLIED`] is not in it.
    pub body: Value,
}

impl ComposedResource {
    /// Name of what is outside, if that is desired.
    pub fn external_name(&self) -> Option<&str> {
        self.body["metadata"]["annotations"][names::EXTERNAL_NAME].as_str()
    }
}

/// Shows no content: it may be a Secret.
impl fmt::Debug for ComposedResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComposedResource")
            .field("resource_name", &self.resource_name)
            .field("id", &self.id)
            .field("api_version", &self.api_version)
            .finish_non_exhaustive()
    }
}

/// All that is to be composed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DesiredResources {
    /// By composition resource name: none is missing.
    pub resources: BTreeMap<String, Result<ComposedResource, DesiredError>>,
    /// By composition resource name.
    pub warnings: Vec<DesiredWarning>,
}

/// Gives each desired object its metadata, name and namespace. One that cannot be written spares the others.
///
/// An object that exists keeps its namespace, name and generateName, whatever the function says; one of another kind inherits name and
/// generateName.
pub fn desired_resources(desired: &DesiredState, context: &DesiredContext) -> DesiredResources {
    let mut warnings = Vec::new();
    let mut resources: BTreeMap<String, Result<ComposedResource, DesiredError>> = desired
        .resources
        .iter()
        .map(|(resource_name, resource)| {
            let composer = Composer {
                resource_name,
                context,
            };
            let composed = composer.compose(&resource.object, &mut warnings);
            (resource_name.clone(), composed)
        })
        .collect();
    reject_same_objects(&mut resources);
    DesiredResources { resources, warnings }
}

/// None of them is written: which of them means the object is not ours to guess.
fn reject_same_objects(resources: &mut BTreeMap<String, Result<ComposedResource, DesiredError>>) {
    let mut by_id: BTreeMap<ObjectId, BTreeSet<String>> = BTreeMap::new();
    for composed in resources.values().flatten() {
        let names = by_id.entry(composed.id.clone()).or_default();
        names.insert(composed.resource_name.clone());
    }
    by_id.retain(|_, names| names.len() > 1);
    for (id, names) in by_id {
        for resource_name in &names {
            let others = names.iter().filter(|other| *other != resource_name);
            let error = DesiredError::SameObject {
                resource_name: resource_name.clone(),
                id: Box::new(id.clone()),
                others: others.cloned().collect(),
            };
            resources.insert(resource_name.clone(), Err(error));
        }
    }
}

/// One desired object on its way.
struct Composer<'a> {
    resource_name: &'a String,
    context: &'a DesiredContext,
}

impl Composer<'_> {
    fn compose(
        &self,
        object: &Value,
        warnings: &mut Vec<DesiredWarning>,
    ) -> Result<ComposedResource, DesiredError> {
        let text = |field: &str| object[field].as_str().unwrap_or_default().to_owned();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        for (missing, value) in [("apiVersion", &api_version), ("kind", &kind)] {
            if value.is_empty() {
                let resource_name = self.resource_name.clone();
                return Err(DesiredError::Incomplete {
                    resource_name,
                    missing,
                });
            }
        }
        let group_kind = GroupKind::new(group_of(&api_version), &kind);
        let mut metadata = self.metadata(object)?;
        remove(&mut metadata, &OF_THE_SERVER);
        remove_our_annotations(&mut metadata);
        self.inherit(&group_kind, &mut metadata);
        let namespace = self.namespace(&group_kind, &metadata, warnings)?;
        set(&mut metadata, "namespace", namespace.as_deref());
        self.mark(&mut metadata);
        self.set_controller(&mut metadata)?;
        let name = self.name(&group_kind, &mut metadata)?;
        let id = ObjectId {
            group: group_kind.group().to_owned(),
            kind,
            namespace,
            name,
        };
        if self.is_composite(&id) {
            let resource_name = self.resource_name.clone();
            return Err(DesiredError::Itself { resource_name });
        }
        let mut body = object.as_object().cloned().unwrap_or_default();
        body.insert("metadata".to_owned(), metadata);
        Ok(ComposedResource {
            resource_name: self.resource_name.clone(),
            id,
            api_version,
            body: body.into(),
        })
    }

    /// As the function gives it.
    fn metadata(&self, object: &Value) -> Result<Value, DesiredError> {
        match &object["metadata"] {
            Value::Null => Ok(Value::Object(Map::new())),
            metadata @ Value::Object(_) => Ok(metadata.clone()),
            _ => Err(self.invalid_name("")),
        }
    }

    fn invalid_name(&self, name: &str) -> DesiredError {
        DesiredError::InvalidName {
            resource_name: self.resource_name.clone(),
            name: name.to_owned(),
        }
    }

    /// What exists keeps its name and place. What exists of another kind leaves its name; its place may be none for the new kind.
    fn inherit(&self, group_kind: &GroupKind, metadata: &mut Value) {
        let observed = &self.context.observed;
        if let Some(observed) = observed.get(&(self.resource_name.clone(), group_kind.clone())) {
            set(metadata, "namespace", observed.namespace.as_deref());
            set(metadata, "name", Some(&observed.name));
            set(metadata, "generateName", observed.generate_name.as_deref());
            return;
        }
        let mut of_other_kinds = observed
            .range((self.resource_name.clone(), GroupKind::new("", ""))..)
            .take_while(|((resource_name, _), _)| resource_name == self.resource_name);
        if let Some((_, former)) = of_other_kinds.next() {
            set(metadata, "name", Some(&former.name));
            set(metadata, "generateName", former.generate_name.as_deref());
        }
    }

    fn namespace(
        &self,
        group_kind: &GroupKind,
        metadata: &Value,
        warnings: &mut Vec<DesiredWarning>,
    ) -> Result<Option<String>, DesiredError> {
        let resource_name = self.resource_name.clone();
        let kind = group_kind.kind().to_owned();
        let name = text(metadata, "name").to_owned();
        let desired = Some(text(metadata, "namespace")).filter(|namespace| !namespace.is_empty());
        let scope = self.context.scopes.get(group_kind).copied().unwrap_or_default();
        match (&self.context.composite.namespace, scope) {
            (Some(_), Scope::Cluster) => Err(DesiredError::ClusterScoped {
                resource_name,
                kind,
                name,
            }),
            (Some(home), Scope::Namespaced | Scope::Unknown) => {
                if let Some(desired) = desired.filter(|desired| desired != home) {
                    if Rule::HomeIsKept.is_off() {
                        return Ok(Some(desired.to_owned()));
                    }
                    let (desired, used) = (desired.to_owned(), home.clone());
                    warnings.push(DesiredWarning::NamespaceOverridden {
                        resource_name,
                        desired,
                        used,
                    });
                }
                Ok(Some(home.clone()))
            }
            (None, Scope::Cluster) => Ok(None),
            (None, Scope::Namespaced) if desired.is_none() => Err(DesiredError::NamespaceMissing {
                resource_name,
                kind,
                name,
            }),
            (None, Scope::Namespaced | Scope::Unknown) => match desired {
                Some(namespace) if !is_valid_namespace(namespace) => {
                    let namespace = namespace.to_owned();
                    Err(DesiredError::InvalidNamespace {
                        resource_name,
                        namespace,
                    })
                }
                desired => Ok(desired.map(str::to_owned)),
            },
        }
    }

    /// Labels and annotation by which a composed resource is known.
    fn mark(&self, metadata: &mut Value) {
        let composite = &self.context.composite;
        let labels = map_of(metadata, "labels");
        labels.insert(names::COMPOSITE.to_owned(), composite.root.clone().into());
        if let Some((name, namespace)) = &composite.claim {
            labels.insert(names::CLAIM_NAME.to_owned(), name.clone().into());
            labels.insert(names::CLAIM_NAMESPACE.to_owned(), namespace.clone().into());
        }
        let annotations = map_of(metadata, "annotations");
        annotations.insert(names::RESOURCE_NAME.to_owned(), self.resource_name.clone().into());
    }

    /// Other owners that the function gives stay beside it.
    fn set_controller(&self, metadata: &mut Value) -> Result<(), DesiredError> {
        let composite = &self.context.composite;
        let name = Some(text(metadata, "name")).filter(|name| !name.is_empty());
        let name = name.unwrap_or("it").to_owned();
        let owners = list_of(metadata, "ownerReferences");
        let other = owners
            .iter()
            .find(|owner| owner["controller"] == true)
            .filter(|owner| owner["uid"] != composite.uid.as_str());
        if let Some(other) = other {
            return Err(DesiredError::OtherController {
                resource_name: self.resource_name.clone(),
                name,
                kind: text(other, "kind").to_owned(),
                owner: text(other, "name").to_owned(),
                uid: text(other, "uid").to_owned(),
            });
        }
        let ours = json!({
            "apiVersion": composite.api_version,
            "kind": composite.kind,
            "name": composite.name,
            "uid": composite.uid,
            "controller": true,
            "blockOwnerDeletion": true,
        });
        match owners
            .iter_mut()
            .find(|owner| owner["uid"] == composite.uid.as_str())
        {
            Some(owner) => *owner = ours,
            None => owners.push(ours),
        }
        Ok(())
    }

    fn name(&self, group_kind: &GroupKind, metadata: &mut Value) -> Result<String, DesiredError> {
        if text(metadata, "name").is_empty() {
            let composite = &self.context.composite;
            let generate_name = match text(metadata, "generateName") {
                "" => format!("{}-", composite.root),
                given => given.to_owned(),
            };
            let name = child_name(&generate_name, &composite.uid, self.resource_name);
            set(metadata, "generateName", Some(&generate_name));
            set(metadata, "name", Some(&name));
        }
        let name = text(metadata, "name");
        if !is_valid_name(group_kind, name) {
            return Err(self.invalid_name(name));
        }
        Ok(name.to_owned())
    }

    fn is_composite(&self, id: &ObjectId) -> bool {
        let composite = &self.context.composite;
        id.group == group_of(&composite.api_version)
            && id.kind == composite.kind
            && id.name == composite.name
            && id.namespace == composite.namespace
    }
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

fn set(metadata: &mut Value, field: &str, value: Option<&str>) {
    match value.filter(|value| !value.is_empty()) {
        Some(value) => metadata[field] = value.into(),
        None => remove(metadata, &[field]),
    }
}

/// A map that is none is replaced.
fn map_of<'a>(metadata: &'a mut Value, field: &str) -> &'a mut Map<String, Value> {
    if !metadata[field].is_object() {
        metadata[field] = Value::Object(Map::new());
    }
    metadata[field].as_object_mut().expect("it was just made one")
}

/// A list that is none is replaced.
fn list_of<'a>(metadata: &'a mut Value, field: &str) -> &'a mut Vec<Value> {
    if !metadata[field].is_array() {
        metadata[field] = Value::Array(Vec::new());
    }
    metadata[field].as_array_mut().expect("it was just made one")
}

#[cfg(test)]
#[path = "desired_tests.rs"]
mod tests;
