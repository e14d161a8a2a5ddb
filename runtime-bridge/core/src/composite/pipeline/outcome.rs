//! What came of a run.

use std::{collections::BTreeMap, time::Duration};

use crate::function::{Condition, DesiredState, HiddenMap, RunResult};

use super::{
    super::{digest::ContentDigest, requires::StepRequirements},
    failure::RunFailure,
    requirements::Lookup,
};

/// What came of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunOutcome {
    /// What the last step desires. Of a failed run nothing is desired and nothing unwanted.
    pub result: Result<DesiredState, RunFailure>,
    /// What the last step that succeeded left.
    pub context: Option<HiddenMap>,
    /// Those of all responses in their order, of a fatal one those before the fatal result.
    pub results: Vec<StepResult>,
    /// Those of all responses in their order, a fatal one's included.
    pub conditions: Vec<Condition>,
    /// The shortest of all responses; `None`: good for ever.
    pub ttl: Option<Duration>,
    /// What each step required last. A step that was not reached, or failed before it required anything, keeps what it required in the run
    /// before.
    pub requirements: StepRequirements,
    /// All that was looked up, what the composition itself requires and credentials included. Another digest makes another run.
    pub looked: BTreeMap<Lookup, ContentDigest>,
}

impl RunOutcome {
    /// Of a run that came to nothing before any function was called. What was required stays.
    pub fn failed(failure: RunFailure, requirements: StepRequirements) -> Self {
        Self {
            result: Err(failure),
            context: None,
            results: Vec::new(),
            conditions: Vec::new(),
            ttl: None,
            requirements,
            looked: BTreeMap::new(),
        }
    }
}

/// A result and who returned it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepResult {
    /// The step.
    pub step: String,
    /// Its result.
    pub result: RunResult,
}
