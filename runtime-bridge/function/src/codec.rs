//! Sends a request that is encoded already, receives a response that is counted before it is decoded.

use bytes::{Buf, BufMut};
use function_proto::v1::RunFunctionResponse;
use tonic::{
    Status,
    codec::{BufferSettings, Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
};
use tonic_prost::{ProstCodec, ProstDecoder};

use crate::{count, encode::EncodedRequest};

#[derive(Default)]
pub(crate) struct RequestCodec;

impl Codec for RequestCodec {
    type Encode = EncodedRequest;
    type Decode = RunFunctionResponse;
    type Encoder = PartsEncoder;
    type Decoder = CountingDecoder;

    fn encoder(&mut self) -> Self::Encoder {
        PartsEncoder
    }

    fn decoder(&mut self) -> Self::Decoder {
        let settings = BufferSettings::default();
        CountingDecoder(ProstCodec::<RunFunctionResponse, RunFunctionResponse>::raw_decoder(settings))
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

/// Decodes what does not hold too much.
pub(crate) struct CountingDecoder(ProstDecoder<RunFunctionResponse>);

impl Decoder for CountingDecoder {
    type Item = RunFunctionResponse;
    type Error = Status;

    fn decode(&mut self, buf: &mut DecodeBuf<'_>) -> Result<Option<RunFunctionResponse>, Status> {
        // All of the message lies in one piece.
        count::check(buf.chunk())?;
        self.0.decode(buf)
    }
}
