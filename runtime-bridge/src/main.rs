//! The Crossbridge runtime bridge: the binary.

use std::process::ExitCode;

/// Gives back what a burst has taken once it is over; see "Memory" in `docs/performance.md`.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    runtime_bridge::main()
}
