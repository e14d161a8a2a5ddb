//! JSON to `Struct`, from its end to its beginning: a length is then known when it is written, and each value is visited once.

use serde_json::{Map, Number, Value};

use super::{JsonError, deeper};

/// Keys of the fields: number and wire type.
const ENTRY: u8 = 0x0a;
const ENTRY_KEY: u8 = 0x0a;
const ENTRY_VALUE: u8 = 0x12;
const ITEM: u8 = 0x0a;
const NULL: u8 = 0x08;
const NUMBER: u8 = 0x11;
const STRING: u8 = 0x1a;
const BOOL: u8 = 0x20;
const STRUCT: u8 = 0x2a;
const LIST: u8 = 0x32;

/// The encoding of an object, its fields ordered by name.
pub(crate) fn encode(map: &Map<String, Value>) -> Result<Vec<u8>, JsonError> {
    let mut out = Reversed(Vec::new());
    object(map, 1, &mut out)?;
    out.0.reverse();
    Ok(out.0)
}

/// What is written so far, its last byte first.
struct Reversed(Vec<u8>);

impl Reversed {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn prepend(&mut self, bytes: &[u8]) {
        let end = self.0.len();
        self.0.extend_from_slice(bytes);
        self.0[end..].reverse();
    }

    /// Closes a field of which everything since `end` is the content.
    fn prepend_length_and_key(&mut self, end: usize, key: u8) {
        let mut rest = self.len() - end;
        let mut varint = Vec::with_capacity(5);
        loop {
            let low = u8::try_from(rest & 0x7f).unwrap_or_default();
            rest >>= 7;
            if rest == 0 {
                varint.push(low);
                break;
            }
            varint.push(low | 0x80);
        }
        self.prepend(&varint);
        self.prepend(&[key]);
    }
}

fn object(map: &Map<String, Value>, depth: usize, out: &mut Reversed) -> Result<(), JsonError> {
    for (name, content) in map.iter().rev() {
        let end = out.len();
        value(content, depth, out).map_err(|error| error.in_field(name))?;
        out.prepend_length_and_key(end, ENTRY_VALUE);
        let end_of_name = out.len();
        out.prepend(name.as_bytes());
        out.prepend_length_and_key(end_of_name, ENTRY_KEY);
        out.prepend_length_and_key(end, ENTRY);
    }
    Ok(())
}

fn list(items: &[Value], depth: usize, out: &mut Reversed) -> Result<(), JsonError> {
    for (index, item) in items.iter().enumerate().rev() {
        let end = out.len();
        value(item, depth, out).map_err(|error| error.in_item(index))?;
        out.prepend_length_and_key(end, ITEM);
    }
    Ok(())
}

/// A value that stands in an object or list of this depth.
fn value(value: &Value, depth: usize, out: &mut Reversed) -> Result<(), JsonError> {
    let end = out.len();
    match value {
        Value::Null => out.prepend(&[NULL, 0]),
        Value::Bool(value) => out.prepend(&[BOOL, u8::from(*value)]),
        Value::Number(number) => {
            out.prepend(&double(number).to_le_bytes());
            out.prepend(&[NUMBER]);
        }
        Value::String(text) => {
            out.prepend(text.as_bytes());
            out.prepend_length_and_key(end, STRING);
        }
        Value::Array(items) => {
            list(items, deeper(depth)?, out)?;
            out.prepend_length_and_key(end, LIST);
        }
        Value::Object(map) => {
            object(map, deeper(depth)?, out)?;
            out.prepend_length_and_key(end, STRUCT);
        }
    }
    Ok(())
}

/// The wire has doubles alone: integers are exact up to 2^53.
fn double(number: &Number) -> f64 {
    // Without arbitrary precision each number has one.
    number.as_f64().unwrap_or_default()
}
