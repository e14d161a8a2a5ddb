//! The handle of an operation: all that is needed to follow it, from any replica and after any upgrade.

use crossbridge_sdk::{Failure, OperationVerb};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What the handle of an operation holds. It is JSON, so that later versions can add to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Handle<D> {
    /// Of this format.
    version: u8,
    verb: Verb,
    /// The external name, as soon as there is an operation.
    pub(crate) name: String,
    /// What the kind needs to know besides. Later versions may add to it: each field has a default.
    #[serde(flatten)]
    pub(crate) details: D,
}

/// Nothing besides.
#[cfg(feature = "cloudfront")]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NoDetails {}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Verb {
    Create,
    Update,
    Delete,
}

const VERSION: u8 = 1;

impl<D: Serialize + DeserializeOwned> Handle<D> {
    pub(crate) fn new(verb: OperationVerb, name: &str, details: D) -> Self {
        let verb = match verb {
            OperationVerb::Create => Verb::Create,
            OperationVerb::Update => Verb::Update,
            OperationVerb::Delete => Verb::Delete,
        };
        Self {
            version: VERSION,
            verb,
            name: name.to_owned(),
            details,
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

    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default)]
    struct Details {
        #[serde(skip_serializing_if = "Option::is_none")]
        region: Option<String>,
    }

    fn handle(region: Option<&str>) -> Handle<Details> {
        let region = region.map(ToOwned::to_owned);
        Handle::new(OperationVerb::Create, "t", Details { region })
    }

    #[test]
    fn a_handle_survives_and_keeps_its_form() {
        let text = r#"{"version":1,"verb":"create","name":"t","region":"eu-west-1"}"#;
        assert_eq!(handle(Some("eu-west-1")).text(), text);
        assert_eq!(Handle::read(text, "t").ok(), Some(handle(Some("eu-west-1"))));
        let later = text.replace('}', r#","more":1}"#);
        assert_eq!(Handle::read(&later, "t").ok(), Some(handle(Some("eu-west-1"))));
        assert_eq!(Handle::read(&handle(None).text(), "").ok(), Some(handle(None)));
    }

    #[test]
    fn foreign_and_broken_handles_are_refused() {
        let read = |text: &str, name: &str| Handle::<Details>::read(text, name);
        let text = handle(None).text();
        assert!(read(&text, "another").is_err());
        assert!(read("nonsense", "t").is_err());
        assert!(read(&text.replace("\"version\":1", "\"version\":2"), "t").is_err());
    }
}
