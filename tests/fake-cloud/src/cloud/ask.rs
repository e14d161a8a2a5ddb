//! What the cloud is asked, and what it has the plugin do.

use std::time::Duration;

use crossbridge_types::{Call, Config, ConfigVerdict, Observe, ObserveResult, Outcome, Target};

use crate::fault::Rpc;

/// One call, as the plugin received it.
#[derive(Debug, Clone, PartialEq)]
pub enum Ask {
    /// `Observe` of one resource.
    Observe(Observe),
    /// `Create`, with its token.
    Create(Call),
    /// `Update` in place.
    Update(Call),
    /// `Delete`; an absent resource is success.
    Delete(Call),
    /// `PollOperation`, by its handle.
    Poll(Call),
    /// `CheckConfig`, without a resource.
    CheckConfig(Config),
}

impl Ask {
    /// The method that asks.
    pub fn rpc(&self) -> Rpc {
        match self {
            Self::Observe(_) => Rpc::Observe,
            Self::Create(_) => Rpc::Create,
            Self::Update(_) => Rpc::Update,
            Self::Delete(_) => Rpc::Delete,
            Self::Poll(_) => Rpc::Poll,
            Self::CheckConfig(_) => Rpc::CheckConfig,
        }
    }

    /// About what; `None`: about a config.
    pub fn target(&self) -> Option<&Target> {
        match self {
            Self::Observe(ask) => Some(&ask.target),
            Self::Create(ask) | Self::Update(ask) | Self::Delete(ask) | Self::Poll(ask) => Some(&ask.target),
            Self::CheckConfig(_) => None,
        }
    }
}

/// What the plugin answers.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant)] // One at a time.
pub enum Answer {
    /// The answer to `Observe`.
    ObserveResult(ObserveResult),
    /// The answer to every other call about a resource.
    Outcome(Outcome),
    /// The answer to `CheckConfig`.
    Config(ConfigVerdict),
}

/// What the cloud has the plugin do.
#[derive(Debug, Clone, PartialEq)]
#[allow(clippy::large_enum_variant)] // One at a time.
pub enum Verdict {
    /// Answer, so much later.
    Answer(Answer, Duration),
    /// Never answer; the caller waits until its deadline.
    Silence,
    /// End the plugin at once, without an answer.
    Crash,
    /// Fail the call itself: a gRPC error.
    Status,
    /// The caller has a bug: `INVALID_ARGUMENT`, and nothing happened.
    Refused(String),
}
