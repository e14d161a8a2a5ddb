//! What the steps of a decision look at: the snapshot, the memory, and what follows from both.

use std::{cell::OnceCell, sync::Arc};

use crate::external::{DesiredState, Observation, Owner, Secrets, Target};

use super::{
    differences::Differences,
    last_observation::{LastObservation, ObservedState},
    reconcile_memory::ReconcileMemory,
    record::{Record, Stored},
    rules,
    snapshot::{ResolvedDesiredState, Snapshot},
    status::Question,
};

/// Everything that a decision is made from. What is derived is worked out when a step first asks for it.
pub(super) struct ReconcileContext<'a> {
    pub snapshot: &'a Snapshot,
    pub memory: &'a ReconcileMemory,
    stored: Arc<Stored>,
    desired: OnceCell<Arc<ResolvedDesiredState>>,
    lookup: OnceCell<Lookup>,
    differences: OnceCell<Differences>,
}

/// What is known of the external resource outside the recovery of a creation.
#[derive(Clone, Copy)]
pub(super) enum Found<'c> {
    /// There is nothing to observe it by.
    Unidentified,
    /// It is to be observed by this name, which may be empty: by derived name or marker.
    Unobserved(&'c str),
    Exists(&'c LastObservation, &'c Observation),
    Absent(Absence<'c>),
}

/// An observation that found nothing.
#[derive(Clone, Copy)]
pub(super) struct Absence<'c> {
    pub last_observation: &'c LastObservation,
    /// By which it was looked for.
    pub name: &'c str,
    /// The name that the plugin works out; empty where it does not.
    pub derived: &'c str,
}

/// Whether the last observation counts.
enum Lookup {
    Unidentified,
    Stale(String),
    Fresh(String),
}

/// The resource exists, the object is not being deleted, and has a record.
#[derive(Clone, Copy)]
pub(super) struct Existing<'a> {
    pub record: &'a Record,
    pub last_observation: &'a LastObservation,
    pub observation: &'a Observation,
}

impl<'a> ReconcileContext<'a> {
    pub fn new(snapshot: &'a Snapshot, memory: &'a ReconcileMemory) -> Self {
        Self {
            snapshot,
            memory,
            stored: snapshot.managed.record(),
            desired: OnceCell::new(),
            lookup: OnceCell::new(),
            differences: OnceCell::new(),
        }
    }

    pub fn stored(&self) -> &Stored {
        &self.stored
    }

    /// The record, if it is this object's and can be read.
    pub fn record(&self) -> Option<&Record> {
        match &*self.stored {
            Stored::Owned(record) => Some(record),
            Stored::None | Stored::Unreadable(_) => None,
        }
    }

    pub fn deleting(&self) -> bool {
        self.snapshot.managed.deletion.is_some()
    }

    /// The desired state; without its sensitive values where it cannot be read whole.
    pub fn desired(&self) -> &ResolvedDesiredState {
        self.desired.get_or_init(|| match &self.snapshot.desired {
            Ok(desired) => Arc::clone(desired),
            Err(_) => Arc::new(ResolvedDesiredState {
                parameters: self.snapshot.bare.clone(),
                digest: String::new(),
                sensitive: Secrets::default(),
                sensitive_digest: String::new(),
            }),
        })
    }

    /// The same as a call carries it.
    pub fn to_desired_state(&self) -> DesiredState {
        let desired = self.desired();
        DesiredState {
            parameters: desired.parameters.clone(),
            sensitive: desired.sensitive.clone(),
        }
    }

    /// The record speaks of a resource: one that is confirmed, or that may have been created.
    pub fn is_bound(&self) -> bool {
        self.record()
            .is_some_and(|record| rules::bound(self.snapshot, record))
    }

    /// A deletion looks for nothing that the object cannot show to be its own.
    fn name_to_observe(&self) -> Option<String> {
        match self.record() {
            Some(record) if self.deleting() && self.is_bound() => Some(record.external_name.clone()),
            _ if self.deleting() && !self.snapshot.kind.capabilities.holds_marker => None,
            record => self.snapshot.name_to_observe_by(record),
        }
    }

    pub fn found(&self) -> Found<'_> {
        let lookup = self.lookup.get_or_init(|| match self.name_to_observe() {
            None => Lookup::Unidentified,
            Some(name) if self.memory.fresh_observation(self.snapshot, &name).is_some() => {
                Lookup::Fresh(name)
            }
            Some(name) => Lookup::Stale(name),
        });
        match (lookup, self.memory.observed.last()) {
            (Lookup::Unidentified, _) => Found::Unidentified,
            (Lookup::Stale(name), _) | (Lookup::Fresh(name), None) => Found::Unobserved(name),
            (Lookup::Fresh(name), Some(last_observation)) => match &last_observation.found {
                ObservedState::Exists(observation) => Found::Exists(last_observation, observation),
                ObservedState::Absent(absent) => Found::Absent(Absence {
                    last_observation,
                    name,
                    derived: &absent.external_name,
                }),
            },
        }
    }

    /// What was found, unless the object is being deleted.
    pub fn observation(&self) -> Option<&Observation> {
        match self.found() {
            Found::Exists(_, observation) if !self.deleting() => Some(observation),
            Found::Exists(..) | Found::Unidentified | Found::Unobserved(_) | Found::Absent(_) => None,
        }
    }

    /// What was not found, unless the object is being deleted.
    pub fn absence(&self) -> Option<Absence<'_>> {
        match self.found() {
            Found::Absent(absence) if !self.deleting() => Some(absence),
            Found::Exists(..) | Found::Unidentified | Found::Unobserved(_) | Found::Absent(_) => None,
        }
    }

    pub fn existing(&self) -> Option<Existing<'_>> {
        match (self.record(), self.found()) {
            (Some(record), Found::Exists(last_observation, observation)) if !self.deleting() => {
                Some(Existing {
                    record,
                    last_observation,
                    observation,
                })
            }
            _ => None,
        }
    }

    /// In what the resource differs from the desired state.
    pub fn differences(&self, existing: Existing) -> &Differences {
        self.differences.get_or_init(|| {
            Differences::of(
                &self.snapshot.kind,
                self.desired(),
                &self.snapshot.marker,
                existing.record,
                existing.observation,
            )
        })
    }

    /// Whom a call is about; `None`: the config is not known.
    pub fn target(&self, name: &str) -> Option<Target> {
        let config = self.snapshot.config.as_ref().ok()?;
        let managed = &self.snapshot.managed;
        Some(Target {
            resource_type: self.snapshot.kind.resource_type.clone(),
            config: Arc::clone(config),
            owner: Owner {
                namespace: managed.namespace.clone(),
                name: managed.name.clone(),
                uid: managed.uid.clone(),
                generation: managed.generation,
            },
            external_name: name.to_owned(),
            ownership_marker: self.snapshot.marker.clone(),
            former_marker: self.snapshot.former_marker().to_owned(),
            provider_state: self
                .record()
                .map(|record| record.provider_state.clone())
                .unwrap_or_default(),
        })
    }

    /// The state that the last observation of this name returned; `None`: it returned none.
    pub fn observed_state(&self, name: &str) -> Option<&str> {
        match self.memory.observed.last_state()? {
            ObservedState::Exists(found) if found.external_name == name => {
                Some(found.provider_state.as_str())
            }
            ObservedState::Exists(_) | ObservedState::Absent(_) => None,
        }
        .filter(|state| !state.is_empty())
    }

    /// The question that stands in the status, if it is about the create that is still unanswered, and about no earlier attempt (trace 30).
    pub fn open_question(&self) -> Option<Question> {
        let record = self.record()?;
        let intent = record
            .create()
            .filter(|_| !rules::confirmed(self.snapshot, record))?;
        let asked = self.snapshot.managed.status.progress.question.as_ref()?;
        rules::question_is_about(asked, intent).then(|| asked.clone())
    }
}
