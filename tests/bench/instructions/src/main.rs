//! Runs one hot path so many times: what counts instructions runs it twice, and takes the difference. `cargo xtask bench instructions` does.

mod documents;
mod kube_api;
mod paths;
mod stage;

use clap::{Parser, ValueEnum};

/// Runs one hot path so many times.
#[derive(Debug, Parser)]
struct Arguments {
    /// Which.
    #[arg(value_enum)]
    path: HotPath,
    /// How often, after a first time that also prepares whatever is prepared once. All else that this process does is the same for any number.
    runs: u32,
}

/// What a bridge spends its time with.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum HotPath {
    /// An object of 3.5 KB is decoded.
    Decode,
    /// A line of a watch with that object, from its bytes into the store.
    WatchEvent,
    /// A desired state of 4 KB is compared with what was observed, and nothing differs.
    Diff,
    /// A key is marked, gets its turn and ends it, beside 1,000 others of 20 kinds.
    QueueTurn,
    /// The plan of 500 watches that all run.
    Plan,
    /// A whole reconcile of a managed resource that is Ready: one Observe, and nothing to do.
    IdlePass,
    /// A managed resource is created, becomes Ready, is deleted and gone, with the API server's part in it.
    Life,
}

/// As many as a path may run.
const MOST: u32 = 1000;

fn main() {
    let Arguments { path, runs } = Arguments::parse();
    assert!(runs <= MOST, "at most {MOST} runs");
    match path {
        HotPath::Decode => paths::pure::decode(runs),
        HotPath::WatchEvent => paths::whole::watch_event(runs),
        HotPath::Diff => paths::pure::diff(runs),
        HotPath::QueueTurn => paths::pure::queue_turn(runs),
        HotPath::Plan => paths::pure::plan(runs),
        HotPath::IdlePass => paths::whole::idle_pass(runs),
        HotPath::Life => paths::whole::life(runs),
    }
}
