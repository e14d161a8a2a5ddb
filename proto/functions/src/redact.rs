//! `Debug` for the messages that hold a field marked `debug_redact`: keys are printed, values never.
//!
//! `build.rs` leaves these messages without a `Debug` of prost's, so a new one fails to compile until it stands here.

use std::{collections::BTreeMap, fmt};

use crate::v1::{CredentialData, Resource};

/// The keys of a map that holds secrets.
struct Keys<'a, V>(&'a BTreeMap<String, V>);

impl<V> fmt::Debug for Keys<'_, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.0.keys().map(|key| (key, "redacted")))
            .finish()
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            resource,
            connection_details,
            ready,
        } = self;
        f.debug_struct("Resource")
            .field("resource", resource)
            .field("connection_details", &Keys(connection_details))
            .field("ready", ready)
            .finish()
    }
}

impl fmt::Debug for CredentialData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { data } = self;
        f.debug_struct("CredentialData")
            .field("data", &Keys(data))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::{
        Struct,
        v1::{CredentialData, Credentials, Resource, RunFunctionRequest, State, credentials::Source},
    };

    const CANARY: &str = "canary";

    #[test]
    fn debug_shows_no_object_detail_or_credential() {
        let secret = json!({"kind": "Secret", "data": {"password": CANARY}});
        let of = |name: &str| [(name.to_owned(), CANARY.as_bytes().to_vec())].into();
        let resource = Resource {
            resource: Some(Struct::from_json(&secret).unwrap()),
            connection_details: of("password"),
            ready: 0,
        };
        let data = CredentialData { data: of("token") };
        let request = RunFunctionRequest {
            observed: Some(State {
                composite: Some(resource.clone()),
                resources: [("secret".to_owned(), resource)].into(),
            }),
            context: Some(Struct::from_json(&secret).unwrap()),
            input: Some(Struct::from_json(&secret).unwrap()),
            credentials: [(
                "aws".to_owned(),
                Credentials {
                    source: Some(Source::CredentialData(data)),
                },
            )]
            .into(),
            ..RunFunctionRequest::default()
        };
        let shown = format!("{request:?}");
        assert!(!shown.contains(CANARY), "{shown}");
        let bytes = format!("{:?}", CANARY.as_bytes());
        assert!(!shown.contains(bytes.trim_matches(['[', ']'])), "{shown}");
        assert!(
            shown.contains("\"password\": \"redacted\"") && shown.contains("\"token\": \"redacted\""),
            "{shown}"
        );
    }
}
