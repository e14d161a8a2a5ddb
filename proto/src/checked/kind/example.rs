//! Fixtures.

use std::collections::BTreeMap;

use crate::{
    checked::{Document, Violation, document, text},
    v1alpha1 as wire,
};

/// A fixture for docs and for the conformance kit.
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    /// Unique in the kind.
    pub name: String,
    /// Set where the user gives the name.
    pub external_name: String,
    /// Good for Create; set where the kind can be created.
    pub create_parameters: Option<Document>,
    /// Good for Update of the above.
    pub update_parameters: Option<Document>,
    /// Passes the schema, and is refused all the same.
    pub invalid_parameters: Option<Document>,
    /// JSON Pointer -> made-up value.
    pub sensitive_values: BTreeMap<String, String>,
    /// Examples that must exist first: `Kind/name`.
    pub requires: Vec<String>,
}

impl TryFrom<wire::KindExample> for Example {
    type Error = Violation;

    fn try_from(wire: wire::KindExample) -> Result<Self, Violation> {
        text::required(&wire.name, "name")?;
        for pointer in wire.sensitive_values.keys() {
            text::pointer(pointer, &format!("sensitive_values[{pointer:?}]"))?;
        }
        Ok(Self {
            name: wire.name,
            external_name: wire.external_name,
            create_parameters: document::optional(wire.create_parameters, "create_parameters")?,
            update_parameters: document::optional(wire.update_parameters, "update_parameters")?,
            invalid_parameters: document::optional(wire.invalid_parameters, "invalid_parameters")?,
            sensitive_values: wire.sensitive_values,
            requires: wire.requires,
        })
    }
}
