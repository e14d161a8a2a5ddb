//! The plugins and composition functions in other languages, as their authors build them.
//!
//! A test asks for a plugin with [`Language::example`], for a function with [`Function::command`]; what is built already is taken as it is.

mod build;
mod crates;
mod function;
mod grpcurl;
mod kit;
mod language;
mod lint;
mod new_plugin;
mod python;
mod sdk;
mod session;
mod source;

pub use build::{BuildError, build_in_copy};
pub use crates::packed_crates;
pub use function::Function;
pub use grpcurl::grpcurl;
pub use kit::{KitRun, Verdicts};
pub use language::Language;
pub use new_plugin::{Author, NewPlugin};
pub use session::Session;
pub use source::{binary, target};
