//! What the description of a kind takes, before any of its JSON is parsed: all kinds of a plugin together are limited.

use crossbridge_types::limits;
use prost::Message;

use crate::v1alpha1::GetResourceKindResponse;

/// On the wire, and as JSON values in memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Weight {
    /// Bytes of the message.
    pub bytes: usize,
    /// JSON values in schemas and examples.
    pub values: usize,
}

impl Weight {
    /// Of one kind.
    pub fn of(answer: &GetResourceKindResponse) -> Self {
        let kind = answer.resource_kind.iter();
        let texts = kind.flat_map(|kind| {
            let examples = kind.examples.iter().flat_map(|example| {
                [
                    &example.create_parameters,
                    &example.update_parameters,
                    &example.invalid_parameters,
                ]
            });
            [
                &kind.parameters_schema_json,
                &kind.status_schema_json,
                &kind.list_filter_schema_json,
            ]
            .into_iter()
            .chain(examples.flatten().map(|document| &document.json))
        });
        Self {
            bytes: answer.encoded_len(),
            values: texts.map(|text| limits::values_in(text)).sum(),
        }
    }
}
