//! What the steps of a pipeline required last, and how a composite resource keeps it: watches follow from it after a restart, and the next run
//! shows it to the first call of each step.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::function::{Requirements, ResourceMatch, ResourceSelector, SchemaSelector};

use super::names;

/// The longest annotation that names each requirement, in bytes.
const LIMIT: usize = 8 * 1024;

/// Step -> what it required. A step that required nothing has no entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepRequirements(BTreeMap<String, Requirements>);

impl StepRequirements {
    /// What one step requires.
    pub fn of(&self, step: &str) -> Option<&Requirements> {
        self.0.get(step)
    }

    /// Replaces what a step requires.
    pub fn set(&mut self, step: &str, requirements: Requirements) {
        if requirements.is_empty() {
            self.0.remove(step);
        } else {
            self.0.insert(step.to_owned(), requirements);
        }
    }

    /// Adds what is required elsewhere, under names that are free.
    pub fn add(&mut self, other: &Self) {
        for (step, more) in &other.0 {
            let all = self.0.entry(step.clone()).or_default();
            add_missing(&mut all.extra_resources, &more.extra_resources);
            add_missing(&mut all.resources, &more.resources);
            add_missing(&mut all.schemas, &more.schemas);
        }
    }

    /// By step.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Requirements)> {
        self.0
            .iter()
            .map(|(step, requirements)| (step.as_str(), requirements))
    }

    /// All that select objects.
    pub fn selectors(&self) -> impl Iterator<Item = &ResourceSelector> {
        self.0
            .values()
            .flat_map(|one| one.extra_resources.values().chain(one.resources.values()))
    }

    /// How many resources and schemas are required, of all steps.
    pub fn count(&self) -> usize {
        let of_step =
            |one: &Requirements| one.extra_resources.len() + one.resources.len() + one.schemas.len();
        self.0.values().map(of_step).sum()
    }

    /// No step requires anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The kinds of all that is required.
    pub fn kinds(&self) -> RequiredKinds {
        let all = self.0.values();
        RequiredKinds {
            resources: all.clone().flat_map(resource_kinds).collect(),
            schemas: all
                .flat_map(|requirements| requirements.schemas.values())
                .map(|schema| RequiredKind::new(&schema.api_version, &schema.kind))
                .collect(),
        }
    }
}

fn add_missing<S: Clone>(all: &mut BTreeMap<String, S>, more: &BTreeMap<String, S>) {
    for (name, selector) in more {
        all.entry(name.clone()).or_insert_with(|| selector.clone());
    }
}

fn resource_kinds(requirements: &Requirements) -> impl Iterator<Item = RequiredKind> {
    let selectors = requirements.extra_resources.values();
    selectors
        .chain(requirements.resources.values())
        .map(|selector| RequiredKind::new(&selector.api_version, &selector.kind))
}

impl FromIterator<(String, Requirements)> for StepRequirements {
    fn from_iter<I: IntoIterator<Item = (String, Requirements)>>(all: I) -> Self {
        let mut steps = Self::default();
        for (step, requirements) in all {
            steps.set(&step, requirements);
        }
        steps
    }
}

/// A kind in one version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequiredKind {
    /// Group and version.
    pub api_version: String,
    /// Kind.
    pub kind: String,
}

impl RequiredKind {
    fn new(api_version: &str, kind: &str) -> Self {
        Self {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        }
    }
}

/// Kinds of which something is required.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequiredKinds {
    /// Objects of these.
    pub resources: BTreeSet<RequiredKind>,
    /// The schemas of these.
    pub schemas: BTreeSet<RequiredKind>,
}

/// What the annotation of a composite resource says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Required {
    /// What each step required; empty where the annotation holds kinds alone.
    pub steps: StepRequirements,
    /// Their kinds.
    pub kinds: RequiredKinds,
    /// What of it could not be read.
    pub problem: Option<RequiresError>,
}

/// Why the annotation, or an entry of it, was left aside.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "cannot read annotation {}: {why}; the next run writes it anew",
    names::REQUIRES
)]
pub struct RequiresError {
    /// What is wrong with it.
    pub why: String,
}

/// Value of the annotation [`names::REQUIRES`], the same for the same requirements; `None`: there is to be none.
///
/// Beyond 8 KiB it holds kinds alone: enough to watch them, not to show anything to a first call.
pub fn encode(steps: &StepRequirements) -> Option<String> {
    if steps.is_empty() {
        return None;
    }
    let entries: Vec<Entry> = steps.iter().flat_map(|(step, all)| entries(step, all)).collect();
    let text = to_text(&entries);
    if text.len() <= LIMIT {
        return Some(text);
    }
    let kinds = steps.kinds();
    let resources = kinds.resources.into_iter().map(|kind| (kind, Form::Resource));
    let schemas = kinds.schemas.into_iter().map(|kind| (kind, Form::Schema));
    let entries: Vec<Entry> = resources
        .chain(schemas)
        .map(|(kind, form)| Entry {
            form,
            api_version: kind.api_version,
            kind: kind.kind,
            ..Entry::default()
        })
        .collect();
    Some(to_text(&entries))
}

fn to_text(entries: &[Entry]) -> String {
    serde_json::to_string(entries).expect("keys are strings, and nothing else fails in memory")
}

fn entries(step: &str, requirements: &Requirements) -> Vec<Entry> {
    let resource = |form: Form, (name, selector): (&String, &ResourceSelector)| Entry {
        step: Some(step.to_owned()),
        name: Some(name.clone()),
        form,
        match_name: match &selector.matching {
            ResourceMatch::Name(name) => Some(name.clone()),
            ResourceMatch::Labels(_) => None,
        },
        match_labels: match &selector.matching {
            ResourceMatch::Name(_) => None,
            ResourceMatch::Labels(labels) => Some(labels.clone()),
        },
        api_version: selector.api_version.clone(),
        kind: selector.kind.clone(),
        namespace: selector.namespace.clone(),
    };
    let extra = requirements
        .extra_resources
        .iter()
        .map(|entry| resource(Form::Extra, entry));
    let resources = requirements
        .resources
        .iter()
        .map(|entry| resource(Form::Resource, entry));
    let schemas = requirements.schemas.iter().map(|(name, schema)| Entry {
        step: Some(step.to_owned()),
        name: Some(name.clone()),
        form: Form::Schema,
        api_version: schema.api_version.clone(),
        kind: schema.kind.clone(),
        ..Entry::default()
    });
    extra.chain(resources).chain(schemas).collect()
}

/// Reads the annotation. What cannot be read is left aside, and reported.
pub fn decode(annotation: Option<&str>) -> Required {
    let mut required = Required::default();
    let Some(text) = annotation else {
        return required;
    };
    let entries: Vec<Value> = match serde_json::from_str(text) {
        Ok(entries) => entries,
        Err(error) => {
            required.problem = Some(RequiresError {
                why: error.to_string(),
            });
            return required;
        }
    };
    let mut steps: BTreeMap<String, Requirements> = BTreeMap::new();
    for entry in entries {
        match Entry::deserialize(entry) {
            Ok(entry) => entry.add_to(&mut steps, &mut required.kinds),
            Err(error) => {
                required.problem.get_or_insert(RequiresError {
                    why: error.to_string(),
                });
            }
        }
    }
    required.steps = steps.into_iter().collect();
    required
}

/// One requirement; without step and name a kind alone.
#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(rename = "as", default, skip_serializing_if = "Form::is_resource")]
    form: Form,
    api_version: String,
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    match_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    match_labels: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
}

/// By which of the contract's fields something is required.
#[derive(Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Form {
    #[default]
    Resource,
    Extra,
    Schema,
}

impl Form {
    #[allow(clippy::trivially_copy_pass_by_ref)] // serde calls it so.
    fn is_resource(&self) -> bool {
        *self == Self::Resource
    }
}

impl Entry {
    fn add_to(self, steps: &mut BTreeMap<String, Requirements>, kinds: &mut RequiredKinds) {
        let kind = RequiredKind::new(&self.api_version, &self.kind);
        if self.form == Form::Schema {
            kinds.schemas.insert(kind);
        } else {
            kinds.resources.insert(kind);
        }
        let (Some(step), Some(name)) = (self.step, self.name) else {
            return;
        };
        let step = steps.entry(step).or_default();
        let matching = match self.match_name {
            Some(name) => ResourceMatch::Name(name),
            None => ResourceMatch::Labels(self.match_labels.unwrap_or_default()),
        };
        let Self {
            api_version,
            kind,
            namespace,
            ..
        } = self;
        match self.form {
            Form::Schema => {
                step.schemas.insert(name, SchemaSelector { api_version, kind });
            }
            form => {
                let selector = ResourceSelector {
                    api_version,
                    kind,
                    matching,
                    namespace,
                };
                let resources = match form {
                    Form::Extra => &mut step.extra_resources,
                    _ => &mut step.resources,
                };
                resources.insert(name, selector);
            }
        }
    }
}

#[cfg(test)]
#[path = "requires_tests.rs"]
mod tests;
