//! The contract between the runtime bridge and a provider plugin.

mod codec;
mod convert;
mod redact;
mod weight;

pub use weight::Weight;

/// The generated messages, clients and servers of package `crossbridge.provider.v1alpha1`.
#[allow(missing_docs, clippy::all, clippy::pedantic)]
pub mod v1alpha1 {
    tonic::include_proto!("crossbridge.provider.v1alpha1");
}

/// The encoded `FileDescriptorSet` of the contract and of what it imports, for reflection and `grpcurl -protoset`.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptor_set.bin"));
