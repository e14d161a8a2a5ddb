//! Condition `ValidPipeline` of a revision: whether the functions of its pipeline can compose.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Revision, Validity};

/// What a function must be able to do. A package that declares nothing can.
const COMPOSITION_CAPABILITY: &str = "composition";

/// Label of a `FunctionRevision`: name of its `Function`.
const PACKAGE: &str = "pkg.crossplane.io/package";

/// The active revision of an installed function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveFunction {
    /// Name of the function, by which pipelines know it.
    pub function: String,
    /// Name of the revision.
    pub revision: String,
    /// What its package declares, as it is written there; empty: nothing.
    pub capabilities: Vec<String>,
}

impl ActiveFunction {
    /// Reads a `FunctionRevision`; `None`: it is not the active one, or of no function.
    pub fn read(object: &Value) -> Option<Self> {
        let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
        if object["spec"]["desiredState"] != "Active" {
            return None;
        }
        let capabilities = object["status"]["capabilities"].as_array();
        Some(Self {
            function: text(&object["metadata"]["labels"][PACKAGE])?,
            revision: text(&object["metadata"]["name"])?,
            capabilities: capabilities.into_iter().flatten().filter_map(text).collect(),
        })
    }

    fn can_compose(&self) -> bool {
        self.capabilities.is_empty()
            || self
                .capabilities
                .iter()
                .any(|capability| plain(capability) == COMPOSITION_CAPABILITY)
    }
}

/// What condition `ValidPipeline` is to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PipelineCheck {
    /// All functions that are installed can compose.
    Valid,
    /// Some declare that they do other things.
    MissingCapabilities {
        /// Which, sorted.
        message: String,
    },
}

impl PipelineCheck {
    /// Reason of the condition.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::Valid => "ValidPipeline",
            Self::MissingCapabilities { .. } => "MissingCapabilities",
        }
    }
}

impl From<PipelineCheck> for Validity {
    /// As the condition will be read.
    fn from(check: PipelineCheck) -> Self {
        match check {
            PipelineCheck::Valid => Self::Valid,
            PipelineCheck::MissingCapabilities { message } => Self::Invalid(message),
        }
    }
}

/// Checks the functions of a revision's pipeline. One that is not installed passes: it fails when it is called.
pub fn check_pipeline(revision: &Revision, active: &[ActiveFunction]) -> PipelineCheck {
    let functions: BTreeSet<&str> = revision.functions().collect();
    let mut missing: Vec<String> = active
        .iter()
        .filter(|active| functions.contains(active.function.as_str()) && !active.can_compose())
        .map(|active| {
            format!(
                r#"function "{}" (active revision "{}") is missing required capabilities: {COMPOSITION_CAPABILITY}"#,
                active.function, active.revision
            )
        })
        .collect();
    missing.sort();
    match &missing[..] {
        [] => PipelineCheck::Valid,
        [only] => PipelineCheck::MissingCapabilities {
            message: only.clone(),
        },
        several => PipelineCheck::MissingCapabilities {
            message: format!("[{}]", several.join(", ")),
        },
    }
}

/// Case and punctuation do not count.
fn plain(capability: &str) -> String {
    let letters = capability.chars().filter(char::is_ascii_alphanumeric);
    letters.map(|letter| letter.to_ascii_lowercase()).collect()
}
