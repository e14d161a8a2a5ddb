//! What the shells of all machines share: the memory of each object, and reconciles that nothing cuts off.

mod detached;
mod memories;
mod retries;

pub use detached::Detached;
pub(crate) use memories::{Memories, MemoryGuard};
pub(crate) use retries::Retries;
