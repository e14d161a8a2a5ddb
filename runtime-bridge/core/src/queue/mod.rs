//! Whose turn it is: priorities, due times, fairness between lanes, de-duplication. Time is an argument.

use serde::Serialize;

/// Why an object's turn has come; the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// A person or another controller changed it, or something it refers to.
    UserChange,
    /// A long operation is to be asked after.
    OperationPoll,
    /// It is to be looked at again.
    DriftPoll,
    /// It was there when the bridge started.
    InitialList,
}
