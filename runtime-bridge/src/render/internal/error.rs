//! Why a request is not answered.

use std::io;

use function_proto::JsonError;

use crate::render::RenderError;

/// Why a request is not answered.
#[derive(Debug, thiserror::Error)]
pub enum InternalRenderError {
    /// A person has typed the command.
    #[error(
        "cannot read a request: standard input is a terminal: let Crossplane's command line run this (crossplane render --crossplane-binary), or use `runtime-bridge render`"
    )]
    Terminal,
    /// Standard input cannot be read.
    #[error("cannot read the request from standard input: {0}")]
    Read(io::Error),
    /// It is too much.
    #[error("cannot read the request: it is larger than {0} MiB: give fewer observed and required resources")]
    TooLarge(usize),
    /// Standard input holds something else.
    #[error(
        "cannot read the request: it is no RenderRequest of crossplane.render.v1alpha1 in protobuf's binary encoding: {0}"
    )]
    Malformed(#[from] prost::DecodeError),
    /// There is nothing to render.
    #[error("cannot render: the request has no input: set composite to what is to be rendered")]
    NoInput,
    /// Operations are no part of this project.
    #[error("cannot render an {0}: Crossbridge runs no operations: render it with a binary of Crossplane")]
    Operation(&'static str),
    /// The input lacks what nothing can be rendered without.
    #[error("cannot render composite resource: the request lacks {}", .0.join(" and "))]
    Missing(Vec<&'static str>),
    /// A function has no name, or no address.
    #[error("cannot render composite resource: functions[{index}] lacks its {missing}")]
    Function {
        /// Its place, from 0.
        index: usize,
        /// `name` or `address`.
        missing: &'static str,
    },
    /// A field of the input is no object that can be used.
    #[error("cannot render composite resource: {field}: {cause}")]
    Object {
        /// Which.
        field: String,
        /// What is wrong with it.
        cause: JsonError,
    },
    /// It cannot be rendered.
    #[error("cannot render composite resource: {0}")]
    Render(#[from] RenderError),
    /// What was rendered has no encoding.
    #[error("cannot write the response: {field}: {cause}")]
    Encode {
        /// Which.
        field: &'static str,
        /// What is wrong with it.
        cause: JsonError,
    },
    /// Standard output is closed, or full.
    #[error("cannot write the response: {0}")]
    Write(io::Error),
}
