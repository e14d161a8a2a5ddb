//! A method of the contract, by its descriptor: no type of its own for any message.

use std::time::Duration;

use bridge_core::error_chain;
use bridge_plugin::with_metadata;
use crossbridge_proto::FILE_DESCRIPTOR_SET;
use jiff::Timestamp;
use prost::Message;
use prost_reflect::{
    DescriptorPool, DeserializeOptions, DynamicMessage, MessageDescriptor, MethodDescriptor,
};
use serde_json::Value;
use tonic::{
    Status,
    client::Grpc,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    codegen::http::uri::PathAndQuery,
    transport::Channel,
};

use super::{CallError, json};

const PACKAGE: &str = "crossbridge.provider.v1alpha1";

pub(super) struct Method(MethodDescriptor);

impl Method {
    pub(super) fn find(name: &str) -> Result<Self, CallError> {
        // Our own, and tested by its use.
        let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap_or_default();
        let ours = pool
            .services()
            .filter(|service| service.package_name() == PACKAGE);
        let all: Vec<MethodDescriptor> = ours
            .flat_map(|service| service.methods().collect::<Vec<_>>())
            .collect();
        match all.iter().find(|method| method.name().eq_ignore_ascii_case(name)) {
            Some(method) => Ok(Self(method.clone())),
            None => Err(CallError::Method {
                name: name.to_owned(),
                known: all.iter().map(|method| method.name().to_owned()).collect(),
            }),
        }
    }

    pub(super) fn name(&self) -> &str {
        self.0.name()
    }

    pub(super) fn request_name(&self) -> String {
        self.0.input().name().to_owned()
    }

    pub(super) fn request(&self, value: &Value, lenient: bool) -> Result<DynamicMessage, CallError> {
        let input = self.0.input();
        let written = json::with_texts(value, &input);
        let options = DeserializeOptions::new().deny_unknown_fields(!lenient);
        DynamicMessage::deserialize_with_options(input, &written, &options).map_err(|error| {
            CallError::Request {
                message: self.request_name(),
                why: error.to_string(),
            }
        })
    }

    /// The message as JSON for people: documents as objects.
    #[allow(clippy::unused_self)] // Said where the request is read, too.
    pub(super) fn print(&self, message: &DynamicMessage, show_secrets: bool) -> Value {
        json::with_documents(message, show_secrets)
    }

    pub(super) async fn call(
        &self,
        channel: Channel,
        message: DynamicMessage,
        timeout: Duration,
    ) -> Result<DynamicMessage, CallError> {
        let path = format!("/{}/{}", self.0.parent_service().full_name(), self.name());
        let failed = |status: &Status| CallError::Status {
            code: format!("{:?}", status.code()),
            message: status.message().to_owned(),
        };
        let path: PathAndQuery = path
            .parse()
            .map_err(|_| failed(&Status::internal("the method's name is no path")))?;
        let deadline = Timestamp::now().saturating_add(timeout).unwrap_or(Timestamp::MAX);
        let (request, id) = with_metadata(message, deadline, timeout);
        // The plugin's log names the call by it.
        eprintln!("call {id}");
        let mut client = Grpc::new(channel);
        client.ready().await.map_err(|error| CallError::Unreachable {
            endpoint: String::new(),
            why: error_chain(&error),
        })?;
        let answered = client.unary(request, path, Dynamic(self.0.output())).await;
        answered.map(tonic::Response::into_inner).map_err(|status| {
            // A status of the plugin has no cause on this side.
            match std::error::Error::source(&status) {
                Some(cause) => CallError::Unreachable {
                    endpoint: String::new(),
                    why: error_chain(cause),
                },
                None => failed(&status),
            }
        })
    }
}

/// Messages of one type, known at run time.
struct Dynamic(MessageDescriptor);

impl Codec for Dynamic {
    type Encode = DynamicMessage;
    type Decode = DynamicMessage;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self(self.0.clone())
    }

    fn decoder(&mut self) -> Self {
        Self(self.0.clone())
    }
}

impl Encoder for Dynamic {
    type Item = DynamicMessage;
    type Error = Status;

    fn encode(&mut self, message: DynamicMessage, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        message
            .encode(buffer)
            .map_err(|error| Status::internal(error.to_string()))
    }
}

impl Decoder for Dynamic {
    type Item = DynamicMessage;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<DynamicMessage>, Status> {
        DynamicMessage::decode(self.0.clone(), buffer)
            .map(Some)
            .map_err(|error| Status::internal(error.to_string()))
    }
}
