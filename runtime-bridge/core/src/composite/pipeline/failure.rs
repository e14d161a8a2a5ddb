//! Why a run came to nothing. The texts stand in conditions: the same failure gives the same text.

use crate::function::FunctionFailure;

use super::limits::Violation;

/// Why a run came to nothing: nothing is applied, nothing deleted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RunFailure {
    /// There is nothing to run; an empty desired state would delete all.
    #[error("an array of pipeline steps is required in Pipeline mode")]
    NoSteps,
    /// What functions are to be shown cannot be read.
    #[error("cannot get connection details of {of}: {why}")]
    ConnectionDetails {
        /// Whose.
        of: String,
        /// Why.
        why: String,
    },
    /// A function said so.
    #[error("pipeline step {step:?} returned a fatal result: {message}")]
    Fatal {
        /// The step.
        step: String,
        /// What the function says.
        message: String,
    },
    /// A Secret that the composition names cannot be given to its step.
    #[error("cannot get Composition pipeline step {step:?} credential {credential:?} from Secret: {why}")]
    Credential {
        /// The step.
        step: String,
        /// What the function calls it.
        credential: String,
        /// Why.
        why: String,
    },
    /// A step could not be run.
    #[error("cannot run Composition pipeline step {step:?}: {why}")]
    Step {
        /// The step.
        step: String,
        /// Why.
        why: StepFailure,
    },
}

impl RunFailure {
    /// The function that was not called, as it does not answer for now, or nothing says where it is: once that changes, the run is worth another one.
    /// One that was called and failed may have failed for what it was asked.
    pub fn awaits(&self) -> Option<&str> {
        match self {
            Self::Step {
                why:
                    StepFailure::Function {
                        function,
                        why: FunctionFailure::Held { .. } | FunctionFailure::NoEndpoint(_),
                    },
                ..
            } => Some(function),
            _ => None,
        }
    }

    /// The step that failed.
    pub fn step(&self) -> Option<&str> {
        match self {
            Self::NoSteps | Self::ConnectionDetails { .. } => None,
            Self::Fatal { step, .. } | Self::Credential { step, .. } | Self::Step { step, .. } => Some(step),
        }
    }
}

/// Why a step could not be run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StepFailure {
    /// There is no response.
    #[error("cannot run Function {function:?}: {why}")]
    Function {
        /// The function.
        function: String,
        /// Why.
        why: FunctionFailure,
    },
    /// The function required something else each time.
    #[error("requirements didn't stabilize after the maximum number of iterations (5)")]
    Unsettled,
    /// What is required cannot be looked up.
    #[error("fetching {what} for {requirement}: {why}")]
    Requirement {
        /// `resources` or `schemas`.
        what: &'static str,
        /// Its name.
        requirement: String,
        /// Why.
        why: String,
    },
    /// The response is out of bounds.
    #[error("cannot use the response of Function {function:?}: {why}")]
    Violation {
        /// The function.
        function: String,
        /// How.
        why: Violation,
    },
}
