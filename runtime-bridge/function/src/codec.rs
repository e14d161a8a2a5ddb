//! Sends a request that is encoded already, receives a response as any other client.

use bytes::BufMut;
use function_proto::v1::RunFunctionResponse;
use tonic::{
    Status,
    codec::{BufferSettings, Codec, EncodeBuf, Encoder},
};
use tonic_prost::{ProstCodec, ProstDecoder};

use crate::encode::EncodedRequest;

#[derive(Default)]
pub(crate) struct RequestCodec;

impl Codec for RequestCodec {
    type Encode = EncodedRequest;
    type Decode = RunFunctionResponse;
    type Encoder = PartsEncoder;
    type Decoder = ProstDecoder<RunFunctionResponse>;

    fn encoder(&mut self) -> Self::Encoder {
        PartsEncoder
    }

    fn decoder(&mut self) -> Self::Decoder {
        ProstCodec::<RunFunctionResponse, RunFunctionResponse>::raw_decoder(BufferSettings::default())
    }
}

/// Writes the parts one after the other.
pub(crate) struct PartsEncoder;

impl Encoder for PartsEncoder {
    type Item = EncodedRequest;
    type Error = Status;

    fn encode(&mut self, request: EncodedRequest, buf: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buf.reserve(request.len());
        for part in [request.meta, request.observed, request.rest] {
            buf.put(part);
        }
        Ok(())
    }
}
