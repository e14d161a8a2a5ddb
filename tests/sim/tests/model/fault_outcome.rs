//! What may become of a request.

use std::time::Duration;

use bridge_core::{
    external::{Effect, FailureCode},
    managed::{Call, ObserveCall},
};

/// Of a call that may change something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallOutcome {
    /// Takes effect, and is answered.
    Answered,
    /// Never arrives; the caller does not know.
    LostBefore,
    /// Takes effect; the answer is lost.
    LostAfter,
    /// The answer is lost at once, and the call takes effect at the last moment.
    Late,
    /// The plugin gives up and says that it does not know; the call takes effect at the last moment.
    GivesUp,
    /// Takes effect at once, and is answered after this.
    SlowAnswer(Duration),
    /// The plugin refuses; the cloud knows nothing of it.
    Fails(FailureCode, Effect),
    /// It takes effect, and the plugin says that it failed.
    DoneButFails(FailureCode, Effect),
    /// It takes effect, and the plugin tells the new name and says that nothing was done. Where there is no such name it says that it does not
    /// know, as there nobody could tell the one from the other.
    NamedWithoutEffect(FailureCode),
    /// The plugin refuses it as a bug.
    Refused,
    /// The plugin does not understand it.
    Unfit,
    /// The process dies before it sends.
    CrashBefore,
    /// The process dies having sent, and the call takes effect at the last moment.
    CrashLate,
    /// The process dies with the answer in its hands.
    CrashBeforePersist,
    /// The process dies when the answer is persisted.
    CrashAfterPersist,
}

/// Of a write to the API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    Lands,
    /// An error, and nothing is written.
    LostBefore,
    /// An error, and it is written.
    LostAfter,
    /// An error, and it is written after this, if its guard still holds.
    Late(Duration),
    CrashBefore,
    CrashAfter,
}

/// Of a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObserveOutcome {
    Answered,
    Fails(FailureCode),
    Unknown,
    /// What is there is not seen.
    Absent,
    /// What was read is told after this.
    Slow(Duration),
}

/// Decides what becomes of requests.
pub trait Outcomes {
    fn call(&mut self, call: &Call) -> CallOutcome;
    fn look(&mut self, asked: &ObserveCall) -> ObserveOutcome;
    /// `persists`: it is the write of an answer.
    fn write(&mut self, what: &str, persists: bool) -> WriteOutcome;
}

/// Everything goes well.
pub struct Well;

impl Outcomes for Well {
    fn call(&mut self, _: &Call) -> CallOutcome {
        CallOutcome::Answered
    }

    fn look(&mut self, _: &ObserveCall) -> ObserveOutcome {
        ObserveOutcome::Answered
    }

    fn write(&mut self, _: &str, _: bool) -> WriteOutcome {
        WriteOutcome::Lands
    }
}
