//! The conformance kit: reports the author of a plugin, in any language, whether it keeps the Crossbridge contract, and what to fix.
//!
//! Suites call the plugin, judgements are pure, and every rule is one assertion with a stable id.

mod assertion;
pub mod certificates;
pub mod cli;
mod client;
mod clock;
mod comparison;
mod endpoint;
mod fixtures;
mod kind_context;
mod process;
mod process_control;
mod readiness;
mod registry;
pub mod report;
mod required;
mod response;
mod response_rules;
mod run;
mod run_context;
mod schema;
mod secrets;
mod spelling;
mod suite;
mod suites;
mod verdict;
mod verdict_log;

pub use assertion::{Assertion, Level};
pub use endpoint::TlsFiles;
pub use run::{Progress, Report, Run, Selection};
pub use suites::assertions;
pub use verdict::{Finding, Verdict};
