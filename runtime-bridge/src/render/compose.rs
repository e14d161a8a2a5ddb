//! One composite resource on its way to rest: the machine of the live path, which writes into maps.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use bridge_core::{
    composite::{
        Action, Basis, Chosen, ComposedResource, Composite, CompositeIdentity, CompositeMachine,
        CompositeMemory, DesiredContext, InUse, LiveObject, Lookup, Next, ObjectId, ObjectState,
        ObservedName, Ownership, Performed, Pipeline, PublishedSecret, ResourceRef, RunInput, RunOutcome,
        RunStart, RunState, Selected, Settings, Snapshot, Strictness, desired_resources, names,
    },
    driver::{Leadership, Machine, Moment},
    managed::{Decision, Event},
    watch_plan::GroupKind,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{RenderError, cluster, functions::RunningFunctions, inputs::Inputs};

/// All times in what is rendered, so that the same inputs give the same text.
const NOW: Timestamp = Timestamp::constant(1_704_067_200, 0);
/// The nominal course has less than ten actions.
const MOST_ACTIONS: usize = 100;

/// What came of it.
pub(super) struct Rendered {
    /// As it would be stored.
    pub composite: Value,
    /// By composition resource name.
    pub composed: Vec<ComposedResource>,
    /// What the composite resource refers to.
    pub refs: Vec<ResourceRef>,
    /// Of the run; `None`: it is paused, or being deleted, and nothing was run.
    pub outcome: Option<Arc<RunOutcome>>,
    /// In their order, those of functions aside.
    pub events: Vec<Event>,
    /// What cannot be composed, and why.
    pub problems: Vec<String>,
}

/// Composes it once, with one run of the pipeline.
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
            Decision::Rest(_) | Decision::Act(Action::RemoveFinalizer) => return course.end(inputs),
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
    let mut pipeline = Pipeline::begin(RunInput {
        observed: Arc::clone(&start.observed),
        steps: inputs.pipeline.clone(),
        seeds: start.seeds.clone(),
        context: inputs.context.clone(),
        ..RunInput::default()
    });
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
                    function, request, ..
                } => {
                    pipeline.answered(functions.call(&function, &request).await);
                }
                Next::End(outcome) => return *outcome,
            }
        }
    };
    let outcome = tokio::time::timeout(functions.timeout(), calls)
        .await
        .map_err(|_| RenderError::Timeout(functions.timeout()))?;
    match &outcome.result {
        Ok(_) => Ok(outcome),
        Err(failure) => Err(RenderError::Run(failure.clone())),
    }
}

fn moment() -> Moment {
    Moment {
        now: NOW,
        leadership: Leadership {
            leads: true,
            term: 1,
            draining: false,
        },
        jitter: 0.0,
    }
}

/// Nothing waits for more of its kind: time stands still.
fn settings() -> Settings {
    Settings {
        settle: Duration::ZERO,
        longest_settle: Duration::ZERO,
        progress: Duration::ZERO,
        ..Settings::default()
    }
}

/// Where it stands.
struct Course {
    snapshot: Snapshot,
    memory: CompositeMemory,
    outcome: Option<Arc<RunOutcome>>,
    events: Vec<Event>,
    version: u64,
}

impl Course {
    fn new(inputs: &Inputs) -> Self {
        let mut object = inputs.composite.clone();
        object["metadata"]["resourceVersion"] = "1".into();
        let xr = Composite::parse(object, inputs.scope);
        let home = xr.namespace().map(str::to_owned);
        let mut seen = BTreeMap::new();
        let mut strays = Vec::new();
        for observed in &inputs.observed {
            let reference = reference_of(observed, home.as_deref());
            let id = reference.id(home.as_deref());
            if !xr.refs.iter().any(|one| one.id(home.as_deref()) == id) {
                strays.push(reference);
            }
            seen.insert(id, ObjectState::Exists(Box::new(observed.clone())));
        }
        let mut memory = CompositeMemory::default();
        CompositeMachine::begin_reconcile(&mut memory, 1);
        let snapshot = Snapshot {
            xr,
            choice: Ok(Chosen {
                selected: Selected {
                    composition: inputs.composition.clone(),
                    revision: inputs.composition.clone(),
                    revision_selector: None,
                    changes: Vec::new(),
                },
                revision_uid: String::new(),
                secrets_namespace: None,
                pipeline: Ok(Arc::new(inputs.pipeline.clone())),
            }),
            seen,
            strays,
            required: BTreeMap::new(),
            secrets: BTreeMap::new(),
            secrets_watched: true,
            unlisted_secrets: None,
            connection_keys: Arc::default(),
            in_use: InUse::default(),
            is_unwatched: false,
            run: RunState::None,
            namespaced: BTreeMap::new(),
            reserved: BTreeMap::new(),
            term_began: NOW - Duration::from_hours(1),
            may_act: true,
            settings: Arc::new(settings()),
            jitter: 0.0,
            now: NOW,
        };
        Self {
            snapshot,
            memory,
            outcome: None,
            events: Vec::new(),
            version: 1,
        }
    }

    /// What is referred to and was not given does not exist.
    fn see_references(&mut self) {
        let home = self.snapshot.xr.namespace().map(str::to_owned);
        for reference in &self.snapshot.xr.refs {
            let id = reference.id(home.as_deref());
            self.snapshot.seen.entry(id).or_insert(ObjectState::Absent);
        }
    }

    /// Results of functions are shown as the functions gave them.
    fn take_events(&mut self) {
        let events = self.memory.take_events();
        let is_own = |event: &Event| !event.message.starts_with("Pipeline step ");
        self.events.extend(events.into_iter().filter(is_own));
    }

    fn ran(&mut self, basis: &Basis, outcome: Arc<RunOutcome>) {
        let mut basis = basis.clone();
        basis.required.clone_from(&outcome.looked);
        self.snapshot.required = outcome
            .looked
            .iter()
            .map(|(lookup, digest)| (lookup.clone(), Ok(*digest)))
            .collect();
        self.snapshot.run = RunState::Ended {
            basis,
            outcome: Arc::clone(&outcome),
            took: Duration::ZERO,
            at: NOW,
        };
        self.outcome = Some(outcome);
    }

    fn perform(&mut self, action: &Action) -> Performed {
        match action {
            Action::Run(_) => Performed::RunBegan,
            Action::VerifyResourceVersion => Performed::Version(self.version.to_string()),
            Action::Observe(refs) => {
                let home = self.snapshot.xr.namespace();
                let look = |reference: &ResourceRef| {
                    let id = reference.id(home);
                    let state = self
                        .snapshot
                        .seen
                        .get(&id)
                        .cloned()
                        .unwrap_or(ObjectState::Absent);
                    (id, state)
                };
                Performed::Observed(refs.iter().map(look).collect())
            }
            Action::Write(write) => {
                let mut object = self.snapshot.xr.object.clone();
                let metadata = &mut object["metadata"];
                metadata["finalizers"] = json!(write.finalizers);
                metadata["labels"] = json!(write.labels);
                metadata["annotations"] = json!(write.annotations);
                object["spec"] = write.spec.clone();
                Performed::Version(self.store(object))
            }
            Action::Create(all) => {
                let created: Vec<LiveObject> = all.iter().map(|one| self.written(one, None)).collect();
                Performed::Written(created.into_iter().map(Ok).collect())
            }
            Action::Apply(all) => {
                let applied: Vec<LiveObject> = all
                    .iter()
                    .map(|change| self.written(&change.resource, Some(&change.uid)))
                    .collect();
                Performed::Written(applied.into_iter().map(Ok).collect())
            }
            Action::Delete(all) => {
                for deletion in all {
                    self.snapshot
                        .seen
                        .insert(deletion.id.clone(), ObjectState::Absent);
                }
                Performed::Deleted(all.iter().map(|_| Ok(true)).collect())
            }
            Action::Release(all) => {
                for release in all {
                    if let Some(ObjectState::Exists(live)) = self.snapshot.seen.get_mut(&release.id) {
                        live.object["metadata"]["ownerReferences"] = json!([]);
                    }
                }
                Performed::Released(all.iter().map(|_| Ok(())).collect())
            }
            Action::WriteStatus(write) => {
                let mut object = self.snapshot.xr.object.clone();
                object["status"] = write.status.clone();
                Performed::StatusWritten {
                    version: self.store(object),
                    stored: write.status.clone(),
                }
            }
            // What is published is in no object that is printed.
            Action::Publish(_) => Performed::Published(Ok(PublishedSecret {
                version: self.version,
                changed: false,
            })),
            Action::DeleteSecret(_) => Performed::SecretDeleted(Ok(())),
            Action::RemoveFinalizer => Performed::FinalizerRemoved(true),
        }
    }

    fn store(&mut self, mut object: Value) -> String {
        self.version += 1;
        let version = self.version.to_string();
        object["metadata"]["resourceVersion"] = version.clone().into();
        self.snapshot.xr = Composite::parse(object, self.snapshot.xr.scope);
        version
    }

    /// The object as it stands once it was written.
    fn written(&mut self, resource: &ComposedResource, uid: Option<&str>) -> LiveObject {
        let mut object = match uid {
            Some(_) => resource.applied(),
            None => resource.created(),
        };
        let new = format!("composed-{}", resource.resource_name);
        object["metadata"]["uid"] = uid.unwrap_or(&new).into();
        object["metadata"]["resourceVersion"] = "1".into();
        let live = LiveObject { object };
        let state = ObjectState::Exists(Box::new(live.clone()));
        self.snapshot.seen.insert(resource.id.clone(), state);
        live
    }

    fn end(mut self, inputs: &Inputs) -> Result<Rendered, RenderError> {
        self.take_events();
        let xr = &self.snapshot.xr;
        let home = xr.namespace();
        let Some(outcome) = self.outcome.take() else {
            return Ok(Rendered {
                composite: xr.object.clone(),
                composed: Vec::new(),
                refs: xr.refs.clone(),
                outcome: None,
                events: self.events,
                problems: Vec::new(),
            });
        };
        let desired = match &outcome.result {
            Ok(desired) => desired.clone(),
            Err(failure) => return Err(RenderError::Run(failure.clone())),
        };
        let context = DesiredContext {
            composite: identity(xr),
            observed: inputs.observed.iter().map(name_of).collect(),
            scopes: BTreeMap::new(),
            strictness: Strictness::Live,
        };
        let (mut composed, mut problems) = (Vec::new(), Vec::new());
        for (_, one) in desired_resources(&desired, &context).resources {
            match one {
                Ok(resource) => composed.push(resource),
                Err(error) => problems.push(error.to_string()),
            }
        }
        let ids: BTreeSet<ObjectId> = composed.iter().map(|one| one.id.clone()).collect();
        let is_kept = |reference: &&ResourceRef| {
            let id = reference.id(home);
            let is_ours = match self.snapshot.seen.get(&id) {
                Some(ObjectState::Exists(object)) => object.ownership(xr.uid()) == Ownership::Ours,
                _ => false,
            };
            ids.contains(&id) || is_ours
        };
        let refs = xr.refs.iter().filter(is_kept).cloned().collect();
        Ok(Rendered {
            composite: xr.object.clone(),
            composed,
            refs,
            outcome: Some(outcome),
            events: self.events,
            problems,
        })
    }
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

fn text(object: &LiveObject, pointer: &str) -> String {
    let found = object.object.pointer(pointer).and_then(Value::as_str);
    found.unwrap_or_default().to_owned()
}

fn reference_of(object: &LiveObject, home: Option<&str>) -> ResourceRef {
    let namespace = Some(text(object, "/metadata/namespace"));
    ResourceRef {
        api_version: text(object, "/apiVersion"),
        kind: text(object, "/kind"),
        namespace: namespace.filter(|namespace| home.is_none() && !namespace.is_empty()),
        name: text(object, "/metadata/name"),
    }
}

fn name_of(object: &LiveObject) -> ((String, GroupKind), ObservedName) {
    let group = reference_of(object, None).id(None).group_kind();
    let filled = |pointer: &str| Some(text(object, pointer)).filter(|text| !text.is_empty());
    let name = ObservedName {
        namespace: filled("/metadata/namespace"),
        name: text(object, "/metadata/name"),
        generate_name: filled("/metadata/generateName"),
    };
    let resource_name = object.resource_name().unwrap_or_default().to_owned();
    ((resource_name, group), name)
}
