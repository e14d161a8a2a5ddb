//! Fixtures of a kind, from which the kit and `new-plugin` compose calls and manifests.

use std::collections::BTreeMap;

use crate::{Document, Violation, check};

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
    /// Passes the schema, and is rejected all the same.
    pub invalid_parameters: Option<Document>,
    /// JSON Pointer -> invented value.
    pub sensitive_values: BTreeMap<String, String>,
    /// Examples that must exist first: `Kind/name`.
    pub requires: Vec<String>,
}

impl Example {
    pub(super) fn check(&self) -> Result<(), Violation> {
        check::required(&self.name, "name")?;
        check::name(&self.name, "name")?;
        check::name(&self.external_name, "external_name")?;
        let documents = [
            (&self.create_parameters, "create_parameters"),
            (&self.update_parameters, "update_parameters"),
            (&self.invalid_parameters, "invalid_parameters"),
        ];
        for (document, field) in documents {
            if let Some(document) = document {
                check::document(document, field)?;
            }
        }
        self.sensitive_values
            .keys()
            .try_for_each(|pointer| check::pointer(pointer, &format!("sensitive_values[{pointer:?}]")))
    }
}
