//! The steps of a composition, as it or its revision has them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::function::{Requirements, ResourceMatch, ResourceSelector, SchemaSelector};

use super::super::requires::StepRequirements;

/// `spec.pipeline`: at least one step, each with a name of its own.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PipelineSpec {
    /// In their order.
    pub steps: Vec<StepSpec>,
}

/// One step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepSpec {
    /// Its name.
    pub step: String,
    /// Name of its function.
    pub function: String,
    /// What it is given, verbatim.
    pub input: Option<Value>,
    /// Secrets that it is given. Those of a source that is no Secret are left out.
    pub credentials: Vec<CredentialSpec>,
    /// What it is shown in every call, whether it requires it or not.
    pub requirements: Requirements,
}

/// Names a Secret for a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialSpec {
    /// What the function calls it.
    pub name: String,
    /// Namespace of the Secret.
    pub namespace: String,
    /// Name of the Secret.
    pub secret: String,
}

/// Why a pipeline cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PipelineSpecError {
    /// It is none, or has no step.
    #[error("an array of pipeline steps is required in Pipeline mode")]
    Empty,
    /// A step has no name.
    #[error("cannot use pipeline step number {number}: it has no name in field step")]
    Unnamed {
        /// From 1 on.
        number: usize,
    },
    /// A field of a step is missing, or not what it must be.
    #[error("cannot use pipeline step {step:?}: {why}")]
    Step {
        /// Its name.
        step: String,
        /// What is wrong with it.
        why: String,
    },
    /// Two steps have one name.
    #[error("cannot use pipeline step {step:?}: another step has this name")]
    Duplicate {
        /// Their name.
        step: String,
    },
}

impl PipelineSpec {
    /// Reads `spec.pipeline`; what it does not know it leaves aside.
    pub fn parse(pipeline: &Value) -> Result<Self, PipelineSpecError> {
        let steps = pipeline.as_array().map(Vec::as_slice).unwrap_or_default();
        if steps.is_empty() {
            return Err(PipelineSpecError::Empty);
        }
        let mut parsed: Vec<StepSpec> = Vec::with_capacity(steps.len());
        for (index, step) in steps.iter().enumerate() {
            let step = StepSpec::parse(index + 1, step)?;
            if parsed.iter().any(|other| other.step == step.step) {
                return Err(PipelineSpecError::Duplicate { step: step.step });
            }
            parsed.push(step);
        }
        Ok(Self { steps: parsed })
    }

    /// What the composition itself wants its steps to be shown.
    pub fn requirements(&self) -> StepRequirements {
        let steps = self.steps.iter();
        steps
            .map(|step| (step.step.clone(), step.requirements.clone()))
            .collect()
    }
}

impl StepSpec {
    fn parse(number: usize, step: &Value) -> Result<Self, PipelineSpecError> {
        let name = step["step"].as_str().filter(|name| !name.is_empty());
        let name = name.ok_or(PipelineSpecError::Unnamed { number })?.to_owned();
        let because = |why: String| PipelineSpecError::Step {
            step: name.clone(),
            why,
        };
        let raw = RawStep::deserialize(step).map_err(|error| because(error.to_string()))?;
        let requirements = raw.requirements.unwrap_or_default().parse().map_err(because)?;
        let credentials = raw.credentials.unwrap_or_default();
        let credentials = credentials.into_iter().filter_map(RawCredential::parse).collect();
        Ok(Self {
            step: name,
            function: raw.function_ref.name,
            input: raw.input,
            credentials,
            requirements,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawStep {
    function_ref: RawFunctionRef,
    input: Option<Value>,
    credentials: Option<Vec<RawCredential>>,
    requirements: Option<RawRequirements>,
}

#[derive(Deserialize)]
struct RawFunctionRef {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawCredential {
    name: String,
    source: String,
    secret_ref: Option<RawSecretRef>,
}

#[derive(Deserialize)]
struct RawSecretRef {
    namespace: String,
    name: String,
}

impl RawCredential {
    fn parse(self) -> Option<CredentialSpec> {
        let secret = self.secret_ref.filter(|_| self.source == "Secret")?;
        Some(CredentialSpec {
            name: self.name,
            namespace: secret.namespace,
            secret: secret.name,
        })
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawRequirements {
    required_resources: Option<Vec<RawResource>>,
    required_schemas: Option<Vec<RawSchema>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawResource {
    requirement_name: String,
    api_version: String,
    kind: String,
    namespace: Option<String>,
    name: Option<String>,
    match_labels: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawSchema {
    requirement_name: String,
    api_version: String,
    kind: String,
}

impl RawRequirements {
    fn parse(self) -> Result<Requirements, String> {
        let mut requirements = Requirements::default();
        for raw in self.required_resources.unwrap_or_default() {
            let matching = match (raw.name, raw.match_labels) {
                (Some(_), Some(_)) => {
                    let name = raw.requirement_name;
                    return Err(format!(
                        "requirement {name:?}: name and matchLabels are mutually exclusive"
                    ));
                }
                (Some(name), None) => ResourceMatch::Name(name),
                (None, labels) => ResourceMatch::Labels(labels.unwrap_or_default()),
            };
            let selector = ResourceSelector {
                api_version: raw.api_version,
                kind: raw.kind,
                matching,
                namespace: raw.namespace.filter(|namespace| !namespace.is_empty()),
            };
            requirements.resources.insert(raw.requirement_name, selector);
        }
        for raw in self.required_schemas.unwrap_or_default() {
            let selector = SchemaSelector {
                api_version: raw.api_version,
                kind: raw.kind,
            };
            requirements.schemas.insert(raw.requirement_name, selector);
        }
        Ok(requirements)
    }
}

#[cfg(test)]
#[path = "spec_tests.rs"]
mod tests;
