//! Counts what a response holds before any of it is decoded: an empty message takes two bytes on the wire, and as much as a full one in memory.
//!
//! Each field ends here where it ends for those who decode it afterwards: prost, and within a `Struct` the reader of `function_proto`. Where those
//! could read on, the count goes on.

use std::{error::Error, fmt, sync::Arc};

use function_proto::MAX_NESTING;
use tonic::Status;

/// Values in the objects and lists of one response.
const VALUES: usize = 4 << 20;

/// Objects and lists of one response, and what else lies in maps beside `Struct`: a map with one entry takes the room of eleven.
const OBJECTS: usize = 512 << 10;

/// Results of one response, likewise its conditions, likewise its requirements.
const ENTRIES: usize = 10_000;

/// Why a response is not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rejected {
    Values,
    Objects,
    Results,
    Conditions,
    Requirements,
    /// prost would not decode it either, but only after it has read beyond the end of a message.
    Malformed,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Values => write!(f, "it returned more than {VALUES} values: return less"),
            Self::Objects => write!(
                f,
                "it returned more than {OBJECTS} objects, lists and connection details: return less"
            ),
            Self::Results => write!(f, "it returned more than {ENTRIES} results: return fewer"),
            Self::Conditions => write!(f, "it returned more than {ENTRIES} conditions: return fewer"),
            Self::Requirements => write!(
                f,
                "it requires more than {ENTRIES} selections of resources and schemas: require fewer"
            ),
            Self::Malformed => {
                f.write_str("it does not decode as a RunFunctionResponse: one of its fields is malformed")
            }
        }
    }
}

impl Error for Rejected {}

impl From<Rejected> for Status {
    fn from(rejected: Rejected) -> Self {
        let mut status = Self::out_of_range(rejected.to_string());
        status.set_source(Arc::new(rejected));
        status
    }
}

/// Why the call has this status, if its response was not decoded.
pub(crate) fn rejection(status: &Status) -> Option<Rejected> {
    status.source()?.downcast_ref::<Rejected>().copied()
}

/// Whether a response may be decoded, given as it came over the wire.
pub(crate) fn check(response: &[u8]) -> Result<(), Rejected> {
    // Whatever counts has two bytes at least, and most responses are not longer than this.
    if response.len() <= 2 * ENTRIES {
        return Ok(());
    }
    let mut left = Left::ALL;
    take(response, &RESPONSE, 0, &mut left)
}

/// What else a response may hold.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    values: usize,
    objects: usize,
    results: usize,
    conditions: usize,
    requirements: usize,
}

impl Left {
    const ALL: Self = Self {
        values: VALUES,
        objects: OBJECTS,
        results: ENTRIES,
        conditions: ENTRIES,
        requirements: ENTRIES,
    };

    fn spend(&mut self, one: Counted) -> Result<(), Rejected> {
        let (left, rejected) = match one {
            Counted::Part => return Ok(()),
            Counted::Value => (&mut self.values, Rejected::Values),
            Counted::Json | Counted::Entry => (&mut self.objects, Rejected::Objects),
            Counted::Result => (&mut self.results, Rejected::Results),
            Counted::Condition => (&mut self.conditions, Rejected::Conditions),
            Counted::Requirement => (&mut self.requirements, Rejected::Requirements),
        };
        *left = left.checked_sub(1).ok_or(rejected)?;
        Ok(())
    }
}

/// What a field is counted as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    /// Nothing: however often it is sent, it is held once.
    Part,
    /// A value in an object or list.
    Value,
    /// An object or list.
    Json,
    /// A resource, connection detail or label.
    Entry,
    Result,
    Condition,
    Requirement,
}

impl Counted {
    /// prost reads the length of an entry of a map whatever the type of the field is on the wire.
    fn is_of_map(self) -> bool {
        matches!(self, Self::Entry | Self::Requirement)
    }
}

/// The fields of a message that are counted or hold what is counted. All others are held as the bytes that they are, or not at all.
struct Shape {
    fields: &'static [(u64, Counted, &'static Shape)],
}

static RESPONSE: Shape = Shape {
    fields: &[
        (2, Counted::Part, &STATE),
        (3, Counted::Result, &NOTHING),
        (4, Counted::Json, &STRUCT),
        (5, Counted::Part, &REQUIREMENTS),
        (6, Counted::Condition, &NOTHING),
    ],
};
static STATE: Shape = Shape {
    fields: &[
        (1, Counted::Part, &RESOURCE),
        (2, Counted::Entry, &RESOURCE_ENTRY),
    ],
};
static RESOURCE_ENTRY: Shape = Shape {
    fields: &[(2, Counted::Part, &RESOURCE)],
};
static RESOURCE: Shape = Shape {
    fields: &[(1, Counted::Json, &STRUCT), (2, Counted::Entry, &NOTHING)],
};
static REQUIREMENTS: Shape = Shape {
    fields: &[
        (1, Counted::Requirement, &SELECTOR_ENTRY),
        (2, Counted::Requirement, &SELECTOR_ENTRY),
        (3, Counted::Requirement, &SCHEMA_ENTRY),
    ],
};
static SCHEMA_ENTRY: Shape = Shape {
    fields: &[(2, Counted::Part, &NOTHING)],
};
static SELECTOR_ENTRY: Shape = Shape {
    fields: &[(2, Counted::Part, &SELECTOR)],
};
static SELECTOR: Shape = Shape {
    fields: &[(4, Counted::Part, &MATCH_LABELS)],
};
static MATCH_LABELS: Shape = Shape {
    fields: &[(1, Counted::Entry, &NOTHING)],
};
static STRUCT: Shape = Shape {
    fields: &[(1, Counted::Value, &STRUCT_ENTRY)],
};
static STRUCT_ENTRY: Shape = Shape {
    fields: &[(2, Counted::Part, &VALUE)],
};
static VALUE: Shape = Shape {
    fields: &[(5, Counted::Json, &STRUCT), (6, Counted::Json, &LIST)],
};
static LIST: Shape = Shape {
    fields: &[(1, Counted::Value, &VALUE)],
};
static NOTHING: Shape = Shape { fields: &[] };

/// Takes what the message holds off what is left. `nesting`: so many objects and lists are around it.
fn take(mut message: &[u8], shape: &Shape, nesting: usize, left: &mut Left) -> Result<(), Rejected> {
    let mut groups: usize = 0;
    while !message.is_empty() {
        let known = |number| shape.fields.iter().find(|(of, ..)| *of == number);
        let is_map = |number| groups == 0 && known(number).is_some_and(|(_, counted, _)| counted.is_of_map());
        let (number, content) = field(&mut message, is_map).ok_or(Rejected::Malformed)?;
        let content = match content {
            Content::Bytes(content) if groups == 0 => content,
            Content::Bytes(_) | Content::Number => continue,
            Content::GroupBegins => {
                groups += 1;
                continue;
            }
            Content::GroupEnds => {
                groups = groups.checked_sub(1).ok_or(Rejected::Malformed)?;
                continue;
            }
        };
        let Some((_, counted, nested)) = known(number) else {
            continue;
        };
        left.spend(*counted)?;
        let deeper = nesting + usize::from(*counted == Counted::Json);
        // What is nested deeper is read by nobody.
        if deeper > MAX_NESTING || nested.fields.is_empty() {
            continue;
        }
        match take(content, nested, deeper, left) {
            // prost keeps a `Struct` as it came, and its reader passes over a value that another one replaces: both go on behind it.
            Err(Rejected::Malformed) if deeper > 0 => {}
            taken => taken?,
        }
    }
    Ok(())
}

/// What follows the key of a field.
enum Content<'m> {
    Bytes(&'m [u8]),
    Number,
    /// The contract has no groups: nobody keeps what is in one.
    GroupBegins,
    GroupEnds,
}

/// The next field and its number; `None`: it is malformed. As lenient as the reader of a `Struct`: prost rejects some numbers and varints more.
fn field<'m>(message: &mut &'m [u8], is_map: impl Fn(u64) -> bool) -> Option<(u64, Content<'m>)> {
    let key = varint(message)?;
    let number = key >> 3;
    let wire_type = match key & 7 {
        0..=5 if is_map(number) => 2,
        other => other,
    };
    let length = match wire_type {
        0 => {
            varint(message)?;
            0
        }
        1 => 8,
        2 => {
            let length = usize::try_from(varint(message)?).ok()?;
            return Some((number, Content::Bytes(skip(message, length)?)));
        }
        3 => return Some((number, Content::GroupBegins)),
        4 => return Some((number, Content::GroupEnds)),
        5 => 4,
        _ => return None,
    };
    skip(message, length)?;
    Some((number, Content::Number))
}

fn skip<'m>(message: &mut &'m [u8], length: usize) -> Option<&'m [u8]> {
    let (skipped, rest) = message.split_at_checked(length)?;
    *message = rest;
    Some(skipped)
}

fn varint(message: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = message.split_first()?;
        *message = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests;
