//! What is wrong with a message.

use std::fmt;

/// A message breaks the contract: which field, and which rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} {rule}")]
pub struct Violation {
    /// Dotted path from the message that was checked: `target.owner.uid`, `field_rules[2].path`.
    pub field: String,
    /// The rule that the field breaks.
    pub rule: Rule,
}

/// A rule of the contract that a field can break. Reads on after the field's path. Never holds the value of the field where that may be
/// secret or long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Rule {
    /// A REQUIRED field is empty or unset.
    #[error("is required, and is not set")]
    Required,
    /// It is REQUIRED under a condition that holds.
    #[error("is required {when}, and is not set")]
    RequiredWhere {
        /// Under which condition: "with `CLIENT_TOKEN`".
        when: &'static str,
    },
    /// A text of more bytes than its limit.
    #[error("has {length} bytes; at most {limit} are allowed")]
    TooLong {
        /// Bytes of the text.
        length: usize,
        /// Most bytes that it may have.
        limit: usize,
    },
    /// More items than its limit.
    #[error("has {count} items; at most {limit} are allowed")]
    TooMany {
        /// Items that it has.
        count: usize,
        /// Most items that it may have.
        limit: usize,
    },
    /// JSON that is nested too deeply.
    #[error("is nested too deeply; at most {limit} levels are allowed")]
    TooDeep {
        /// Most levels that it may have.
        limit: usize,
    },
    /// A number or a duration outside its range.
    #[error("is out of range: {range} is allowed")]
    OutOfRange {
        /// What is allowed: "0 to 100".
        range: &'static str,
    },
    /// Not of the form that the field has.
    #[error("is malformed: it must be {form}")]
    Malformed {
        /// The form: "a JSON Pointer".
        form: &'static str,
    },
    /// A text that is not JSON, or not a JSON object.
    #[error("is not the text of a JSON object: {problem}")]
    NotAnObject {
        /// What the parser said, without the text itself.
        problem: String,
    },
    /// A schema that the API server would not take as structural.
    #[error("is no structural OpenAPI v3 schema: at {pointer:?}: {problem}")]
    NotStructural {
        /// The place in the schema, a JSON Pointer.
        pointer: String,
        /// What is wrong there.
        problem: String,
    },
    /// Given twice where once is allowed.
    #[error("is given twice: {value:?}")]
    Duplicate {
        /// The value that stands there twice.
        value: String,
    },
    /// Set where it may not be, or at odds with another field.
    #[error("is not allowed: {why}")]
    NotAllowed {
        /// Why the field may not be set so.
        why: String,
    },
}

impl Violation {
    /// A violation of a field of the message at hand.
    pub fn new(field: impl Into<String>, rule: Rule) -> Self {
        Self {
            field: field.into(),
            rule,
        }
    }

    /// The same violation, seen from the message that holds this one in `field`.
    #[must_use]
    pub fn within(self, field: impl fmt::Display) -> Self {
        Self {
            // An item that is a text of its own has no field.
            field: if self.field.is_empty() {
                field.to_string()
            } else {
                format!("{field}.{}", self.field)
            },
            rule: self.rule,
        }
    }
}
