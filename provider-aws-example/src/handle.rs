//! The handle of an operation: all that is needed to follow it, from any replica and after any upgrade.

use crossbridge_sdk::{Failure, OperationVerb};
use serde::{Deserialize, Serialize};

/// What the handle of an operation holds. It is JSON, so that later versions can add to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Handle {
    /// Of this format.
    version: u8,
    verb: Verb,
    /// The external name, as soon as there is an operation.
    pub(crate) name: String,
    /// Where, for kinds that are somewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) region: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Verb {
    Create,
    Update,
    Delete,
}

const VERSION: u8 = 1;

impl Handle {
    pub(crate) fn new(verb: OperationVerb, name: &str, region: Option<&str>) -> Self {
        let verb = match verb {
            OperationVerb::Create => Verb::Create,
            OperationVerb::Update => Verb::Update,
            OperationVerb::Delete => Verb::Delete,
        };
        Self {
            version: VERSION,
            verb,
            name: name.to_owned(),
            region: region.map(ToOwned::to_owned),
        }
    }

    /// Reads a handle of the resource of this name; an empty name is any.
    pub(crate) fn read(text: &str, external_name: &str) -> Result<Self, Failure> {
        let handle: Self = serde_json::from_str(text).map_err(|error| {
            Failure::invalid_argument("handle", format!("this is no handle of ours: {error}"))
        })?;
        if handle.version != VERSION {
            return Err(Failure::invalid_argument(
                "handle",
                "this handle is of a later version of the plugin",
            ));
        }
        if !external_name.is_empty() && external_name != handle.name {
            return Err(Failure::invalid_argument(
                "handle",
                "this handle is another resource's",
            ));
        }
        Ok(handle)
    }

    pub(crate) fn verb(&self) -> OperationVerb {
        match self.verb {
            Verb::Create => OperationVerb::Create,
            Verb::Update => OperationVerb::Update,
            Verb::Delete => OperationVerb::Delete,
        }
    }

    pub(crate) fn text(&self) -> String {
        // A struct of texts always serialises.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_survives_and_keeps_its_form() {
        let handle = Handle::new(OperationVerb::Create, "t", Some("eu-west-1"));
        let text = r#"{"version":1,"verb":"create","name":"t","region":"eu-west-1"}"#;
        assert_eq!(handle.text(), text);
        assert_eq!(Handle::read(text, "t").ok(), Some(handle));
    }

    #[test]
    fn foreign_and_broken_handles_are_refused() {
        let text = Handle::new(OperationVerb::Create, "t", None).text();
        assert!(Handle::read(&text, "").is_ok());
        assert!(Handle::read(&text, "another").is_err());
        assert!(Handle::read("nonsense", "t").is_err());
        assert!(Handle::read(&text.replace("\"version\":1", "\"version\":2"), "t").is_err());
    }
}
