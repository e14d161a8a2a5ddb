//! `google.protobuf.Struct`, which stays encoded until somebody reads it.

use std::fmt;

use bytes::{Buf, BufMut, Bytes};
use prost::{
    DecodeError, Message,
    encoding::{self, DecodeContext, WireType},
};
use serde_json::{Map, Value};

use crate::json::{self, JsonError, JsonFault};

/// A JSON object as `google.protobuf.Struct`. Its `Debug` shows its size only: an object may be a Secret.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Struct {
    encoded: Vec<u8>,
}

impl Struct {
    /// Encodes an object. Equal objects have equal encodings.
    ///
    /// # Errors
    /// What is no object, or nested too deeply.
    pub fn from_json(object: &Value) -> Result<Self, JsonError> {
        match object {
            Value::Object(map) => Self::from_map(map),
            _ => Err(JsonFault::NotAnObject.into()),
        }
    }

    /// Encodes the fields of an object. Equal ones have equal encodings.
    ///
    /// # Errors
    /// What is nested too deeply.
    pub fn from_map(map: &Map<String, Value>) -> Result<Self, JsonError> {
        json::encode(map).map(|encoded| Self { encoded })
    }

    /// The fields of the object. Whole numbers are integers, nulls are kept.
    ///
    /// # Errors
    /// What JSON or Kubernetes cannot hold, by its path.
    pub fn to_map(&self) -> Result<Map<String, Value>, JsonError> {
        json::decode(&self.encoded)
    }
}

impl fmt::Debug for Struct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{} bytes]", self.encoded.len())
    }
}

impl Message for Struct {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        buf.put_slice(&self.encoded);
    }

    /// Two encodings one after the other are the encoding of both merged, so that nothing has to be read here.
    fn merge_field(
        &mut self,
        tag: u32,
        wire_type: WireType,
        buf: &mut impl Buf,
        ctx: DecodeContext,
    ) -> Result<(), DecodeError> {
        if wire_type != WireType::LengthDelimited {
            return encoding::skip_field(wire_type, tag, buf, ctx);
        }
        let mut content = Bytes::new();
        encoding::bytes::merge(wire_type, &mut content, buf, ctx)?;
        encoding::bytes::encode(tag, &content, &mut self.encoded);
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        self.encoded.len()
    }

    fn clear(&mut self) {
        self.encoded.clear();
    }
}
