//! Real processes, a real API server, and a cloud whose objects can be counted: bridge and plugin are killed with `kill -9`, stopped and cut
//! off, and in the end there is exactly one external object for each managed resource, under the right name.
//!
//! The cloud ([`fake_cloud`]) lives in this process, the plugin and the bridge in one each. The matrix kills right before and right after
//! every write and every call; the tests of this package do what takes more than a kill.

pub mod batch;
pub mod case;
pub mod cluster;
pub mod coverage;
pub mod endings;
pub mod failpoints;
pub mod testbed;
pub mod verdict;

/// A failure of the test run itself, as one sentence.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TestError(pub String);

impl TestError {
    /// The text of any error, without its type.
    pub fn from(what: impl std::fmt::Display) -> Self {
        Self(what.to_string())
    }
}
