//! One run, step by step.

use std::{collections::BTreeMap, mem, sync::Arc, time::Duration};

use crate::function::{
    Condition, DesiredState, FunctionFailure, HiddenMap, Observed, RunRequest, RunResponse, RunResult,
    Severity,
};

use super::{
    super::requires::StepRequirements,
    failure::RunFailure,
    limits::Limits,
    outcome::{RunOutcome, StepResult},
    requirements::{Answers, Found, Lookup},
    spec::{PipelineSpec, StepSpec},
    step::{StepNext, StepRun},
};

/// What a run begins with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunInput {
    /// What exists, the same for all steps. Objects are as [`for_functions`](crate::composite::for_functions) makes them.
    pub observed: Arc<Observed>,
    /// The steps.
    pub steps: PipelineSpec,
    /// What each step required in the run before: shown to its first call as far as it can be looked up.
    pub seeds: StepRequirements,
    /// What the first step finds in the context; for `render`, else empty.
    pub context: HiddenMap,
    /// What responses may ask for.
    pub limits: Limits,
}

/// What a run needs to go on.
#[derive(Debug, Clone, PartialEq)]
pub enum Next {
    /// Answers to these, by [`Pipeline::found`]. None of them was asked for and answered before.
    Need(Vec<Lookup>),
    /// A function's response, by [`Pipeline::answered`].
    Call {
        /// The step.
        step: String,
        /// Its function.
        function: String,
        /// What it is asked.
        request: Box<RunRequest>,
    },
    /// Nothing: it is over.
    End(Box<RunOutcome>),
}

/// One run of the functions of a composition. Asked twice it says the same; a response or answer that it did not ask for changes nothing.
///
/// The requirements of a step are looked up and shown until they are those of its call before, or what was shown already. All is looked up at
/// most once: all steps see one snapshot.
#[derive(Debug)]
pub struct Pipeline {
    observed: Arc<Observed>,
    limits: Limits,
    seeds: StepRequirements,
    due: std::vec::IntoIter<StepSpec>,
    answers: Answers,
    desired: DesiredState,
    context: Option<HiddenMap>,
    results: Vec<StepResult>,
    conditions: Vec<Condition>,
    ttl: Option<Duration>,
    requirements: StepRequirements,
    state: State,
}

#[derive(Debug)]
enum State {
    Running(Box<StepRun>),
    Ended(Box<RunOutcome>),
}

impl Pipeline {
    /// A run of these steps; nothing was asked yet.
    pub fn begin(input: RunInput) -> Self {
        let steps = input.steps.steps;
        let required_before = steps.iter().filter_map(|step| {
            let requirements = input.seeds.of(&step.step)?.clone();
            Some((step.step.clone(), requirements))
        });
        let requirements: StepRequirements = required_before.collect();
        let mut due = steps.into_iter();
        let context = Some(input.context);
        let state = match due.next() {
            Some(first) => State::Running(begin_step(first, &requirements, context.clone(), input.limits)),
            None => State::Ended(Box::new(RunOutcome::failed(
                RunFailure::NoSteps,
                StepRequirements::default(),
            ))),
        };
        Self {
            observed: input.observed,
            limits: input.limits,
            seeds: requirements.clone(),
            due,
            answers: Answers::default(),
            desired: DesiredState::default(),
            context,
            results: Vec::new(),
            conditions: Vec::new(),
            ttl: None,
            requirements,
            state,
        }
    }

    /// What it needs.
    #[allow(clippy::should_implement_trait)] // It has no last item: asked again it says the same.
    pub fn next(&mut self) -> Next {
        loop {
            let step = match &mut self.state {
                State::Running(step) => step,
                State::Ended(outcome) => return Next::End(outcome.clone()),
            };
            let end = match step.next(&mut self.answers) {
                StepNext::Need(lookups) => return Next::Need(lookups),
                StepNext::Call => {
                    return Next::Call {
                        step: step.name().to_owned(),
                        function: step.function().to_owned(),
                        request: Box::new(step.request(&self.observed, &self.desired)),
                    };
                }
                StepNext::End(end) => end,
            };
            let failure = match end {
                Ok(response) => self.pass_on(*response).err(),
                Err(failure) => Some(failure),
            };
            self.go_on(failure);
        }
    }

    /// What was looked up. The first answer to a look-up counts for the whole run.
    pub fn found(&mut self, found: BTreeMap<Lookup, Found>) {
        self.answers.take(found);
    }

    /// What the function answered that was to be called.
    pub fn answered(&mut self, answer: Result<RunResponse, FunctionFailure>) {
        if let State::Running(step) = &mut self.state {
            step.take(answer);
        }
    }

    /// Takes over the last response of a step.
    fn pass_on(&mut self, response: RunResponse) -> Result<(), RunFailure> {
        let State::Running(step) = &self.state else {
            return Ok(());
        };
        let step = step.name();
        self.conditions.extend(response.conditions);
        for result in response.results {
            let RunResult {
                severity, message, ..
            } = &result;
            if *severity == Severity::Fatal {
                let (step, message) = (step.to_owned(), message.clone());
                return Err(RunFailure::Fatal { step, message });
            }
            let step = step.to_owned();
            self.results.push(StepResult { step, result });
        }
        let ttl = response.ttl.filter(|ttl| !ttl.is_zero());
        self.ttl = self.ttl.into_iter().chain(ttl).min();
        self.desired = response.desired;
        self.context = response.context;
        Ok(())
    }

    /// To the next step, or to the end.
    fn go_on(&mut self, failure: Option<RunFailure>) {
        if let State::Running(step) = &self.state {
            let required = step.required(failure.as_ref()).clone();
            self.requirements.set(step.name(), required);
        }
        let result = match failure {
            Some(failure) => Err(failure),
            None => match self.due.next() {
                Some(step) => {
                    let context = self.context.clone();
                    self.state = State::Running(begin_step(step, &self.seeds, context, self.limits));
                    return;
                }
                None => Ok(mem::take(&mut self.desired)),
            },
        };
        self.state = State::Ended(Box::new(RunOutcome {
            result,
            context: self.context.take(),
            results: mem::take(&mut self.results),
            conditions: mem::take(&mut self.conditions),
            ttl: self.ttl,
            requirements: mem::take(&mut self.requirements),
            looked: self.answers.digests(),
        }));
    }
}

fn begin_step(
    step: StepSpec,
    seeds: &StepRequirements,
    context: Option<HiddenMap>,
    limits: Limits,
) -> Box<StepRun> {
    let seeds = seeds.of(&step.step).cloned().unwrap_or_default();
    Box::new(StepRun::new(step, seeds, context, limits))
}
