//! Messages of a contract from inputs: JSON, so that corpora can be read and changed by structure, or the bytes of the wire.

use std::sync::LazyLock;

use prost::Message;
use prost_reflect::{DescriptorPool, DeserializeOptions, DynamicMessage};

/// The contract of plugins.
static PLUGINS: LazyLock<DescriptorPool> = LazyLock::new(|| pool(crossbridge_proto::FILE_DESCRIPTOR_SET));
/// The contract of functions.
static FUNCTIONS: LazyLock<DescriptorPool> = LazyLock::new(|| pool(function_proto::FILE_DESCRIPTOR_SET));

fn pool(descriptors: &[u8]) -> DescriptorPool {
    DescriptorPool::decode(descriptors).expect("the build wrote it")
}

/// A message of the contract of plugins, by its name there; `None`: it is none, and gRPC rejects it.
pub(crate) fn of_plugin<M: Message + Default>(name: &str, input: &[u8]) -> Option<M> {
    read(&PLUGINS, &format!("crossbridge.provider.v1alpha1.{name}"), input)
}

/// Likewise, of the contract of functions.
pub(crate) fn of_function<M: Message + Default>(name: &str, input: &[u8]) -> Option<M> {
    read(&FUNCTIONS, &format!("apiextensions.fn.proto.v1.{name}"), input)
}

fn read<M: Message + Default>(pool: &DescriptorPool, name: &str, input: &[u8]) -> Option<M> {
    let descriptor = pool.get_message_by_name(name).expect("the contract has it");
    let options = DeserializeOptions::new().deny_unknown_fields(false);
    let mut json = serde_json::Deserializer::from_slice(input);
    match DynamicMessage::deserialize_with_options(descriptor, &mut json, &options) {
        Ok(message) => M::decode(message.encode_to_vec().as_slice()).ok(),
        Err(_) => M::decode(input).ok(),
    }
}
