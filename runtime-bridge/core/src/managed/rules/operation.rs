//! Which operations are followed, and what their end means.

use super::{Ownership, bound, ownership};
use crate::managed::{
    record::{Intent, Record, Stored},
    snapshot::Snapshot,
    status::OperationReport,
};
use crate::{
    external::{Observation, Operation, OperationVerb},
    rule::Rule,
};

/// An operation that an observation found may be followed as if it were ours: a creation's handle lives in the record alone, a removal that nobody here
/// asked for is waited for, and what moves only when polled is driven on only where its verb is still due (trace 41). Of a resource that the object
/// cannot show to be its own no removal is driven on (trace 27).
pub fn may_adopt_operation(snapshot: &Snapshot, observation: &Observation, operation: &Operation) -> bool {
    let deleting = snapshot.managed.deletion.is_some();
    match operation.verb {
        OperationVerb::Create => false,
        OperationVerb::Update => !operation.poll_driven || (snapshot.managed.policies.update && !deleting),
        OperationVerb::Delete => {
            (deleting || Rule::UndesiredRemovalIsNotDriven.is_off()) && is_own(snapshot, observation)
        }
    }
}

fn is_own(snapshot: &Snapshot, observation: &Observation) -> bool {
    let is_own = match ownership(snapshot, observation) {
        Ownership::Owned | Ownership::FormerlyOwned => true,
        Ownership::Unmarked => match &*snapshot.managed.record() {
            Stored::Owned(record) => bound(snapshot, record),
            Stored::None | Stored::Unreadable(_) => false,
        },
        Ownership::Foreign(_) => false,
    };
    is_own || Rule::FoundRemovalIsOwn.is_off()
}

/// An operation is about the resource that the record speaks of, not about a former one, whose name and handle may be the same (trace 54).
pub fn is_of_the_recorded_resource(record: &Record, operation: &OperationReport) -> bool {
    // What was found by its marker alone is not in the record by name.
    let named = !record.external_name.is_empty() && !operation.external_name.is_empty();
    let same_name = !named || operation.external_name == record.external_name;
    Rule::OperationOfOwnResource.is_off() || operation.incarnation == record.incarnation && same_name
}

/// A deletion need not wait for the creation that runs: what it makes is seen, so that an absence after the Delete tells the truth (trace 46).
pub fn may_be_deleted_while_created(snapshot: &Snapshot) -> bool {
    let capabilities = &snapshot.kind.capabilities;
    let is_visible = capabilities.visible_when_accepted || Rule::HiddenIsNotDeletedEarly.is_off();
    capabilities.delete_during_create && is_visible
}

/// An answer that comes late does not take the place of a newer attempt's operation (trace 24).
pub fn has_newer_operation(intent: &Intent, attempt: u32) -> bool {
    intent
        .operation
        .as_ref()
        .is_some_and(|operation| !Rule::NewerOperationStays.is_off() && operation.attempt > attempt)
}

/// The end of the recorded operation is the end of the create: no other attempt can have begun another one.
pub fn operation_ends_the_create(intent: &Intent, handle: &str) -> bool {
    let held = intent
        .operation
        .as_ref()
        .filter(|operation| operation.handle == handle);
    held.is_some_and(|operation| operation.attempt == intent.attempt)
        && (intent.attempt == 0 || intent.exclusive)
}
