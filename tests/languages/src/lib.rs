//! The plugins in other languages, as their authors build them.
//!
//! A test asks for a plugin with [`Language::example`]; what is built already is taken as it is.

mod build;
mod grpcurl;
mod kit;
mod language;
mod session;
mod source;

pub use build::{BuildError, build_in_copy};
pub use grpcurl::grpcurl;
pub use kit::{KitRun, Verdicts};
pub use language::Language;
pub use session::Session;
pub use source::{binary, target};
