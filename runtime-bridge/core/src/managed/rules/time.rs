//! When a call's effects end, and when what it made can be seen.

use jiff::Timestamp;

use crate::managed::{
    names,
    reconcile_memory::ReconcileMemory,
    record::{Intent, Record},
    snapshot::Snapshot,
};
use crate::rule::Rule;

/// Where a kind does not say how long a creation may take.
const LONGEST_CREATION: std::time::Duration = std::time::Duration::from_hours(1);

/// Nothing of a call can happen after this.
pub fn effects_end_at(snapshot: &Snapshot, deadline: Timestamp) -> Timestamp {
    if Rule::CallsHaveMargin.is_off() {
        return deadline;
    }
    deadline + snapshot.margin()
}

/// A look that began later than this tells the truth about a create with this deadline.
pub fn resolves_at(snapshot: &Snapshot, deadline: Timestamp) -> Timestamp {
    let end = effects_end_at(snapshot, deadline);
    if Rule::WindowFollowsDeadline.is_off() {
        return end;
    }
    end + snapshot.kind.capabilities.consistency_window
}

/// Nothing that a create does comes to be seen after this: not what its call did, nor the operation that it began, whether the answer told of it
/// (trace 44) or was lost (trace 46). What moves only when polled moves no more, and what was answered as done is done.
pub fn create_ends(snapshot: &Snapshot, memory: &ReconcileMemory, intent: &Intent) -> Timestamp {
    let may_go_on = match &intent.operation {
        Some(operation) => !operation.poll_driven && !Rule::ForgottenOperationMayGoOn.is_off(),
        None => !intent.operation_ended && !Rule::LostOperationMayGoOn.is_off(),
    };
    // Of several attempts another one may have begun an operation.
    let done = created_at(memory, intent).filter(|_| intent.attempt == 0 || intent.exclusive);
    if snapshot.kind.capabilities.visible_when_accepted || !may_go_on || done.is_some() {
        // An operation may have taken far longer than its call.
        let done = done.filter(|_| !Rule::DoneWhenAnswered.is_off());
        return done.map_or(intent.deadline, |done| intent.deadline.max(done));
    }
    // Each attempt may be the one that began it, at the end of its call.
    intent.deadline + snapshot.kind.timeouts.create.unwrap_or(LONGEST_CREATION)
}

/// Until then absence, and an empty marker, may only mean that what was made cannot be seen yet. A name from the upstream is confirmed by a
/// write that says when.
pub fn visible_at(snapshot: &Snapshot, record: &Record) -> Option<Timestamp> {
    let of_call = record.create().map(|intent| intent.deadline).max(record.deadline);
    let of_call = of_call.filter(|_| !Rule::HiddenAfterCall.is_off());
    let window = snapshot.kind.capabilities.consistency_window;
    let confirmed = || {
        let succeeded = snapshot.managed.annotated_time(names::CREATE_SUCCEEDED);
        let counts = snapshot.is_named_upstream() && !window.is_zero();
        let succeeded = succeeded.filter(|_| counts && !Rule::HiddenAfterConfirmation.is_off())?;
        // The annotation has whole seconds.
        Some(succeeded + std::time::Duration::from_secs(1) + snapshot.settings.clock_skew + window)
    };
    of_call
        .map(|deadline| resolves_at(snapshot, deadline))
        .max(confirmed())
}

/// Of an intent that ends: with a repeat among its attempts, or polls that drove it, an earlier call may still run, and its deadline stays.
pub fn remaining_deadline(intent: &Intent) -> Option<Timestamp> {
    let driven = intent
        .operation
        .as_ref()
        .is_some_and(|operation| operation.poll_driven);
    let keeps = !Rule::RepeatedIntentKeepsDeadline.is_off() && (intent.attempt > 0 || driven);
    keeps.then_some(intent.deadline)
}

/// This process was answered that the create had its effect: another repeat would tell it nothing new.
pub fn created_at(memory: &ReconcileMemory, intent: &Intent) -> Option<Timestamp> {
    memory.calls.created_at(intent)
}
