//! Measures the numbers of the documents. Build all binaries with the same profile first:
//!
//! ```text
//! cargo xtask bench --quick
//! cargo build --release --workspace --bins
//! target/release/bridge-bench memory --buckets 1000
//! target/release/bridge-bench observe
//! ```

mod board;
mod bridge;
mod compositions;
mod managed;
mod memory;
mod observe;
mod output;
mod sides;
mod usage;
mod user;

use clap::{Parser, Subcommand};

/// Measurements on the real control plane, the emulated AWS and real processes.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// What lives of managed resources cost, over a cloud in memory, and what they cost a provider on controller-runtime.
    Bridge(bridge::BridgeArgs),
    /// What composite resources and claims cost, and what they cost a controller that makes Crossplane's requests.
    Compositions(compositions::CompositionsArgs),
    /// Resident memory of bridge and plugin: at rest, and with buckets that are all Ready.
    Memory {
        /// Buckets that are created, all at once.
        #[arg(long, default_value_t = 1000)]
        buckets: usize,
    },
    /// An Observe of what does not change, by the same small plugin in each language.
    Observe {
        /// Calls of each plugin.
        #[arg(long, default_value_t = 20_000)]
        calls: u32,
    },
}

#[tokio::main]
async fn main() {
    match Arguments::parse().what {
        What::Bridge(args) => bridge::measure(&args).await,
        What::Compositions(args) => compositions::measure(&args).await,
        What::Memory { buckets } => memory::measure(buckets).await,
        What::Observe { calls } => observe::measure(calls).await,
    }
}
