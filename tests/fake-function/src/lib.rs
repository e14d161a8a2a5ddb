//! A composition function whose step's input is its program.
//!
//! [`evaluate`] is pure, so that a model computes what must come out; [`FakeFunction`] serves it by either version of the contract.

mod evaluate;
mod profile;
mod program;
mod service;
mod wire;

pub use evaluate::evaluate;
pub use profile::Profile;
pub use program::{
    Condition, ConditionEntry, CopyEntry, Entry, KindEntry, Program, RequiredEntry, ResultEntry,
    SeverityEntry,
};
pub use service::{FakeFunction, Received, Version};
