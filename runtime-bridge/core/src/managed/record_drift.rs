//! What the memory takes in to know whether an Update corrects what another actor changed.

use crate::{
    external::{Call, Observation, Verb},
    reasons::{ConditionReason, NormalEvent},
};

use super::{
    decision::Event,
    differences::Differences,
    last_observation::ObservedState,
    reconcile_inputs::ReconcileInputs,
    reconcile_memory::ReconcileMemory,
    record::Stored,
    snapshot::Snapshot,
    status::{READY, SYNCED},
};

impl ReconcileMemory {
    /// Takes in an observation that shows the resource as it is desired.
    pub fn note_in_sync(&mut self, snapshot: &Snapshot, observation: &Observation) {
        let differences = differences(snapshot, observation);
        if differences.is_some_and(|one| !one.has_fields() && !one.secrets && !one.unmarked) {
            self.drift.in_sync = Some(ReconcileInputs::of(snapshot));
        }
    }

    /// Before a call: an Update of what was as it is desired corrects drift.
    pub fn note_drift(&mut self, snapshot: &Snapshot, call: &Call) {
        self.drift.corrected = (call.verb == Verb::Update)
            .then(|| drifted(snapshot, self))
            .flatten();
    }

    /// The Update was carried out, or began.
    pub fn report_drift(&mut self) {
        if let Some(fields) = self.drift.corrected.take() {
            let message = format!("Corrected drift in {fields}");
            self.events
                .push(Event::normal(NormalEvent::CorrectedDrift, &message));
        }
    }
}

/// `None`: no record of the object speaks of it, or what is desired is not known whole.
fn differences(snapshot: &Snapshot, observation: &Observation) -> Option<Differences> {
    match (&*snapshot.managed.record(), &snapshot.desired) {
        (Stored::Owned(record), Ok(desired)) => Some(Differences::of(
            &snapshot.kind,
            desired,
            &snapshot.marker,
            record,
            observation,
        )),
        _ => None,
    }
}

/// The fields that differ though nobody asked for a change; `None`: it is not known to have been otherwise.
fn drifted(snapshot: &Snapshot, memory: &ReconcileMemory) -> Option<String> {
    let Some(ObservedState::Exists(observation)) = memory.observed.last_state() else {
        return None;
    };
    let differences = differences(snapshot, observation)?;
    if differences.secrets || differences.updated.is_empty() && !differences.unmarked {
        return None;
    }
    let was_in_sync = match &memory.drift.in_sync {
        Some(inputs) => inputs.desires_the_same(&ReconcileInputs::of(snapshot)),
        // Another process observed it, and its status tells.
        None => !memory.has_updated() && was_reported_in_sync(snapshot),
    };
    was_in_sync.then(|| differences.to_update())
}

fn was_reported_in_sync(snapshot: &Snapshot) -> bool {
    let is = |kind, reason: ConditionReason| {
        snapshot.managed.condition(kind).is_some_and(|condition| {
            condition.reason == reason.as_str()
                && condition.observed_generation == snapshot.managed.generation
        })
    };
    is(SYNCED, ConditionReason::ReconcileSuccess) && is(READY, ConditionReason::Available)
}
