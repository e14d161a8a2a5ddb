//! One attempt of a recorded call.

use crate::external::Call;

use super::{record::Intent, status::PendingDelete};

/// Tells the attempts of recorded calls apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    token: String,
    number: u32,
}

impl Attempt {
    /// The one that the intent records.
    pub fn recorded(intent: &Intent) -> Self {
        Self {
            token: intent.token.clone(),
            number: intent.attempt,
        }
    }

    /// The one that a status records.
    pub fn pending(deletion: &PendingDelete) -> Self {
        Self {
            token: deletion.token.clone(),
            number: 0,
        }
    }

    /// The one that was sent.
    pub fn sent(call: &Call) -> Self {
        Self {
            token: call.token.clone(),
            number: call.attempt,
        }
    }

    /// It is the one that the intent records.
    pub fn is_of(&self, intent: &Intent) -> bool {
        self.token == intent.token && self.number == intent.attempt
    }

    /// Under which it goes, as those before and after it.
    pub fn token(&self) -> &str {
        &self.token
    }
}
