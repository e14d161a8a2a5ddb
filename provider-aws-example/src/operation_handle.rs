//! The handle of an operation: all that is needed to poll it, from any replica and after any upgrade.

use crossbridge_sdk::{Failure, OperationVerb};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Content of a handle, encoded as JSON so that later versions of the plugin can add to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OperationHandle<D> {
    /// Version of the encoding; handles of others are rejected.
    version: u8,
    verb: Verb,
    /// The external name, as soon as there is an operation.
    pub(crate) name: String,
    /// What the kind must know besides. Later versions may add to it: each field has a default.
    #[serde(flatten)]
    pub(crate) details: D,
}

/// The details of kinds whose handle holds nothing besides.
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

impl<D: Serialize + DeserializeOwned> OperationHandle<D> {
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

    /// Decodes a handle of the resource `external_name`; an empty name stands for any.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for a malformed handle, and for one of another resource.
    pub(crate) fn decode(text: &str, external_name: &str) -> Result<Self, Failure> {
        let handle: Self = serde_json::from_str(text).map_err(|error| {
            Failure::invalid_argument("handle", format!("it was not issued by this plugin: {error}"))
        })?;
        if handle.version != VERSION {
            return Err(Failure::invalid_argument(
                "handle",
                "it was issued by a later version of the plugin",
            ));
        }
        if !external_name.is_empty() && external_name != handle.name {
            return Err(Failure::invalid_argument(
                "handle",
                "it was issued for another resource",
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

    /// The text that the bridge stores and hands back.
    pub(crate) fn encode(&self) -> String {
        // Serialising a struct of texts cannot fail.
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

    fn handle(region: Option<&str>) -> OperationHandle<Details> {
        let region = region.map(ToOwned::to_owned);
        OperationHandle::new(OperationVerb::Create, "t", Details { region })
    }

    #[test]
    fn a_handle_keeps_its_encoding() {
        let text = r#"{"version":1,"verb":"create","name":"t","region":"eu-west-1"}"#;
        assert_eq!(handle(Some("eu-west-1")).encode(), text);
        assert_eq!(
            OperationHandle::decode(text, "t").ok(),
            Some(handle(Some("eu-west-1")))
        );
        let later = text.replace('}', r#","more":1}"#);
        assert_eq!(
            OperationHandle::decode(&later, "t").ok(),
            Some(handle(Some("eu-west-1")))
        );
        assert_eq!(
            OperationHandle::decode(&handle(None).encode(), "").ok(),
            Some(handle(None))
        );
    }

    #[test]
    fn foreign_and_malformed_handles_are_rejected() {
        let read = |text: &str, name: &str| OperationHandle::<Details>::decode(text, name);
        let text = handle(None).encode();
        assert!(read(&text, "another").is_err());
        assert!(read("nonsense", "t").is_err());
        assert!(read(&text.replace("\"version\":1", "\"version\":2"), "t").is_err());
    }
}
