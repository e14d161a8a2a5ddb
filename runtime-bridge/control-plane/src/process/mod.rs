//! Child processes that never outlive us.
//!
//! A child started here ends when its [`Process`] is dropped, when we exit, when we panic, and when we are killed
//! with `kill -9`. The last one needs help from outside, as a killed process runs no code: one `sh` per process of ours,
//! the *watchdog*, reads a pipe whose only write end we hold. The end of that pipe is our end, however it came, and the
//! watchdog then kills what we had registered and removes our [`ScratchDir`]s.
//!
//! Why not `PR_SET_PDEATHSIG`: it needs unsafe code between fork and exec, exists on Linux only, does not reach
//! grandchildren, and fires when the *thread* that forked ends, which a pool of threads does at any time.
//!
//! - Each child leads a process group of its own: a signal reaches its children too, and a Ctrl-C in the terminal reaches
//!   us alone, so that we decide on the order of the shutdown.
//! - No instant is uncovered: the child waits before its `exec` until the watchdog knows it.
//! - A process id is never signalled after it was reaped, so that no other process is hit.

mod handle;
mod output;
mod scratch;
mod spawn;
mod watchdog;

pub use handle::{Process, WaitError};
pub use output::Output;
pub use rustix::process::Signal;
pub use scratch::ScratchDir;
pub use spawn::{Spawn, SpawnError};

#[cfg(test)]
mod tests;
