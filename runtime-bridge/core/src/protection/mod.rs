//! Usages: what is in use is not deleted, what uses it goes first, and a usage goes when it is no longer needed.
//!
//! Each module imports those below it alone:
//!
//! ```text
//! machine                               the decisions as the driver runs them
//! decide  steps/*                       the order of one reconcile
//! results  outcome                      what came of an action, what a step may end with
//! standing                              what the usage says of itself
//! write                                 what is stored in the usage
//! rules  facts                          predicates, and what follows from a snapshot alone
//! decision  snapshot  memory            what is decided, from what
//! cycle  holding  select                several usages of one object, and which object is meant
//! view  mark                            a usage as others see it, and what a used object bears
//! usage  record  names                  data
//! ```

mod cycle;
mod decide;
#[cfg(test)]
mod decide_tests;
mod decision;
mod facts;
pub mod guard;
mod holding;
mod machine;
mod mark;
mod memory;
pub mod names;
mod outcome;
mod record;
mod results;
mod rules;
#[cfg(test)]
mod sample;
mod select;
mod snapshot;
mod standing;
mod steps;
mod usage;
mod view;
mod write;

pub use cycle::{cycle, describe};
pub use decide::decide;
pub use decision::{Action, MarkWrite, Replay, ReplayPolicy, StatusWrite, UsageWrite};
pub use machine::{Additions, UsageMachine};
pub use mark::Mark;
pub use memory::UsageMemory;
pub use record::{Identity, Record};
pub use results::Performed;
pub use select::select;
pub use snapshot::{ControllerState, Known, Resolution, Snapshot, Subject};
pub use usage::{Naming, Selector, Side, Usage, Which, is_usage};
pub use view::{NamedObject, UsageView, unlisted, unlisted_kept};
