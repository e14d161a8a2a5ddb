//! The conformance kit: tells the author of a plugin, in any language, whether it keeps the Crossbridge contract, and what to fix.
//!
//! Stories talk to the plugin, judgements are pure, and every rule is one assertion with an id that stays.

mod always;
mod answer;
mod assertion;
mod bench;
mod book;
pub mod certificates;
pub mod cli;
mod client;
mod clock;
mod endpoint;
mod fixtures;
mod hands;
mod lab;
mod process;
mod registry;
pub mod report;
mod required;
mod run;
mod schema;
mod secrets;
mod serves;
mod stories;
mod story;
mod verdict;
mod wish;

pub use assertion::{Assertion, Level};
pub use endpoint::TlsFiles;
pub use run::{Progress, Report, Run, Selection};
pub use stories::assertions;
pub use verdict::{Finding, Verdict};
