//! One call at a time, each after its intent or a proof that nobody wrote since.

use jiff::Timestamp;

use super::{recorded::confirmed, time::effects_end_at};
use crate::managed::{
    attempt::Attempt,
    names,
    reconcile_memory::ReconcileMemory,
    record::{Intent, IntentVerb, Record},
    snapshot::Snapshot,
    status::PendingDelete,
};
use crate::{kind::CreateRecovery, rule::Rule};

/// This process wrote the intent, or tried to, and never began its call: there is nothing to recover (trace 37).
pub fn is_certainly_unsent(memory: &ReconcileMemory, intent: &Intent) -> bool {
    let is_first = intent.attempt == 0 || Rule::FirstAttemptAloneIsUnsent.is_off();
    memory.calls.is_unsent(&intent.token) && is_first && !Rule::UnsentIsClosed.is_off()
}

/// The intent was written by this process in this pass: now, and only now, its call may go (traces 1, 11).
pub fn is_just_recorded(memory: &ReconcileMemory, intent: &Intent) -> bool {
    memory.calls.may_send(&Attempt::recorded(intent)) || Rule::CreateFollowsItsIntent.is_off()
}

/// The Delete that this process has just written into the status goes, if half of its time is left: what was collected and observed since may have
/// taken long.
pub fn pending_delete<'s>(snapshot: &'s Snapshot, memory: &ReconcileMemory) -> Option<&'s PendingDelete> {
    let pending = snapshot.managed.status.progress.deletion.as_ref()?;
    let enough = snapshot.kind.timeouts.call / 2;
    let goes = memory.calls.may_send(&Attempt::pending(pending)) && pending.deadline > snapshot.now + enough;
    goes.then_some(pending)
}

/// The poll that drives an operation on may go: its intent was just rewritten, and nobody wrote since, under the same token (trace 31).
pub fn may_drive(snapshot: &Snapshot, memory: &ReconcileMemory, intent: &Intent) -> bool {
    let proof = memory.proof.began(&snapshot.managed.resource_version);
    is_just_recorded(memory, intent) && proof.is_some()
}

/// One call at a time: until then a recorded call may still run, so no new intent is written and no Delete sent (trace 12).
/// An answer to this process ends attempt 0; of later ones an earlier attempt may still be on its way.
pub fn may_still_run_until(
    snapshot: &Snapshot,
    record: &Record,
    memory: &ReconcileMemory,
) -> Option<Timestamp> {
    let answered = |intent: &Intent| {
        memory
            .calls
            .is_answered(&Attempt::recorded(intent), intent.deadline)
    };
    let recorded = match &record.intent {
        Some(_) if Rule::RecordedCallMayRun.is_off() => None,
        Some(intent) if intent.attempt == 0 && answered(intent) => None,
        Some(intent) if is_certainly_unsent(memory, intent) => None,
        Some(intent) => Some(intent.deadline),
        None => record.deadline,
    };
    let pending = snapshot.managed.status.progress.deletion.as_ref();
    let deadline = match pending.filter(|_| !Rule::PendingDeleteIsACall.is_off()) {
        // Nothing of the record could execute any more when it was written.
        Some(pending) if follows(pending, record) => pending_until(memory, pending),
        // Nothing of it could execute any more when this one was recorded.
        Some(_) if is_delete(record) => recorded,
        Some(pending) => recorded.max(pending_until(memory, pending)),
        None => recorded,
    };
    deadline
        .map(|deadline| effects_end_at(snapshot, deadline))
        .filter(|over| !Rule::OneCallAtATime.is_off() && *over > snapshot.now)
}

/// Its intent deletes, and is no older than the Delete of the status, which follows what was there before.
fn is_delete(record: &Record) -> bool {
    let intent = record.intent.as_ref();
    intent.is_some_and(|intent| intent.verb == IntentVerb::Delete)
}

/// Whether the record is still the one that it was written upon.
pub fn follows(pending: &PendingDelete, record: &Record) -> bool {
    let token = record.intent.as_ref().map_or("", |intent| intent.token.as_str());
    pending.after == token
}

fn pending_until(memory: &ReconcileMemory, pending: &PendingDelete) -> Option<Timestamp> {
    let over = memory
        .calls
        .is_answered(&Attempt::pending(pending), pending.deadline)
        || memory.calls.is_unsent(&pending.token) && !Rule::UnsentIsClosed.is_off();
    (!over).then_some(pending.deadline)
}

/// A call that needs no intent follows only a guarded write, or a live read, of this pass (trace 11): its deadline counts from there. Half of its
/// time must be left, or it would be cut short for nothing; where reads take so long each time, it makes do with what there is.
pub fn precondition_valid_until(snapshot: &Snapshot, memory: &ReconcileMemory) -> Option<Timestamp> {
    let call = snapshot.kind.timeouts.call;
    if Rule::UpdateNeedsVerification.is_off() {
        return Some(snapshot.now + call);
    }
    let began = memory.proof.began(&snapshot.managed.resource_version)?;
    let enough = if memory.proof.is_repeated() {
        call / 8
    } else {
        call / 2
    };
    Some(began + call).filter(|deadline| *deadline > snapshot.now + enough)
}

/// A Delete needs an intent where a successor can have the same name (traces 13, 31). A marker protects another object's, if the upstream
/// compares and deletes in one step, and never the replacement, which is of the same object (trace 43).
pub fn delete_needs_intent(snapshot: &Snapshot) -> bool {
    let by_marker = Rule::MarkerReplacesNoIntent.is_off() && snapshot.recovers_by(CreateRecovery::Marker);
    !snapshot.is_named_upstream() && !by_marker && !Rule::DeleteOfNameNeedsIntent.is_off()
}

/// Where a Delete is not recorded, one of a former process may still execute for as long as a call may, from when nobody sends one any more:
/// until then nothing is let go without its resource (trace 38).
pub fn unrecorded_delete_may_run_until(
    snapshot: &Snapshot,
    record: &Record,
    memory: &ReconcileMemory,
) -> Option<Timestamp> {
    let begun =
        !delete_needs_intent(snapshot) && confirmed(snapshot, record) && snapshot.managed.shows_deleting();
    let since = memory.leaving_since.unwrap_or(snapshot.now);
    Some(effects_end_at(snapshot, since + snapshot.kind.timeouts.call))
        .filter(|over| begun && *over > snapshot.now && !Rule::OrphanWaitsForUnrecordedDelete.is_off())
}

/// The policy, or a person, lets the object go without its resource.
pub fn may_be_orphaned(snapshot: &Snapshot) -> bool {
    let managed = &snapshot.managed;
    let marked = managed.annotation(names::ORPHAN) == managed.uid;
    managed.deletion.is_some()
        && (!managed.policies.delete || marked || !snapshot.kind.capabilities.can_delete)
}

/// What a person is answered who lets another object go, of another uid, while this one stays.
pub fn wrong_orphan(snapshot: &Snapshot) -> Option<String> {
    let managed = &snapshot.managed;
    let given = managed.annotation(names::ORPHAN);
    let is_wrong = managed.deletion.is_some() && !given.is_empty() && !may_be_orphaned(snapshot);
    is_wrong.then(|| {
        format!(
            "the annotation {} says {given:?}, which is not the uid of this object, {}",
            names::ORPHAN,
            managed.uid
        )
    })
}
