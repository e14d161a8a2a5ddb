use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Why a turn has come; the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// A person or another controller changed it.
    UserChange,
    /// Something that it depends on changed.
    Dependency,
    /// A long operation is to be asked after.
    OperationPoll,
    /// It is to be looked at again.
    DriftPoll,
    /// It was there when the bridge started.
    InitialList,
}

impl Priority {
    /// From the most urgent on.
    pub const ALL: [Self; 5] = [
        Self::UserChange,
        Self::Dependency,
        Self::OperationPoll,
        Self::DriftPoll,
        Self::InitialList,
    ];
}

/// A turn at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    /// Not before.
    pub at: Timestamp,
    /// How urgent it is then.
    pub priority: Priority,
}

impl Wake {
    /// Both together: the earlier time, the higher urgency.
    #[must_use]
    pub fn merge(self, other: Self) -> Self {
        Self {
            at: self.at.min(other.at),
            priority: self.priority.min(other.priority),
        }
    }
}
