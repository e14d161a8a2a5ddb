//! JSON from and to the encoding of `google.protobuf.Struct`.

mod decode;
mod encode;

pub(crate) use decode::decode;
pub(crate) use encode::encode;

/// So many objects and lists may stand in one another, the outermost included.
pub const MAX_NESTING: usize = 100;

/// Why an object has no encoding, or an encoding is no object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{fault}", at(path))]
pub struct JsonError {
    /// Where: `.spec.items[3]`; empty: the object itself.
    pub path: String,
    /// What is wrong there.
    pub fault: JsonFault,
}

/// What is wrong with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JsonFault {
    /// A list, text or number where an object must be.
    #[error("is not an object")]
    NotAnObject,
    /// More than [`MAX_NESTING`].
    #[error("is nested more than {MAX_NESTING} deep")]
    TooDeep,
    /// NaN or infinity.
    #[error("is NaN or infinite, which JSON cannot hold: send a finite number or leave it out")]
    NotFinite,
    /// A `Value` of no kind.
    #[error("has no value, not even null")]
    NoValue,
    /// Not the encoding of a `Struct`.
    #[error("is not a valid google.protobuf.Struct")]
    Malformed,
}

impl From<JsonFault> for JsonError {
    fn from(fault: JsonFault) -> Self {
        let path = String::new();
        Self { path, fault }
    }
}

impl JsonError {
    fn in_field(mut self, name: &str) -> Self {
        self.path.insert_str(0, &format!(".{name}"));
        self
    }

    fn in_item(mut self, index: usize) -> Self {
        self.path.insert_str(0, &format!("[{index}]"));
        self
    }
}

fn at(path: &str) -> String {
    match path.trim_start_matches('.') {
        "" => String::new(),
        path => format!("{path} "),
    }
}

/// What a value at this depth may hold goes one deeper.
fn deeper(depth: usize) -> Result<usize, JsonError> {
    if depth == MAX_NESTING {
        return Err(JsonFault::TooDeep.into());
    }
    Ok(depth + 1)
}

#[cfg(test)]
mod tests;
