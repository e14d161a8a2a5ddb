//! Where a composite resource stands on its way, and what each action makes of that.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bridge_core::{
    composite::{
        Action, Basis, Chosen, ComposedResource, Composite, CompositeMachine, CompositeMemory, InUse,
        LiveObject, ObjectId, ObjectState, Performed, PublishedSecret, ResourceRef, RunOutcome, RunState,
        Selected, Settings, Snapshot,
    },
    driver::{Leadership, Machine, Moment},
    managed::Event,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::inputs::{Inputs, text};

/// All times in what is rendered, so that the same inputs give the same text.
pub(super) const NOW: Timestamp = Timestamp::constant(1_704_067_200, 0);

/// Always the same one.
pub(super) fn moment() -> Moment {
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

/// Nothing waits for more of its kind, as time stands still, and all is written at once, as nothing is written anywhere.
fn settings() -> Settings {
    Settings {
        settle: Duration::ZERO,
        longest_settle: Duration::ZERO,
        progress: Duration::ZERO,
        writes: usize::MAX,
        batch: usize::MAX,
        ..Settings::default()
    }
}

/// Where it stands.
pub(super) struct Course {
    pub snapshot: Snapshot,
    pub memory: CompositeMemory,
    /// Of the one run.
    pub outcome: Option<Arc<RunOutcome>>,
    /// In their order, those of functions aside.
    pub events: Vec<Event>,
    /// In their order.
    pub deleted: Vec<ObjectId>,
    version: u64,
}

impl Course {
    pub(super) fn new(inputs: &Inputs) -> Self {
        let mut object = inputs.composite.clone();
        object["metadata"]["resourceVersion"] = "1".into();
        let xr = Composite::parse(object, inputs.scope);
        let home = xr.namespace().map(str::to_owned);
        let mut seen = BTreeMap::new();
        let mut strays = Vec::new();
        for observed in inputs.observed.iter().map(|one| &one.live) {
            let reference = reference_of(observed, home.as_deref());
            let id = reference.id(home.as_deref());
            if !xr.refs.iter().any(|one| one.names(&id, home.as_deref())) {
                strays.push(reference);
            }
            seen.insert(id, ObjectState::Exists(Arc::new(observed.clone())));
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
                secrets_namespace: inputs.secrets_namespace.clone(),
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
            function_news: false,
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
            deleted: Vec::new(),
            version: 1,
        }
    }

    /// What is referred to and was not given does not exist.
    pub(super) fn see_references(&mut self) {
        let home = self.snapshot.xr.namespace().map(str::to_owned);
        for reference in &self.snapshot.xr.refs {
            let id = reference.id(home.as_deref());
            self.snapshot.seen.entry(id).or_insert(ObjectState::Absent);
        }
    }

    /// Results of functions are shown as the functions gave them.
    pub(super) fn take_events(&mut self) {
        let events = self.memory.take_events();
        let is_own = |event: &Event| !event.message.starts_with("Pipeline step ");
        self.events.extend(events.into_iter().filter(is_own));
    }

    pub(super) fn ran(&mut self, basis: &Basis, outcome: Arc<RunOutcome>) {
        if outcome.result.is_err() {
            // What a failed run leaves open is known of conditions that stand in the status alone.
            self.memory.recall_conditions(self.snapshot.xr.status());
        }
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

    pub(super) fn perform(&mut self, action: &Action) -> Performed {
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
                    self.deleted.push(deletion.id.clone());
                    self.snapshot
                        .seen
                        .insert(deletion.id.clone(), ObjectState::Absent);
                }
                Performed::Deleted(all.iter().map(|_| Ok(true)).collect())
            }
            Action::Release(all) => {
                for release in all {
                    if let Some(ObjectState::Exists(live)) = self.snapshot.seen.get_mut(&release.id) {
                        Arc::make_mut(live).object_mut()["metadata"]["ownerReferences"] = json!([]);
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
        let live = LiveObject::new(object);
        let state = ObjectState::Exists(Arc::new(live.clone()));
        self.snapshot.seen.insert(resource.id.clone(), state);
        live
    }
}

/// As it stands in the composite resource.
pub(super) fn reference_of(object: &LiveObject, home: Option<&str>) -> ResourceRef {
    let text = |pointer: &str| text(object.object(), pointer).to_owned();
    let namespace = Some(text("/metadata/namespace"));
    ResourceRef {
        api_version: text("/apiVersion"),
        kind: text("/kind"),
        namespace: namespace.filter(|namespace| home.is_none() && !namespace.is_empty()),
        name: text("/metadata/name"),
    }
}
