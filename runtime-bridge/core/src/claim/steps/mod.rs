//! The steps of a reconcile, by what they are about.

pub(super) mod bind;
pub(super) mod deletion;
pub(super) mod gate;
pub(super) mod report;
