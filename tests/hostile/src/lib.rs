//! A [`Scene`]: a real control plane, a real bridge, a good plugin with 50 objects, and one that is hostile to them.
//!
//! A test sets the scene, lets the attack run, and asks for the [`Verdict`]: whether the bridge is the process that it was, answers,
//! stayed small, kept the good objects in sync, left their CRDs alone, and told the canary secret nowhere.

mod held;
mod neighbours;
mod plugin;
mod scene;
mod verdict;

pub use held::Held;
pub use neighbours::{GROUP, Neighbours, UNKNOWN_KEYS};
pub use plugin::{Attack, HOSTILE, HostilePlugin, MINE, kind, observed, unix_listener};
pub use scene::{CANARY, GOOD, Scene};
pub use verdict::Verdict;
