//! What a function says to people: without the secrets that it was sent, and no longer than such a text may be.

use base64::{Engine, engine::general_purpose::STANDARD};
use bridge_core::{
    function::{FunctionFailure, Resource, RunRequest, RunResponse, SecretData},
    limits,
};
use bridge_transport::secrets::SentValues;
use serde_json::Value;

/// The same response. Data stays as it is: what a function writes into an object is its composition's matter.
pub(crate) fn of_response(request: &RunRequest, mut response: RunResponse) -> RunResponse {
    let results = response
        .results
        .iter_mut()
        .flat_map(|result| [Some(&mut result.message), result.reason.as_mut()]);
    let conditions = response
        .conditions
        .iter_mut()
        .flat_map(|condition| [Some(&mut condition.reason), condition.message.as_mut()]);
    clean(request, results.chain(conditions).flatten());
    response
}

/// The same failure.
pub(crate) fn of_failure(request: &RunRequest, mut failure: FunctionFailure) -> FunctionFailure {
    match &mut failure {
        FunctionFailure::Status { message: text, .. }
        | FunctionFailure::Unreachable(text)
        | FunctionFailure::Invalid(text) => clean(request, std::iter::once(text)),
        // Of the bridge's own words.
        FunctionFailure::NoEndpoint(_)
        | FunctionFailure::TimedOut(_)
        | FunctionFailure::OutOfTime
        | FunctionFailure::Busy { .. }
        | FunctionFailure::Held { .. }
        | FunctionFailure::InvalidRequest(_)
        | FunctionFailure::TooLarge { .. } => {}
    }
    failure
}

fn clean<'t>(request: &RunRequest, texts: impl Iterator<Item = &'t mut String>) {
    // Most responses have no text.
    let mut sent = None;
    for text in texts.filter(|text| !text.is_empty()) {
        sent.get_or_insert_with(|| values(request)).hide_in(text);
        *text = limits::cut(std::mem::take(text));
    }
}

/// All that the request holds of Secrets.
fn values(request: &RunRequest) -> SentValues {
    let observed = &request.observed;
    let desired = &request.desired;
    let required = request.required_resources.values();
    let resources = std::iter::once(&observed.composite)
        .chain(observed.resources.values())
        .chain(&desired.composite)
        .chain(desired.resources.values())
        .chain(required.chain(request.extra_resources.values()).flatten());
    let (mut details, mut data) = (Vec::new(), Vec::new());
    for resource in resources {
        details.push(&resource.connection_details);
        data.extend(data_of_secret(resource));
    }
    let known = request.credentials.values().chain(details);
    SentValues::of(known.flat_map(|SecretData(data)| data.values()).chain(&data))
}

/// The values of an object that is a Secret.
fn data_of_secret(resource: &Resource) -> Vec<Vec<u8>> {
    let object = &resource.object;
    if object["kind"] != "Secret" || object["apiVersion"] != "v1" {
        return Vec::new();
    }
    let texts = |field: &str| {
        let fields = object[field].as_object().into_iter();
        fields.flat_map(|fields| fields.values().filter_map(Value::as_str))
    };
    let encoded = texts("data").filter_map(|text| STANDARD.decode(text).ok());
    encoded
        .chain(texts("stringData").map(|text| text.as_bytes().to_vec()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bridge_core::function::{Condition, ConditionStatus, Observed, ResultTarget, RunResult, Severity};
    use serde_json::json;

    use super::*;

    fn secret(value: &str) -> SecretData {
        SecretData([("key".to_owned(), value.into())].into())
    }

    fn request() -> RunRequest {
        let with_details = Resource {
            connection_details: secret("canary-details"),
            ..Resource::default()
        };
        let of_kind = |object: Value| vec![Resource::of(object)];
        let data =
            json!({ "apiVersion": "v1", "kind": "Secret", "data": { "a": STANDARD.encode("canary-data") } });
        let text = json!({ "apiVersion": "v1", "kind": "Secret", "stringData": { "a": "canary-text" } });
        let other = json!({ "apiVersion": "v1", "kind": "ConfigMap", "data": { "a": "public" } });
        RunRequest {
            observed: Arc::new(Observed {
                resources: [("database".to_owned(), with_details)].into(),
                ..Observed::default()
            }),
            credentials: [("aws".to_owned(), secret("canary-key"))].into(),
            required_resources: [
                ("data".to_owned(), of_kind(data)),
                ("text".to_owned(), of_kind(text)),
                ("other".to_owned(), of_kind(other)),
            ]
            .into(),
            ..RunRequest::default()
        }
    }

    #[test]
    fn no_text_of_a_response_holds_what_was_sent() {
        let quoted = format!(
            "canary-key {} canary-details canary-data canary-text public",
            STANDARD.encode("canary-key")
        );
        let hidden = "[redacted] [redacted] [redacted] [redacted] [redacted] public";
        let response = RunResponse {
            results: vec![RunResult {
                severity: Severity::Normal,
                message: quoted.clone(),
                reason: Some(quoted.clone()),
                target: ResultTarget::Composite,
            }],
            conditions: vec![Condition {
                type_: "Done".to_owned(),
                status: ConditionStatus::True,
                reason: quoted.clone(),
                message: Some(quoted.clone()),
                target: ResultTarget::CompositeAndClaim,
            }],
            ..RunResponse::default()
        };
        let response = of_response(&request(), response);
        let (result, condition) = (&response.results[0], &response.conditions[0]);
        assert_eq!(result.message, hidden);
        assert_eq!(result.reason.as_deref(), Some(hidden));
        assert_eq!(condition.reason, hidden);
        assert_eq!(condition.message.as_deref(), Some(hidden));
        let failures = [
            FunctionFailure::Invalid(quoted.clone()),
            FunctionFailure::Unreachable(quoted.clone()),
            FunctionFailure::Status {
                code: "INTERNAL".to_owned(),
                message: quoted,
            },
        ];
        for failure in failures {
            let text = of_failure(&request(), failure).to_string();
            assert!(text.ends_with(hidden), "{text}");
        }
    }

    #[test]
    fn a_long_text_is_cut_and_ends_in_no_part_of_a_value() {
        let failure = |text: String| of_failure(&request(), FunctionFailure::Invalid(text)).to_string();
        let cut = failure("x".repeat(1 << 20));
        assert!(
            cut.len() < limits::TEXT + 64 && cut.ends_with("x…"),
            "{}",
            cut.len()
        );
        // However the cut falls into them.
        for shift in 0.."canary-details".len() {
            let text = failure("-".repeat(shift) + &"canary-details".repeat(10_000));
            assert!(!text.contains("can"), "{shift}: {text}");
        }
    }
}
