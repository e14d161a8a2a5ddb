//! When an absence is believed, and what it settles.

use jiff::Timestamp;

use super::time::resolves_at;
use crate::managed::{
    last_observation::{LastObservation, ObservedState},
    reconcile_memory::ReconcileMemory,
    record::Intent,
    snapshot::Snapshot,
};
use crate::rule::Rule;

/// For at least so long an absence of what is known to exist is doubted.
const LEAST_DOUBT: std::time::Duration = std::time::Duration::from_secs(5);

/// Absence settles an unanswered create only if the look *began* after its time (traces 1 to 4).
pub fn absence_resolves(
    snapshot: &Snapshot,
    deadline: Timestamp,
    last_observation: &LastObservation,
) -> bool {
    let began = if Rule::ObservationBeginCounts.is_off() {
        snapshot.now
    } else {
        last_observation.began
    };
    matches!(last_observation.found, ObservedState::Absent(_))
        && (Rule::AbsenceResolvesAfterTime.is_off() || began > resolves_at(snapshot, deadline))
}

/// A known name that reads as absent is believed only if a later look, begun after the consistency window, finds it absent too (trace 29).
pub fn absence_confirmed(
    snapshot: &Snapshot,
    memory: &ReconcileMemory,
    last_observation: &LastObservation,
) -> bool {
    let began = if Rule::SecondAbsenceBeganAfterWindow.is_off() {
        snapshot.now
    } else {
        last_observation.began
    };
    matches!(last_observation.found, ObservedState::Absent(_))
        && memory.observed.absent_since().is_some_and(|first| {
            Rule::AbsenceNeedsConfirmation.is_off() || began > absence_believed_after(snapshot, first)
        })
}

/// Only an observation that begins later confirms an absence first seen at `first`: a moment's 404 is none, whatever the kind declares
/// (trace 47).
pub fn absence_believed_after(snapshot: &Snapshot, first: Timestamp) -> Timestamp {
    let window = snapshot.kind.capabilities.consistency_window;
    if Rule::MomentaryAbsenceIsDoubted.is_off() {
        return first + window;
    }
    first + window.max(LEAST_DOUBT)
}

/// What reads as absent is gone only after an answered Delete as well (trace 15). What never had a name cannot be deleted.
pub fn absence_ends_the_removal(memory: &ReconcileMemory, name: &str) -> bool {
    Rule::DeletionNeedsAnswerAndAbsence.is_off()
        || memory.calls.delete_answered().is_some()
        || name.is_empty()
}

/// Absence of the name that was looked by settles the create. A name that an answer told speaks of that attempt alone.
pub fn absence_is_conclusive(snapshot: &Snapshot, intent: &Intent, by_marker: bool, by_name: bool) -> bool {
    let is_its_name =
        Rule::ReportedNameIsOfItsAttempt.is_off() || !snapshot.is_named_upstream() || intent.attempt == 0;
    Rule::UnobservableKindIsNotAbsent.is_off() || by_marker || by_name && is_its_name
}
