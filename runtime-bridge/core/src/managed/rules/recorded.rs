//! What the record says of the resource, and where it is looked for by it.

use crate::managed::{
    last_observation::LastObservation,
    names,
    record::{Intent, Record, RecordedParameters},
    snapshot::{ResolvedDesiredState, Snapshot},
};
use crate::{
    external::Document,
    kind::{CreateRecovery, Kind},
    rule::Rule,
};

/// The create is confirmed: by metadata, or by the status that names its token.
pub fn confirmed(snapshot: &Snapshot, record: &Record) -> bool {
    snapshot.managed.confirms(record)
}

/// Deletion adopts nothing: what we neither made, nor were making, nor confirmed is ours only if it bears our marker (trace 27).
pub fn bound(snapshot: &Snapshot, record: &Record) -> bool {
    Rule::DeletionAdoptsNothing.is_off() || confirmed(snapshot, record) || record.intent.is_some()
}

/// The record keeps the name that was sent or confirmed (trace 18).
pub fn name_was_changed(snapshot: &Snapshot, record: &Record) -> bool {
    let sent = !record.external_name.is_empty() || record.create().is_some();
    let is_other = snapshot.managed.annotation(names::EXTERNAL_NAME) != record.external_name;
    sent && is_other && !Rule::ChangedNameStops.is_off()
}

/// Which of the object's external resources is created next.
pub fn next_incarnation(record: Option<&Record>) -> u32 {
    record.map_or(0, |record| record.incarnation.saturating_add(1))
}

/// What an unanswered create may have made is looked up where it was desired, though a spec that was edited since may mean another
/// place, a region for instance (trace 33). `None`: the desired state is still the recorded one, or is not known whole.
pub fn observed_as_recorded<'i>(intent: &'i Intent, desired: &ResolvedDesiredState) -> Option<&'i Document> {
    match &intent.parameters {
        RecordedParameters::Whole(recorded) => {
            let is_other = *recorded != desired.parameters && !Rule::CreateObservedAsRecorded.is_off();
            is_other.then_some(recorded)
        }
        RecordedParameters::Digest(_) => None,
    }
}

/// A look from before the intent says nothing of the create.
pub fn observation_is_about(last_observation: &LastObservation, intent: &Intent) -> bool {
    last_observation
        .recorded
        .as_ref()
        .is_some_and(|attempt| attempt.is_of(intent))
}

/// The name by which recovery looks. A cloud-named kind that is found by its marker looks by nothing else: an older name would find, or miss,
/// an older resource (trace 14). Without a marker it is the name that an answer to this very create told.
pub fn recovery_name(snapshot: &Snapshot, record: &Record) -> String {
    let by_marker = snapshot.is_named_upstream() && snapshot.recovers_by(CreateRecovery::Marker);
    if by_marker && !Rule::RecoveryObservesByMarkerAlone.is_off() {
        String::new()
    } else {
        record.external_name.clone()
    }
}

/// The create gives connection details that the upstream tells once, and somebody wants them.
pub fn has_one_time_details(snapshot: &Snapshot) -> bool {
    snapshot.managed.wants_connection_secret && snapshot.kind.connection_keys.iter().any(|key| key.one_time)
}

/// For people: what is lost, and what can be done.
pub fn lost_connection_details(kind: &Kind) -> String {
    let keys = kind.connection_keys.iter().filter(|key| key.one_time);
    let keys: Vec<&str> = keys.map(|key| key.name.as_str()).collect();
    format!(
        "the answer that carried {} was lost, and they are given once; unless the connection Secret holds them already, have new ones made in the external system, or delete this object and make another",
        keys.join(", ")
    )
}
