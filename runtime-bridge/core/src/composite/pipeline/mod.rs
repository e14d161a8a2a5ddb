//! One run of a composition's functions, without I/O: it is asked what it needs next, and told what was found and answered.

mod answer;
mod failure;
mod limits;
mod outcome;
mod requirements;
mod run;
mod spec;
mod step;

pub use self::{
    failure::{RunFailure, StepFailure},
    limits::{Limits, Violation},
    outcome::{RunOutcome, StepResult},
    requirements::{Found, Lookup},
    run::{Next, Pipeline, RunInput},
    spec::{CredentialSpec, PipelineSpec, PipelineSpecError, StepSpec},
};

#[cfg(test)]
mod tests;
