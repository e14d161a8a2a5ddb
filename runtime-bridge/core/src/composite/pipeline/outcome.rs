//! What came of a run.

use std::{collections::BTreeMap, time::Duration};

use crate::{
    function::{Condition, DesiredState, HiddenMap, ResultTarget, RunResult, Severity},
    managed::Event,
    reasons::{CompositeEvent, Reason},
};

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

impl StepResult {
    /// The event that it becomes; `None`: it is fatal, and its message stands in the failure of the run.
    pub fn event(&self) -> Option<Event> {
        let (step, result) = (&self.step, &self.result);
        let reason = match &result.reason {
            Some(reason) if !reason.is_empty() => Reason::of_plugin(reason),
            _ => CompositeEvent::ComposeResources.into(),
        };
        let message = format!("Pipeline step {step:?}: {}", result.message);
        let event = match result.severity {
            Severity::Fatal => return None,
            Severity::Normal => Event::normal(reason, &message),
            Severity::Warning => Event::warning(reason, &message),
            Severity::Unknown => {
                let message = format!(
                    "Pipeline step {step:?} returned a result of unknown severity (assuming warning): {}",
                    result.message
                );
                return Some(Event::warning(reason, &message));
            }
        };
        Some(match result.target {
            ResultTarget::CompositeAndClaim => event.with_claim(&result.message),
            ResultTarget::Composite => event,
        })
    }
}
