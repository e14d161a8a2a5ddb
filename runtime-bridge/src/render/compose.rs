//! One composite resource on its way to rest: the machine of the live path, which writes into maps.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bridge_core::{
    composite::{
        Action, ComposedResource, Composite, CompositeIdentity, CompositeMachine, DesiredContext, LiveObject,
        Lookup, Next, ObjectId, ObjectState, ObservedName, Ownership, Performed, Pipeline, ResourceRef,
        RunFailure, RunInput, RunOutcome, RunStart, StepResult, desired_resources, names,
    },
    driver::Machine,
    managed::{Decision, Event},
    reasons::CompositeEvent,
    watch_plan::GroupKind,
};
use serde_json::Value;

use super::{
    RenderError, cluster,
    course::{Course, NOW, moment, reference_of},
    functions::RunningFunctions,
    inputs::{Inputs, text},
};

/// The nominal course has less than ten actions.
const MOST_ACTIONS: usize = 100;
/// A composed resource that is not desired any more has lost them.
const LOST_LABELS: [&str; 3] = [names::COMPOSITE, names::CLAIM_NAME, names::CLAIM_NAMESPACE];

/// What came of it.
pub(super) struct Rendered {
    /// As it would be stored.
    pub composite: Value,
    /// By composition resource name.
    pub composed: Vec<ComposedResource>,
    /// What is deleted, as it was given. If it is not desired any more, and not because the composite resource goes, it has lost the labels of composed
    /// resources.
    pub deleted: Vec<Value>,
    /// What the composite resource refers to.
    pub refs: Vec<ResourceRef>,
    /// Of the run, which may have ended with a fatal result; `None`: it is paused, or being deleted, and nothing was run.
    pub outcome: Option<Arc<RunOutcome>>,
    /// In their order.
    pub events: Vec<Event>,
    /// What cannot be composed, and why.
    pub problems: Vec<String>,
}

impl Rendered {
    /// The fatal result that ended the run.
    pub(super) fn failure(&self) -> Option<&RunFailure> {
        self.outcome.as_ref()?.result.as_ref().err()
    }
}

/// Composes it once, with one run of the pipeline.
///
/// # Errors
/// A run that failed, unless a function said so.
pub(super) async fn compose(inputs: &Inputs, functions: &RunningFunctions) -> Result<Rendered, RenderError> {
    let mut course = Course::new(inputs);
    let mut last = String::new();
    for _ in 0..MOST_ACTIONS {
        course.see_references();
        CompositeMachine::refresh(&mut course.memory, &course.snapshot);
        CompositeMachine::completed(&mut course.memory, &course.snapshot);
        course.take_events();
        let action = match CompositeMachine::decide(&course.snapshot, &course.memory) {
            // Nothing of it is left.
            Decision::Rest(_) | Decision::Act(Action::RemoveFinalizer) => return Ok(end(course, inputs)),
            Decision::Act(action) => action,
        };
        last = action.to_string();
        CompositeMachine::before(&mut course.memory, &course.snapshot, &action);
        let performed = match &action {
            Action::Run(start) => {
                let outcome = match &course.outcome {
                    // What was composed meanwhile is seen by the next run only: this is about one.
                    Some(outcome) => Arc::clone(outcome),
                    None => Arc::new(run(inputs, functions, start).await?),
                };
                course.ran(&start.basis, outcome);
                Performed::RunBegan
            }
            other => course.perform(other),
        };
        let moment = moment();
        let (memory, snapshot) = (&mut course.memory, &mut course.snapshot);
        let _ = CompositeMachine::performed(memory, snapshot, &action, performed, NOW, &moment);
    }
    Err(RenderError::Unsettled(last))
}

async fn run(
    inputs: &Inputs,
    functions: &RunningFunctions,
    start: &RunStart,
) -> Result<RunOutcome, RenderError> {
    let observed = cluster::with_connection_details(inputs, &start.observed).map_err(RenderError::Run)?;
    let mut pipeline = Pipeline::begin(RunInput {
        observed,
        steps: inputs.pipeline.clone(),
        seeds: start.seeds.clone(),
        context: inputs.context.clone(),
        ..RunInput::default()
    });
    let mut called = String::new();
    let calls = async {
        loop {
            match pipeline.next() {
                Next::Need(lookups) => {
                    let answer = |lookup: Lookup| {
                        let found = cluster::find(inputs, &lookup);
                        (lookup, found)
                    };
                    pipeline.found(lookups.into_iter().map(answer).collect());
                }
                Next::Call {
                    step,
                    function,
                    request,
                } => {
                    called = format!("step {step:?} was calling function {function:?}");
                    pipeline.answered(functions.call(&step, &function, &request).await?);
                }
                Next::End(outcome) => return Ok::<_, RenderError>(*outcome),
            }
        }
    };
    let ended = tokio::time::timeout(functions.left(), calls).await;
    let outcome = ended.map_err(|_| RenderError::Timeout {
        after: functions.timeout(),
        during: format!("{called}, which has not answered: see what it does"),
    })??;
    match &outcome.result {
        // Nothing is composed of it, but it is reported.
        Ok(_) | Err(RunFailure::Fatal { .. }) => Ok(outcome),
        Err(failure) => Err(RenderError::Run(failure.clone())),
    }
}

/// What is left once there is nothing to do.
fn end(mut course: Course, inputs: &Inputs) -> Rendered {
    course.take_events();
    let xr = &course.snapshot.xr;
    let outcome = course.outcome.take();
    let (composed, problems) = composed(inputs, xr, outcome.as_deref());
    let ids: BTreeSet<ObjectId> = composed.iter().map(|one| one.id.clone()).collect();
    let is_kept = |reference: &&ResourceRef| {
        let id = reference.id(xr.namespace());
        let is_ours = match course.snapshot.seen.get(&id) {
            Some(ObjectState::Exists(object)) => object.ownership(xr.uid()) == Ownership::Ours,
            _ => false,
        };
        outcome.is_none() || ids.contains(&id) || is_ours
    };
    Rendered {
        composite: xr.object.clone(),
        deleted: deleted(inputs, &course, outcome.is_some()),
        refs: xr.refs.iter().filter(is_kept).cloned().collect(),
        events: events(inputs, outcome.as_deref(), course.events),
        composed,
        outcome,
        problems,
    }
}

/// What is desired, and why some of it cannot be composed.
fn composed(
    inputs: &Inputs,
    xr: &Composite,
    outcome: Option<&RunOutcome>,
) -> (Vec<ComposedResource>, Vec<String>) {
    let (mut composed, mut problems) = (Vec::new(), Vec::new());
    let Some(Ok(desired)) = outcome.map(|outcome| &outcome.result) else {
        return (composed, problems);
    };
    let context = DesiredContext {
        composite: identity(xr),
        observed: inputs.observed.iter().map(|one| name_of(&one.live)).collect(),
        scopes: BTreeMap::new(),
    };
    for (_, one) in desired_resources(desired, &context).resources {
        match one {
            Ok(resource) => composed.push(resource),
            Err(error) => problems.push(error.to_string()),
        }
    }
    (composed, problems)
}

fn deleted(inputs: &Inputs, course: &Course, is_decomposed: bool) -> Vec<Value> {
    let home = course.snapshot.xr.namespace();
    let given = |id: &ObjectId| {
        let mut observed = inputs.observed.iter();
        let object = observed.find(|one| reference_of(&one.live, home).id(home) == *id)?;
        let mut object = object.given.clone();
        let labels = object.pointer_mut("/metadata/labels");
        if is_decomposed && let Some(labels) = labels.and_then(Value::as_object_mut) {
            labels.retain(|name, _| !LOST_LABELS.contains(&name.as_str()));
        }
        Some(object)
    };
    course.deleted.iter().filter_map(given).collect()
}

/// The failure of a run comes before what its functions said, all else after that.
fn events(inputs: &Inputs, outcome: Option<&RunOutcome>, own: Vec<Event>) -> Vec<Event> {
    let Some(outcome) = outcome else { return own };
    let mut events = Vec::new();
    if inputs.former_composition() != inputs.composition {
        let chosen = format!("Successfully selected composition: {}", inputs.composition);
        events.push(Event::normal(CompositeEvent::SelectComposition, &chosen));
    }
    let functions: Vec<Event> = outcome.results.iter().filter_map(StepResult::event).collect();
    if outcome.result.is_err() {
        events.extend(own);
        events.extend(functions);
    } else {
        events.extend(functions);
        events.extend(own);
    }
    events
}

fn identity(xr: &Composite) -> CompositeIdentity {
    let claim = (xr.label(names::CLAIM_NAME), xr.label(names::CLAIM_NAMESPACE));
    CompositeIdentity {
        api_version: xr.api_version().to_owned(),
        kind: xr.kind().to_owned(),
        name: xr.name().to_owned(),
        namespace: xr.namespace().map(str::to_owned),
        uid: xr.uid().to_owned(),
        root: xr.label(names::COMPOSITE).unwrap_or(xr.name()).to_owned(),
        claim: match claim {
            (Some(name), Some(namespace)) => Some((name.to_owned(), namespace.to_owned())),
            _ => None,
        },
    }
}

fn name_of(object: &LiveObject) -> ((String, GroupKind), ObservedName) {
    let group = reference_of(object, None).id(None).group_kind();
    let text = |pointer: &str| text(object.object(), pointer).to_owned();
    let filled = |pointer: &str| Some(text(pointer)).filter(|text| !text.is_empty());
    let name = ObservedName {
        namespace: filled("/metadata/namespace"),
        name: text("/metadata/name"),
        generate_name: filled("/metadata/generateName"),
    };
    let resource_name = object.resource_name().unwrap_or_default().to_owned();
    ((resource_name, group), name)
}
