//! What a run looks up, and how that is shown to a function.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::{Value, json};

use crate::function::{Requirements, Resource, ResourceMatch, ResourceSelector, SchemaSelector, SecretData};

use super::{
    super::digest::{ContentDigest, for_functions},
    failure::StepFailure,
};

/// What a run wants to know of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lookup {
    /// Objects.
    Resources(ResourceSelector),
    /// The schema of a kind.
    Schema(SchemaSelector),
    /// What a Secret holds.
    Secret {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// `v1 ConfigMap "ns/name"`, for people.
impl fmt::Display for Lookup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resources(selector) => {
                write!(f, "{} {}", selector.api_version, selector.kind)?;
                let namespace = selector.namespace.as_deref();
                match (&selector.matching, namespace) {
                    (ResourceMatch::Name(name), Some(namespace)) => write!(f, " \"{namespace}/{name}\""),
                    (ResourceMatch::Name(name), None) => write!(f, " {name:?}"),
                    (ResourceMatch::Labels(labels), _) => {
                        write!(f, " with labels {labels:?}")?;
                        namespace.map_or(Ok(()), |namespace| write!(f, " in namespace {namespace:?}"))
                    }
                }
            }
            Self::Schema(selector) => write!(f, "schema of {} {}", selector.api_version, selector.kind),
            Self::Secret { namespace, name } => write!(f, "Secret \"{namespace}/{name}\""),
        }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// All that match, in whatever order; by name at most one.
    Resources(Vec<Resource>),
    /// `None`: the kind is not known.
    Schema(Option<Value>),
    /// `None`: there is no such Secret.
    Secret(Option<SecretData>),
    /// It cannot be told, and why.
    Failed(String),
}

impl Found {
    /// The same for the same content, whatever its order, resource versions, managed fields and our own annotations.
    pub fn digest(&self) -> ContentDigest {
        match self {
            Self::Resources(resources) => {
                let mut parts: Vec<(String, ContentDigest)> = resources
                    .iter()
                    .map(|resource| (place(resource), digest(resource)))
                    .collect();
                parts.sort_by(|a, b| a.0.cmp(&b.0));
                ContentDigest::of_all(parts.into_iter().map(|(_, digest)| digest))
            }
            Self::Schema(schema) => ContentDigest::of_value(schema.as_ref().unwrap_or(&Value::Null)),
            Self::Secret(Some(data)) => ContentDigest::of_secret(data),
            Self::Secret(None) => ContentDigest::of_value(&Value::Null).hide(),
            Self::Failed(why) => ContentDigest::of_value(&json!({"failed": why})),
        }
    }

    /// As functions are shown it.
    fn into_shown(self) -> Self {
        let Self::Resources(mut resources) = self else {
            return self;
        };
        resources.sort_by_cached_key(place);
        for resource in &mut resources {
            resource.object = for_functions(std::mem::take(&mut resource.object));
        }
        Self::Resources(resources)
    }
}

fn digest(resource: &Resource) -> ContentDigest {
    let object = ContentDigest::of_object(&resource.object);
    if resource.connection_details.is_empty() {
        return object;
    }
    ContentDigest::of_all([object, ContentDigest::of_secret(&resource.connection_details)])
}

/// `namespace/name`: what lists are sorted by.
fn place(resource: &Resource) -> String {
    let text = |field: &str| resource.object["metadata"][field].as_str().unwrap_or_default();
    format!("{}/{}", text("namespace"), text("name"))
}

/// What was looked up in this run: once each, so that all steps see the same.
#[derive(Debug, Default)]
pub(super) struct Answers {
    asked: BTreeSet<Lookup>,
    found: BTreeMap<Lookup, Found>,
}

impl Answers {
    /// Those of them that are not known yet, in order.
    pub fn missing(&mut self, wanted: impl IntoIterator<Item = Lookup>) -> Vec<Lookup> {
        let wanted = wanted.into_iter();
        let missing: BTreeSet<Lookup> = wanted.filter(|lookup| !self.found.contains_key(lookup)).collect();
        self.asked.extend(missing.iter().cloned());
        missing.into_iter().collect()
    }

    /// The first answer counts; what was not asked for does not.
    pub fn take(&mut self, found: BTreeMap<Lookup, Found>) {
        for (lookup, found) in found {
            if self.asked.contains(&lookup) {
                self.found.entry(lookup).or_insert_with(|| found.into_shown());
            }
        }
    }

    pub fn digests(&self) -> BTreeMap<Lookup, ContentDigest> {
        let found = self.found.iter();
        found
            .map(|(lookup, found)| (lookup.clone(), found.digest()))
            .collect()
    }

    /// What a Secret holds.
    pub fn secret(&self, namespace: &str, name: &str) -> Result<SecretData, String> {
        let lookup = Lookup::Secret {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        match self.found.get(&lookup) {
            Some(Found::Secret(Some(data))) => Ok(data.clone()),
            Some(Found::Secret(None)) => Err(format!("{lookup} does not exist")),
            other => Err(why_not(&lookup, other)),
        }
    }

    fn resources(&self, selector: &ResourceSelector) -> Result<Vec<Resource>, String> {
        let lookup = Lookup::Resources(selector.clone());
        match self.found.get(&lookup) {
            Some(Found::Resources(resources)) => Ok(resources.clone()),
            other => Err(why_not(&lookup, other)),
        }
    }

    fn schema(&self, selector: &SchemaSelector) -> Result<Option<Value>, String> {
        let lookup = Lookup::Schema(selector.clone());
        match self.found.get(&lookup) {
            Some(Found::Schema(schema)) => Ok(schema.clone()),
            other => Err(why_not(&lookup, other)),
        }
    }
}

fn why_not(lookup: &Lookup, found: Option<&Found>) -> String {
    match found {
        Some(Found::Failed(why)) => why.clone(),
        _ => format!("{lookup} was not looked up"),
    }
}

/// What must be looked up to satisfy them.
pub(super) fn lookups(requirements: &Requirements) -> impl Iterator<Item = Lookup> {
    let resources = requirements
        .extra_resources
        .values()
        .chain(requirements.resources.values());
    let resources = resources.map(|selector| Lookup::Resources(selector.clone()));
    resources.chain(
        requirements
            .schemas
            .values()
            .map(|selector| Lookup::Schema(selector.clone())),
    )
}

/// What one request shows because it is required. What was looked for and not found stands in it, empty.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Satisfied {
    pub extra_resources: BTreeMap<String, Vec<Resource>>,
    pub resources: BTreeMap<String, Vec<Resource>>,
    pub schemas: BTreeMap<String, Option<Value>>,
}

impl Satisfied {
    /// All of them, or the first that cannot be told.
    pub fn add(&mut self, requirements: &Requirements, answers: &Answers) -> Result<(), StepFailure> {
        self.add_where(requirements, answers, Err)
    }

    /// Those that can be told.
    pub fn add_known(&mut self, requirements: &Requirements, answers: &Answers) {
        let known = self.add_where(requirements, answers, |_| Ok(()));
        debug_assert_eq!(known, Ok(()));
    }

    fn add_where(
        &mut self,
        requirements: &Requirements,
        answers: &Answers,
        on_failure: impl Fn(StepFailure) -> Result<(), StepFailure>,
    ) -> Result<(), StepFailure> {
        let failed = |what: &'static str, requirement: &str, why: String| {
            on_failure(StepFailure::Requirement {
                what,
                requirement: requirement.to_owned(),
                why,
            })
        };
        let resources = [
            (&requirements.extra_resources, &mut self.extra_resources),
            (&requirements.resources, &mut self.resources),
        ];
        for (required, shown) in resources {
            for (name, selector) in required {
                match answers.resources(selector) {
                    Ok(resources) => {
                        shown.insert(name.clone(), resources);
                    }
                    Err(why) => failed("resources", name, why)?,
                }
            }
        }
        for (name, selector) in &requirements.schemas {
            match answers.schema(selector) {
                Ok(schema) => {
                    self.schemas.insert(name.clone(), schema);
                }
                Err(why) => failed("schemas", name, why)?,
            }
        }
        Ok(())
    }

    /// How many objects it holds.
    pub fn objects(&self) -> usize {
        let all = self.extra_resources.values().chain(self.resources.values());
        all.map(Vec::len).sum()
    }
}
