//! Suites about one kind.

pub(crate) mod absence;
pub(crate) mod configs;
pub(crate) mod durable;
pub(crate) mod examples;
pub(crate) mod isolation;
pub(crate) mod lifecycle;
pub(crate) mod list;
pub(crate) mod observe;
pub(crate) mod outage;
pub(crate) mod overlap;
pub(crate) mod rejected;
pub(crate) mod repeat;
