//! The plugins and composition functions in other languages, as their authors build them.
//!
//! A test asks for a plugin with [`Language::example`], for a function with [`Function::command`]; what is built already is taken as it is.

mod build;
mod function;
mod grpcurl;
mod kit;
mod language;
mod python;
mod sdk;
mod session;
mod source;

pub use build::{BuildError, build_in_copy};
pub use function::Function;
pub use grpcurl::grpcurl;
pub use kit::{KitRun, Verdicts};
pub use language::Language;
pub use session::Session;
pub use source::{binary, target};
