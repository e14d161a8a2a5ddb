//! What the shells of all machines share: the memory of each object, and reconciles that nothing cuts off.

mod detached;
mod memories;
mod retries;
mod unreadable;

pub use detached::Detached;
pub(crate) use memories::{Memories, MemoryGuard};
pub(crate) use retries::Retries;
pub(crate) use unreadable::{Said, cannot_read, readable, report_unreadable, report_unreadable_status};
