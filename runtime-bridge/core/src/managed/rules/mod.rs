//! The rules of design section 4, each one named predicate, by subject. Nearly all were shown to be needed by taking them out: see
//! `crash-traces` in the reliability documents for what happens without each.

mod absence;
mod answer;
mod call;
mod location;
mod operation;
mod own;
mod owner;
mod person;
mod recorded;
mod repeat;
mod time;

pub use absence::{
    absence_believed_after, absence_confirmed, absence_ends_the_removal, absence_is_conclusive,
    absence_resolves,
};
pub use answer::{
    believed, contradicts_itself, exhausts_token, failed_operation_resolves, is_terminal, rejection_resolves,
};
pub use call::{
    delete_needs_intent, follows, is_certainly_unsent, is_just_recorded, may_be_orphaned, may_drive,
    may_still_run_until, pending_delete, precondition_valid_until, unrecorded_delete_may_run_until,
    wrong_orphan,
};
pub use location::{found_in_another_account, in_another_account, same_location};
pub use operation::{
    has_newer_operation, is_of_the_recorded_resource, may_adopt_operation, may_be_deleted_while_created,
    operation_ends_the_create,
};
pub use own::is_own;
pub use owner::{
    Ownership, OwnershipClaim, conflicting_object, denote_same_resource, foreign_owner, is_conflicting,
    is_found_of_other, may_be_its_work, name_to_create, needs_confirmation, ownership, ownership_claim,
    why_not_adopted,
};
pub use person::{breaks_name_rules, may_ask_person, question_is_about};
pub use recorded::{
    bound, confirmed, has_one_time_details, lost_connection_details, name_was_changed, next_incarnation,
    observation_is_about, observed_as_recorded, recovery_name,
};
pub use repeat::{request_is_the_same, secrets_are_recorded, token_may_be_repeated};
pub use time::{create_ends, created_at, remaining_deadline, resolves_at, visible_at};
