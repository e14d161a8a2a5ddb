//! What was found out about an assertion.

use serde::Serialize;

use crate::assertion::Assertion;

/// What was found out. In the order in which one outweighs another of the same assertion.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "verdict", content = "why", rename_all = "snake_case")]
pub enum Verdict {
    /// It does not apply to this plugin or kind, and why.
    NotApplicable(String),
    /// The assertion holds.
    Passed,
    /// Left out by `--skip`.
    Skipped,
    /// It could not be judged: something that it builds on did not work, and what that was.
    Blocked(String),
    /// It does not hold, and what was seen.
    Failed(String),
}

/// A verdict on an assertion, about the plugin or one of its kinds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The assertion that was judged.
    pub assertion: &'static Assertion,
    /// `plugin`, or a kind.
    pub subject: String,
    /// What was found out.
    pub verdict: Verdict,
}

/// Why a suite ended before its last judgement.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// What it builds on did not work.
    #[error("{0}")]
    Blocked(String),
    /// It does not apply to this kind.
    #[error("{0}")]
    NotApplicable(String),
}

impl Stop {
    pub(crate) fn blocked(why: impl Into<String>) -> Self {
        Self::Blocked(why.into())
    }

    pub(crate) fn not_applicable(why: impl Into<String>) -> Self {
        Self::NotApplicable(why.into())
    }
}

impl From<Stop> for Verdict {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Blocked(why) => Self::Blocked(why),
            Stop::NotApplicable(why) => Self::NotApplicable(why),
        }
    }
}

/// A pure judgement: it holds, or what was seen instead.
pub type Judgement = Result<(), String>;

/// Holds if `condition` does; else reports what was seen.
pub(crate) fn holds(condition: bool, seen: impl FnOnce() -> String) -> Judgement {
    if condition { Ok(()) } else { Err(seen()) }
}
