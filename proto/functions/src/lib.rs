//! The contract of composition functions, `apiextensions.fn.proto.v1`, what Crossplane's command line asks of a program that renders,
//! `crossplane.render.v1alpha1`, and the objects of both from and to JSON.

mod json;
mod object;
mod redact;

pub use json::{JsonError, MAX_NESTING};
pub use object::Struct;

/// The generated messages, client and server.
#[allow(missing_docs, clippy::all, clippy::pedantic)]
pub mod v1 {
    tonic::include_proto!("apiextensions.r#fn.proto.v1");
}

/// The generated messages of `internal render`.
#[allow(missing_docs, clippy::all, clippy::pedantic)]
pub mod render {
    tonic::include_proto!("crossplane.render.v1alpha1");
}

/// The encoded `FileDescriptorSet` of both contracts and of what they import.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptor_set.bin"));

/// Path of the method.
pub const RUN_FUNCTION: &str = "/apiextensions.fn.proto.v1.FunctionRunnerService/RunFunction";

/// Path of the same method, with the same messages, in functions that know only the version before.
pub const RUN_FUNCTION_V1BETA1: &str = "/apiextensions.fn.proto.v1beta1.FunctionRunnerService/RunFunction";
