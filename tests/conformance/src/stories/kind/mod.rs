//! Stories about one kind.

pub(crate) mod absence;
pub(crate) mod configs;
pub(crate) mod cross;
pub(crate) mod durable;
pub(crate) mod examples;
pub(crate) mod life;
pub(crate) mod list;
pub(crate) mod observe;
pub(crate) mod overlap;
pub(crate) mod refused;
pub(crate) mod repeat;
pub(crate) mod upstream;
