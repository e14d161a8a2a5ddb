//! The format of a record: bridges of several versions read and write the same one, on the way to a newer version and back.
//!
//! A newer bridge may add fields. What it does not name in `mustUnderstand` an older one leaves alone, and writes again as it was, but knows
//! nothing of: whoever adds such a field has it say which `incarnation` it is of. What is named there stops the older bridge.

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};

use crate::external::Document;

/// The newest format that this bridge knows. One more whenever a field is added.
const FORMAT: u32 = 1;

/// What a record says of its own form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordFormat {
    /// The newest that has been written into it.
    #[serde(rename = "format", default = "first")]
    number: u32,
    /// Its fields without which no bridge may act upon it, as `intent.operation.handle`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    must_understand: BTreeSet<String>,
    /// Of a newer format.
    #[serde(flatten)]
    unknown: Document,
}

impl Default for RecordFormat {
    fn default() -> Self {
        Self {
            number: FORMAT,
            must_understand: BTreeSet::new(),
            unknown: Document::new(),
        }
    }
}

/// Records without a number.
fn first() -> u32 {
    1
}

impl RecordFormat {
    /// It may hold anything of this bridge's own format from now on.
    pub(super) fn raise(&mut self) {
        self.number = self.number.max(FORMAT);
    }

    /// Fields of the record itself that only a newer format has.
    pub(super) fn unknown(&self) -> &Document {
        &self.unknown
    }

    /// Why a record of this format may not be acted upon, by the paths of its unknown fields.
    pub(super) fn misunderstanding(&self, unknown: &[String]) -> Option<Unreadable> {
        if self.number <= FORMAT {
            // Nobody but a person has added it, and it may be a known one that is spelled otherwise.
            let field = unknown.first()?;
            return Some(Unreadable::Malformed(format!("unknown field `{field}`")));
        }
        let is_unknown = |path: &&String| {
            unknown.iter().any(|field| {
                let rest = path.strip_prefix(field.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        };
        let fields: Vec<String> = self.must_understand.iter().filter(is_unknown).cloned().collect();
        (!fields.is_empty()).then_some(Unreadable::TooNew {
            format: self.number,
            fields,
        })
    }
}

/// Why a record says nothing to this bridge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// It was edited, or cut off.
    Malformed(String),
    /// A newer bridge wrote it, and older ones may not act upon it.
    TooNew {
        /// Its format.
        format: u32,
        /// What this bridge would have to understand.
        fields: Vec<String>,
    },
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(why) => f.write_str(why),
            Self::TooNew { format, fields } => {
                write!(f, "it is of format {format}, and this bridge knows {FORMAT}")?;
                if fields.is_empty() {
                    return Ok(());
                }
                write!(f, " and not the meaning of {}", fields.join(", "))
            }
        }
    }
}

/// Why a text could not be parsed.
pub(super) fn unparsed(text: &serde_json::Value, error: &serde_json::Error) -> Unreadable {
    let format = text.get("format").and_then(serde_json::Value::as_u64);
    match format.and_then(|format| u32::try_from(format).ok()) {
        Some(format) if format > FORMAT => Unreadable::TooNew {
            format,
            fields: Vec::new(),
        },
        _ => Unreadable::Malformed(error.to_string()),
    }
}
