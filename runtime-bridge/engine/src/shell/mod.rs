//! What the shells of all machines share: the memory of each object, and reconciles that nothing cuts off.

mod detached;
mod memories;

pub use detached::Detached;
pub(crate) use memories::{Memories, MemoryGuard};
