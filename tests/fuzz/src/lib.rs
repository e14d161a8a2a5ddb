//! Fuzzing of everything that is parsed of plugins, annotations, Secrets and manifests.
//!
//! A [`Target`] takes any bytes and judges what became of them: that nothing panics, and what else is promised of it (what is accepted reads back
//! as it was, no limit is passed, a rejection says why). [`fuzz`] changes the inputs of the target's corpus, as bytes and as JSON, and keeps those
//! that were answered in a way not seen before. That stands in for coverage, which stable Rust does not report to a running program.

mod corpus;
mod fuzz;
mod json;
mod mutate;
mod target;
mod targets;

pub use corpus::{Corpus, CorpusError};
pub use fuzz::{Failed, Fuzzed, Limits, fuzz, judge};
pub use target::{Broken, Target, Verdict, ensure};
pub use targets::TARGETS;
