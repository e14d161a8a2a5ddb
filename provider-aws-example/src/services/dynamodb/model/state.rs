//! The provider state of a table: its region. The desired region may be changed later; there the table would seem absent, and a second one
//! would be created.

use crossbridge_sdk::{Call, Failure};
use serde::{Deserialize, Serialize};

/// Stored by the bridge. It is JSON, so that later versions can add to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct State {
    region: String,
}

/// The provider state of a table in this region.
pub(in crate::services::dynamodb) fn encode_state(region: &str) -> String {
    let state = State {
        region: region.to_owned(),
    };
    // Serialising a struct of texts cannot fail.
    serde_json::to_string(&state).unwrap_or_default()
}

/// The region in the provider state of the call, if the bridge has stored one.
pub(in crate::services::dynamodb) fn region(call: &Call) -> Result<Option<String>, Failure> {
    let text = &call.target.provider_state;
    if text.is_empty() {
        return Ok(None);
    }
    let state: State = serde_json::from_str(text).map_err(|error| {
        Failure::invalid_argument(
            "target.provider_state",
            format!("it was not issued by this plugin: {error}"),
        )
    })?;
    Ok(Some(state.region))
}
