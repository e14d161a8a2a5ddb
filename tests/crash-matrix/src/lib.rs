//! Real processes, a real API server, and a cloud whose objects can be counted: bridge and plugin are killed with `kill -9`, stopped and cut
//! off, and in the end there is exactly one external object for each managed resource, under the right name.
//!
//! The cloud ([`fake_cloud`]) lives in this process, the plugin and the bridge in one each. The matrix kills right before and right after
//! every write and every call; the tests of this package do what takes more than a kill.

pub mod batch;
pub mod case;
pub mod cluster;
pub mod hits;
pub mod points;
pub mod stage;
pub mod verdict;

/// Whatever went wrong: a sentence for whoever runs it.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Trouble(pub String);

impl Trouble {
    /// From anything that says something.
    pub fn from(what: impl std::fmt::Display) -> Self {
        Self(what.to_string())
    }
}
