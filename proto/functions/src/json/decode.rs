//! `Struct` to JSON.

use serde_json::{Map, Number, Value};

use super::{JsonError, JsonFault, deeper};

/// The object that is encoded. Of a name that is there twice the last one counts.
pub(crate) fn decode(encoded: &[u8]) -> Result<Map<String, Value>, JsonError> {
    object(encoded, 1)
}

/// One field of a message.
enum Field<'a> {
    Varint(u64),
    Fixed64([u8; 8]),
    Fixed32,
    Bytes(&'a [u8]),
}

/// The fields of a message, one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn next(&mut self) -> Result<Option<(u64, Field<'a>)>, JsonFault> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let key = self.varint()?;
        let field = match key & 7 {
            0 => Field::Varint(self.varint()?),
            1 => Field::Fixed64(self.take(8)?.try_into().map_err(|_| JsonFault::Malformed)?),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| JsonFault::Malformed)?;
                Field::Bytes(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                Field::Fixed32
            }
            _ => return Err(JsonFault::Malformed),
        };
        Ok(Some((key >> 3, field)))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], JsonFault> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(JsonFault::Malformed)?;
        self.0 = rest;
        Ok(taken)
    }

    fn varint(&mut self) -> Result<u64, JsonFault> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(JsonFault::Malformed)
    }
}

fn object(encoded: &[u8], depth: usize) -> Result<Map<String, Value>, JsonError> {
    let (mut fields, mut map) = (Fields(encoded), Map::new());
    while let Some(field) = fields.next()? {
        if let (1, Field::Bytes(encoded)) = field {
            let (name, content) = entry(encoded)?;
            let content = content.ok_or(JsonError::from(JsonFault::NoValue));
            let content = content.and_then(|content| value(content, depth));
            let content = content.map_err(|error| error.in_field(name))?;
            map.insert(name.to_owned(), content);
        }
    }
    Ok(map)
}

/// Name and encoded value of one entry of an object.
fn entry(encoded: &[u8]) -> Result<(&str, Option<&[u8]>), JsonFault> {
    let (mut fields, mut name, mut content) = (Fields(encoded), "", None);
    while let Some(field) = fields.next()? {
        match field {
            (1, Field::Bytes(bytes)) => name = text(bytes)?,
            (2, Field::Bytes(bytes)) => content = Some(bytes),
            _ => {}
        }
    }
    Ok((name, content))
}

fn list(encoded: &[u8], depth: usize) -> Result<Vec<Value>, JsonError> {
    let (mut fields, mut items) = (Fields(encoded), Vec::new());
    while let Some(field) = fields.next()? {
        if let (1, Field::Bytes(encoded)) = field {
            let item = value(encoded, depth).map_err(|error| error.in_item(items.len()))?;
            items.push(item);
        }
    }
    Ok(items)
}

/// A value that stands in an object or list of this depth.
fn value(encoded: &[u8], depth: usize) -> Result<Value, JsonError> {
    let (mut fields, mut found) = (Fields(encoded), None);
    while let Some(field) = fields.next()? {
        found = Some(match field {
            (1, Field::Varint(_)) => Value::Null,
            (2, Field::Fixed64(bytes)) => Value::Number(number(f64::from_le_bytes(bytes))?),
            (3, Field::Bytes(bytes)) => Value::String(text(bytes)?.to_owned()),
            (4, Field::Varint(value)) => Value::Bool(value != 0),
            (5, Field::Bytes(encoded)) => Value::Object(object(encoded, deeper(depth)?)?),
            (6, Field::Bytes(encoded)) => Value::Array(list(encoded, deeper(depth)?)?),
            _ => continue,
        });
    }
    found.ok_or(JsonFault::NoValue.into())
}

fn text(bytes: &[u8]) -> Result<&str, JsonFault> {
    std::str::from_utf8(bytes).map_err(|_| JsonFault::Malformed)
}

/// Kubernetes rejects 3.0 where an integer must be, and the wire knows no other numbers.
fn number(value: f64) -> Result<Number, JsonFault> {
    const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;
    if value.fract() == 0.0 && (-TWO_TO_63..TWO_TO_63).contains(&value) {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "it is whole, and within the range"
        )]
        return Ok((value as i64).into());
    }
    Number::from_f64(value).ok_or(JsonFault::NotFinite)
}
