//! Where a table is. The bridge keeps it beside the name, as the wish may name another region by now: there the table would be missed, and
//! made again.

use crossbridge_sdk::{Call, Failure};
use serde::{Deserialize, Serialize};

/// What the bridge keeps for us. It is JSON, so that later versions can add to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct State {
    region: String,
}

/// The state of a table in this region.
pub(super) fn state(region: &str) -> String {
    let state = State {
        region: region.to_owned(),
    };
    // A struct of texts always serialises.
    serde_json::to_string(&state).unwrap_or_default()
}

/// The region in which the table is, as far as it is known.
pub(super) fn region(call: &Call) -> Result<Option<String>, Failure> {
    let text = &call.target.provider_state;
    if text.is_empty() {
        return Ok(None);
    }
    let state: State = serde_json::from_str(text).map_err(|error| {
        Failure::invalid_argument(
            "target.provider_state",
            format!("this is no state of ours: {error}"),
        )
    })?;
    Ok(Some(state.region))
}
