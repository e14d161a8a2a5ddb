//! Examples of a kind's parameters, published as fixtures for the kit and for manifests.

use crossbridge_proto::v1alpha1::{Document, KindExample};
use serde_json::Value;

/// A fixture of a kind. Its documents are checked against the kind's types when the plugin starts.
#[derive(Debug, Clone)]
#[must_use]
pub struct Example {
    pub(crate) wire: KindExample,
}

impl Example {
    /// Parameters that are good for create, under a name that is unique in the kind.
    pub fn new(name: &str, create_parameters: &Value) -> Self {
        Self {
            wire: KindExample {
                name: name.to_owned(),
                create_parameters: Some(document(create_parameters)),
                ..Default::default()
            },
        }
    }

    /// The external name, where the user gives it.
    pub fn external_name(mut self, name: &str) -> Self {
        name.clone_into(&mut self.wire.external_name);
        self
    }

    /// Parameters that are good for an update of the above.
    pub fn update(mut self, parameters: &Value) -> Self {
        self.wire.update_parameters = Some(document(parameters));
        self
    }

    /// Parameters that pass the schema, and that the plugin rejects with `INVALID_SPEC` all the same.
    pub fn invalid(mut self, parameters: &Value) -> Self {
        self.wire.invalid_parameters = Some(document(parameters));
        self
    }

    /// An invented value of a sensitive field, by JSON Pointer.
    pub fn sensitive(mut self, pointer: &str, value: &str) -> Self {
        self.wire
            .sensitive_values
            .insert(pointer.to_owned(), value.to_owned());
        self
    }

    /// An example that must exist first: `Kind/name`.
    pub fn requires(mut self, example: &str) -> Self {
        self.wire.requires.push(example.to_owned());
        self
    }
}

fn document(value: &Value) -> Document {
    Document {
        json: value.to_string(),
    }
}
