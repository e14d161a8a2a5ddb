//! Stories about one kind.

pub(crate) mod examples;
pub(crate) mod life;
pub(crate) mod observe;
pub(crate) mod refused;
pub(crate) mod repeat;
