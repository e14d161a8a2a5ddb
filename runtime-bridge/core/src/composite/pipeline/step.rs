//! One step of a run: a function is called until it was shown what it requires.

use std::{collections::BTreeMap, mem, sync::Arc};

use crate::function::{
    DesiredState, FunctionFailure, HiddenMap, Observed, Requirements, RunRequest, RunResponse, SecretData,
};

use super::{
    answer::{check, is_fatal},
    failure::{RunFailure, StepFailure},
    limits::{Limits, Violation},
    requirements::{Answers, Lookup, Satisfied, lookups},
    spec::StepSpec,
};

/// The most calls of one step.
const CALLS: usize = 6;

/// One step of a run.
#[derive(Debug)]
pub(super) struct StepRun {
    spec: StepSpec,
    /// What it required in the run before.
    seeds: Requirements,
    limits: Limits,
    phase: Phase,
    context: Option<HiddenMap>,
    credentials: BTreeMap<String, SecretData>,
    /// What the composition wants it to be shown, in every call.
    bootstrap: Satisfied,
    /// What the next call shows, or the last one showed.
    shown: Satisfied,
    answered: usize,
    /// What the last response required.
    required: Option<Requirements>,
    /// What any response of this run required.
    required_ever: Requirements,
}

#[derive(Debug)]
enum Phase {
    Preparing,
    Calling,
    /// Its requirements are looked up.
    Resolving(Box<RunResponse>),
    Ended(StepEnd),
}

/// How a step ended.
type StepEnd = Result<Box<RunResponse>, RunFailure>;

/// What a step wants next.
pub(super) enum StepNext {
    Need(Vec<Lookup>),
    Call,
    End(StepEnd),
}

impl StepRun {
    pub fn new(spec: StepSpec, seeds: Requirements, context: Option<HiddenMap>, limits: Limits) -> Self {
        Self {
            spec,
            seeds,
            limits,
            phase: Phase::Preparing,
            context,
            credentials: BTreeMap::new(),
            bootstrap: Satisfied::default(),
            shown: Satisfied::default(),
            answered: 0,
            required: None,
            required_ever: Requirements::default(),
        }
    }

    pub fn name(&self) -> &str {
        &self.spec.step
    }

    pub fn function(&self) -> &str {
        &self.spec.function
    }

    /// What is to be remembered of it. Of a failed one all that it required in this run, lest what would mend it go unseen; of one that never settled what
    /// was remembered before: else each run would begin where the former one ended, remember more, and be written down, without end.
    pub fn required(&self, failure: Option<&RunFailure>) -> &Requirements {
        let unsettled = RunFailure::Step {
            step: self.spec.step.clone(),
            why: StepFailure::Unsettled,
        };
        match &self.required {
            _ if failure == Some(&unsettled) => &self.seeds,
            Some(required) if failure.is_none() => required,
            Some(_) if !self.required_ever.is_empty() => &self.required_ever,
            _ => &self.seeds,
        }
    }

    pub fn request(&self, observed: &Arc<Observed>, desired: &DesiredState) -> RunRequest {
        RunRequest {
            observed: Arc::clone(observed),
            desired: desired.clone(),
            input: self.spec.input.clone(),
            context: self.context.clone(),
            credentials: self.credentials.clone(),
            extra_resources: self.shown.extra_resources.clone(),
            required_resources: self.shown.resources.clone(),
            required_schemas: self.shown.schemas.clone(),
        }
    }

    pub fn next(&mut self, answers: &mut Answers) -> StepNext {
        let moved = match &self.phase {
            Phase::Preparing => self.prepare(answers),
            Phase::Resolving(_) => self.resolve(answers),
            Phase::Calling => Ok(StepNext::Call),
            Phase::Ended(_) => Ok(self.give_away()),
        };
        moved.unwrap_or_else(|failure| StepNext::End(Err(failure)))
    }

    /// How it ended. Whoever asks has no use for this step any more.
    fn give_away(&mut self) -> StepNext {
        match mem::replace(&mut self.phase, Phase::Calling) {
            Phase::Ended(end) => StepNext::End(end),
            _ => StepNext::Call,
        }
    }

    /// A response that comes uncalled changes nothing.
    pub fn take(&mut self, answer: Result<RunResponse, FunctionFailure>) {
        if !matches!(self.phase, Phase::Calling) {
            return;
        }
        self.phase = match answer {
            Ok(response) => self.judge(Box::new(response)),
            Err(why) => Phase::Ended(Err(self.failure(StepFailure::Function {
                function: self.spec.function.clone(),
                why,
            }))),
        };
    }

    fn prepare(&mut self, answers: &mut Answers) -> Result<StepNext, RunFailure> {
        let credentials = self.spec.credentials.iter().map(|credential| Lookup::Secret {
            namespace: credential.namespace.clone(),
            name: credential.secret.clone(),
        });
        let required = lookups(&self.spec.requirements).chain(lookups(&self.seeds));
        let missing = answers.missing(credentials.chain(required));
        if !missing.is_empty() {
            return Ok(StepNext::Need(missing));
        }
        for credential in &self.spec.credentials {
            let data = answers.secret(&credential.namespace, &credential.secret);
            let data = data.map_err(|why| RunFailure::Credential {
                step: self.spec.step.clone(),
                credential: credential.name.clone(),
                why,
            })?;
            self.credentials.insert(credential.name.clone(), data);
        }
        let bootstrap = self.bootstrap.add(&self.spec.requirements, answers);
        bootstrap.map_err(|why| self.failure(why))?;
        let mut shown = self.bootstrap.clone();
        shown.add_known(&self.seeds, answers);
        self.show(shown)
    }

    fn resolve(&mut self, answers: &mut Answers) -> Result<StepNext, RunFailure> {
        let required = self.required.clone().unwrap_or_default();
        let missing = answers.missing(lookups(&required));
        if !missing.is_empty() {
            return Ok(StepNext::Need(missing));
        }
        let mut shown = self.bootstrap.clone();
        shown.add(&required, answers).map_err(|why| self.failure(why))?;
        let Phase::Resolving(response) = mem::replace(&mut self.phase, Phase::Calling) else {
            return Ok(StepNext::Call);
        };
        if self.answered == 1 && shown == self.shown {
            return Ok(StepNext::End(Ok(response)));
        }
        self.context = response.context;
        self.show(shown)
    }

    fn show(&mut self, shown: Satisfied) -> Result<StepNext, RunFailure> {
        let limit = self.limits.required_objects;
        if shown.objects() > limit {
            return Err(self.violation(Violation::RequiredObjects { limit }));
        }
        self.shown = shown;
        self.phase = Phase::Calling;
        Ok(StepNext::Call)
    }

    fn judge(&mut self, response: Box<RunResponse>) -> Phase {
        self.answered += 1;
        if let Err(why) = check(&response, &self.limits) {
            return Phase::Ended(Err(self.violation(why)));
        }
        let required = &response.requirements;
        let before = self.required.replace(required.clone());
        let ever = &mut self.required_ever;
        ever.extra_resources.extend(required.extra_resources.clone());
        ever.resources.extend(required.resources.clone());
        ever.schemas.extend(required.schemas.clone());
        if is_fatal(&response) || before == self.required {
            return Phase::Ended(Ok(response));
        }
        if self.answered == CALLS {
            return Phase::Ended(Err(self.failure(StepFailure::Unsettled)));
        }
        Phase::Resolving(response)
    }

    fn violation(&self, why: Violation) -> RunFailure {
        self.failure(StepFailure::Violation {
            function: self.spec.function.clone(),
            why,
        })
    }

    fn failure(&self, why: StepFailure) -> RunFailure {
        RunFailure::Step {
            step: self.spec.step.clone(),
            why,
        }
    }
}
