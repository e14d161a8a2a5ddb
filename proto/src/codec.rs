//! Counts the fields of a plugin's answer before any is decoded: an empty message takes two bytes on the wire, and as much as a full one in memory.

use std::marker::PhantomData;

use crossbridge_types::limits;
use prost::{
    Message,
    bytes::Buf,
    encoding::{WireType, decode_key, decode_varint},
};
use tonic::{
    Status,
    codec::{Codec, DecodeBuf, Decoder},
};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};

use crate::v1alpha1 as wire;

include!(concat!(env!("OUT_DIR"), "/shapes.rs"));

/// Which fields of a message hold more than one value.
pub(crate) struct Shape {
    messages: &'static [(u32, &'static Shape)],
    /// Lists of numbers in one field.
    packed: &'static [u32],
}

/// What one side of a call receives.
pub(crate) trait Received {
    /// Of an answer. The bridge's requests are not counted: plugins trust it.
    fn shape() -> Option<&'static Shape>;
}

/// The codec of the generated clients and servers.
pub(crate) struct CountingCodec<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for CountingCodec<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> Codec for CountingCodec<T, U>
where
    T: Message + Send + 'static,
    U: Message + Received + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = CountingDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstEncoder::default()
    }

    fn decoder(&mut self) -> Self::Decoder {
        CountingDecoder(ProstCodec::<T, U>::default().decoder())
    }
}

pub(crate) struct CountingDecoder<U>(ProstDecoder<U>);

impl<U: Message + Received + Default> Decoder for CountingDecoder<U> {
    type Item = U;
    type Error = Status;

    fn decode(&mut self, buf: &mut DecodeBuf<'_>) -> Result<Option<U>, Status> {
        // All of the message lies in one piece.
        if let Some(shape) = U::shape() {
            count(buf.chunk(), shape)?;
        }
        self.0.decode(buf)
    }
}

fn count(message: &[u8], shape: &Shape) -> Result<(), Status> {
    let mut left = limits::FIELDS;
    take(message, shape, &mut left).map_err(|stopped| match stopped {
        Stopped::TooMany => {
            Status::out_of_range(format!("the answer has more than {} fields", limits::FIELDS))
        }
        Stopped::Malformed => Status::internal("the answer is no message of the contract"),
    })
}

enum Stopped {
    TooMany,
    Malformed,
}

/// Takes what the message holds off what is left.
fn take(mut message: &[u8], shape: &Shape, left: &mut usize) -> Result<(), Stopped> {
    while message.has_remaining() {
        spend(1, left)?;
        let (tag, wire_type) = decode_key(&mut message).map_err(|_| Stopped::Malformed)?;
        let size = match wire_type {
            WireType::Varint => {
                decode_varint(&mut message).map_err(|_| Stopped::Malformed)?;
                continue;
            }
            // Of a group, which the contract does not have, each field counts as one of the message.
            WireType::StartGroup | WireType::EndGroup => continue,
            WireType::ThirtyTwoBit => 4,
            WireType::SixtyFourBit => 8,
            WireType::LengthDelimited => decode_varint(&mut message)
                .ok()
                .and_then(|size| usize::try_from(size).ok())
                .ok_or(Stopped::Malformed)?,
        };
        let (value, rest) = message.split_at_checked(size).ok_or(Stopped::Malformed)?;
        message = rest;
        if wire_type != WireType::LengthDelimited {
            continue;
        }
        if let Some((_, nested)) = shape.messages.iter().find(|(field, _)| *field == tag) {
            take(value, nested, left)?;
        } else if shape.packed.contains(&tag) {
            spend(value.len(), left)?;
        }
    }
    Ok(())
}

fn spend(fields: usize, left: &mut usize) -> Result<(), Stopped> {
    *left = left.checked_sub(fields).ok_or(Stopped::TooMany)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted<T: Message + Received>(message: &T) -> Result<(), Status> {
        count(
            &message.encode_to_vec(),
            T::shape().expect("the shape of an answer"),
        )
    }

    fn found(observation: wire::Observation) -> wire::ObserveResponse {
        wire::ObserveResponse {
            result: Some(wire::observe_response::Result::Observation(observation)),
        }
    }

    #[test]
    fn empty_messages_are_counted_wherever_they_lie() {
        let many = limits::FIELDS;
        let rejected = [
            counted(&found(wire::Observation {
                diffs: vec![wire::FieldDiff::default(); many],
                ..wire::Observation::default()
            })),
            counted(&wire::UpdateResponse {
                outcome: Some(wire::Outcome {
                    warnings: vec![wire::Warning::default(); many],
                    ..wire::Outcome::default()
                }),
            }),
            counted(&wire::CheckConfigResponse {
                failure: Some(wire::Failure {
                    violations: vec![wire::FieldViolation::default(); many],
                    ..wire::Failure::default()
                }),
                ..wire::CheckConfigResponse::default()
            }),
            counted(&wire::GetResourceKindResponse {
                resource_kind: Some(wire::ResourceKind {
                    field_rules: vec![wire::FieldRule::default(); many],
                    ..wire::ResourceKind::default()
                }),
            }),
            counted(&wire::ListResourceKindsResponse {
                kinds: vec![wire::ResourceKindSummary::default(); many + 1],
                ..wire::ListResourceKindsResponse::default()
            }),
            counted(&wire::GetPluginInfoResponse {
                features: vec![1; many + 1],
                ..wire::GetPluginInfoResponse::default()
            }),
        ];
        for answer in rejected {
            let status = answer.expect_err("more than may be");
            assert_eq!(status.message(), "the answer has more than 32768 fields");
        }
    }

    #[test]
    fn a_text_is_one_field_whatever_it_holds() {
        let text = "x".repeat(limits::ANSWER / 2);
        let answer = found(wire::Observation {
            parameters: Some(wire::Document { json: text.clone() }),
            connection_details: [(text, Vec::new())].into(),
            ..wire::Observation::default()
        });
        assert!(counted(&answer).is_ok());
    }

    #[test]
    fn the_largest_page_of_kinds_is_read() {
        let resource_type = Some(wire::ResourceType {
            group: "example.org".to_owned(),
            version: "v1".to_owned(),
            kind: "Kind".to_owned(),
        });
        let kind = wire::ResourceKindSummary {
            resource_type,
            digest: "1".to_owned(),
        };
        let page = wire::ListResourceKindsResponse {
            kinds: vec![kind; limits::KINDS],
            next_page_token: String::new(),
        };
        assert!(counted(&page).is_ok());
    }

    #[test]
    fn what_is_no_message_is_rejected_before_any_of_it_is_decoded() {
        let shape = wire::ObserveResponse::shape().expect("a shape");
        for bytes in [&[0x0a_u8, 5, 0][..], &[0x0a, 0xff], &[0x07], &[0x09, 0, 0]] {
            let status = count(bytes, shape).expect_err("no message");
            assert_eq!(status.code(), tonic::Code::Internal, "{bytes:?}");
        }
    }

    #[test]
    fn requests_of_the_bridge_are_not_counted() {
        assert!(wire::ObserveRequest::shape().is_none());
    }
}
