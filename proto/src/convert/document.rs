//! JSON objects that travel as text.

use crossbridge_types::{Document, Rule, Violation, check, limits};
use serde_json::Value;

use crate::v1alpha1 as wire;

/// Parses the text of one object. The path of a violation is `field`.
pub(super) fn parse_object(text: &str, field: &str) -> Result<Document, Violation> {
    if text.is_empty() {
        return Err(Violation::new(field, Rule::Required));
    }
    check::json_text(text, field)?;
    let malformed = |problem: String| Violation::new(field, Rule::NotAnObject { problem });
    // Syntax errors quote nothing of the text; errors of type would.
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(malformed("it is another JSON value".to_owned())),
        Err(error) => Err(malformed(error.to_string())),
    }
}

/// A document that is REQUIRED.
pub(super) fn required(document: Option<wire::Document>, field: &str) -> Result<Document, Violation> {
    optional(document, field)?.ok_or_else(|| Violation::new(field, Rule::Required))
}

/// A document that may be missing.
pub(super) fn optional(document: Option<wire::Document>, field: &str) -> Result<Option<Document>, Violation> {
    document
        .map(|document| parse_object(&document.json, "json").map_err(|violation| violation.within(field)))
        .transpose()
}

impl wire::Document {
    /// The wire form of a JSON object.
    pub fn of(document: Document) -> Self {
        Self {
            json: Value::Object(document).to_string(),
        }
    }
}

/// A schema that is REQUIRED. Whether it is structural is its kind's check.
pub(super) fn required_schema(text: &str, field: &str) -> Result<Value, Violation> {
    check::at_most(text, limits::SCHEMA, field)?;
    parse_object(text, field).map(Value::Object)
}

/// A schema that may be missing.
pub(super) fn optional_schema(text: &str, field: &str) -> Result<Option<Value>, Violation> {
    if text.is_empty() {
        return Ok(None);
    }
    required_schema(text, field).map(Some)
}
