//! Suites about the plugin as a whole.

pub(crate) mod config;
pub(crate) mod info;
pub(crate) mod kinds;
pub(crate) mod logs;
pub(crate) mod process;
pub(crate) mod standard;
pub(crate) mod tls;
pub(crate) mod transport;
