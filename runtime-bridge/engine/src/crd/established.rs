//! What the API server says about a definition.

use serde_json::Value;

/// It is served, and stays so: the API server serves one that is being deleted, but only for its last objects to go.
pub(crate) fn is(live: &Value) -> bool {
    !is_deleting(live) && is_readable(live)
}

/// Its objects can be read and written: also while it is being deleted, until the last of them is gone.
pub(crate) fn is_readable(live: &Value) -> bool {
    condition(live, "Established").is_some_and(|condition| condition["status"] == "True")
}

fn is_deleting(live: &Value) -> bool {
    live.pointer("/metadata/deletionTimestamp")
        .is_some_and(Value::is_string)
}

/// What is wrong with it, in the words of the API server; `None`: nothing that is known.
pub(crate) fn fault(live: &Value) -> Option<String> {
    let said = |(name, status): &(&str, &str)| {
        let condition = condition(live, name).filter(|condition| condition["status"] == *status)?;
        Some(format!("{name}={status}: {}", condition["message"].as_str()?))
    };
    FAULTS.iter().find_map(said)
}

const FAULTS: [(&str, &str); 3] = [
    ("NamesAccepted", "False"),
    ("NonStructuralSchema", "True"),
    ("Terminating", "True"),
];

/// Why it is not served, in the words of the API server.
pub(super) fn why_not(live: &Value) -> String {
    let bad = [
        ("NamesAccepted", "False"),
        ("NonStructuralSchema", "True"),
        ("Terminating", "True"),
        ("Established", "False"),
    ];
    if is_deleting(live) {
        return "it is being deleted".to_owned();
    }
    let said = bad.iter().find_map(|(name, status)| {
        let condition = condition(live, name).filter(|condition| condition["status"] == *status)?;
        Some(format!("{name}={status}: {}", condition["message"].as_str()?))
    });
    said.unwrap_or_else(|| "the API server has not said anything about it yet".to_owned())
}

fn condition<'a>(live: &'a Value, name: &str) -> Option<&'a Value> {
    live.pointer("/status/conditions")?
        .as_array()?
        .iter()
        .find(|condition| condition["type"] == name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_definition_that_is_not_served_says_why() {
        let cases = [
            (json!({}), "the API server has not said anything about it yet"),
            (
                json!({"status": {"conditions": [
                    {"type": "Established", "status": "False", "message": "not all names are accepted"},
                    {"type": "NamesAccepted", "status": "False", "message": "plural is taken"},
                ]}}),
                "NamesAccepted=False: plural is taken",
            ),
            (
                json!({
                    "metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"},
                    "status": {"conditions": [{"type": "Established", "status": "True"}]},
                }),
                "it is being deleted",
            ),
        ];
        for (live, why) in cases {
            assert!(!is(&live), "{live}");
            assert_eq!(why_not(&live), why);
        }
        assert!(is(
            &json!({"status": {"conditions": [{"type": "Established", "status": "True"}]}})
        ));
    }
}
