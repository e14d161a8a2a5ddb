//! The steps of a reconcile. None calls another: what they share lies below them.

pub(super) mod choice;
pub(super) mod compose;
pub(super) mod deletion;
pub(super) mod gate;
pub(super) mod report;
pub(super) mod run;
