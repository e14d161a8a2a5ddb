//! The targets, by whose input they read.

mod answer;
mod composition;
mod config;
mod function;
mod manifest;
mod object;
mod plugin;
mod text;

use crate::{Broken, Target, ensure};

/// All of them.
pub const TARGETS: &[Target] = &[
    object::RECORD,
    object::ANNOTATIONS,
    object::OBJECT,
    plugin::INFO,
    plugin::PAGE,
    plugin::KIND,
    answer::OBSERVATION,
    answer::OUTCOME,
    answer::CONFIG_CHECK,
    answer::SECRETS,
    config::CONFIG,
    config::CREDENTIALS,
    config::AWS_CREDENTIALS_FILE,
    function::RESPONSE,
    function::STRUCT,
    composition::DEFINITION,
    composition::COMPOSITION,
    composition::ADMISSION_REVIEW,
    manifest::MANIFEST,
    text::ENDPOINT,
    text::LOG,
];

/// What comes of an input takes no more room than in proportion to it.
fn in_proportion(what: &str, bytes: usize, input: &[u8], times: usize) -> Result<(), Broken> {
    const BESIDE: usize = 64 << 10;
    ensure(bytes <= input.len() * times + BESIDE, || {
        format!("{what} takes {bytes} bytes, of {} that were sent", input.len())
    })
}

/// What was written of an accepted input reads back as it was.
fn same<T: PartialEq + std::fmt::Debug>(what: &str, written: &T, read: &T) -> Result<(), Broken> {
    ensure(written == read, || {
        format!("{what} reads back as another: {written:?} became {read:?}")
    })
}
