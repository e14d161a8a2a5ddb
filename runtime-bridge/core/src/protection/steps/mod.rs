//! The steps of a reconcile, by what they are about.

pub(super) mod deletion;
pub(super) mod protect;
