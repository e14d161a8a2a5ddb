//! Once the upstream has given a name, no answer reports that nothing was done, and none leaves without the name.

use std::time::Duration;

use crate::support::{Plugin, by, create, failure, within};
use crossbridge_proto::v1alpha1 as wire;
use serde_json::json;

/// Creates a `Job`, which the upstream names.
async fn create_job(mood: &str) -> (wire::Failure, String) {
    failure(Some(job_outcome(mood).await))
}

async fn job_outcome(mood: &str) -> wire::Outcome {
    let mut plugin = Plugin::start().await;
    let request = create(plugin.target("Job", ""), &json!({"steps": 1, "mood": mood}));
    let response = within(
        mood,
        plugin.resources.create(by(request, Duration::from_secs(20))),
    )
    .await
    .expect("the call was processed");
    plugin.stop().await;
    response.into_inner().outcome.expect("an outcome")
}

#[tokio::test]
async fn a_failure_without_effect_becomes_partial_after_a_name() {
    let (throttled, name) = create_job("NamedThenThrottled").await;
    assert_eq!(
        (throttled.code(), throttled.effect(), name.as_str()),
        (wire::FailureCode::Throttled, wire::Effect::Partial, "given")
    );
}

#[tokio::test]
async fn not_found_keeps_its_effect_beside_a_name() {
    let (gone, name) = create_job("NamedThenGone").await;
    assert_eq!(
        (gone.code(), gone.effect(), name.as_str()),
        (wire::FailureCode::NotFound, wire::Effect::None, "given")
    );
}

#[tokio::test]
async fn a_status_after_a_name_is_internal_with_the_name() {
    let (failed, name) = create_job("NamedThenStatus").await;
    assert_eq!(
        (failed.code(), failed.effect(), name.as_str()),
        (wire::FailureCode::Internal, wire::Effect::Unknown, "given")
    );
    assert_eq!(failed.reason, "StatusAfterName");
    assert!(failed.message.contains("InvalidArgument"), "{}", failed.message);
}

#[tokio::test]
async fn a_status_after_a_recorded_name_keeps_what_is_given_once() {
    let outcome = job_outcome("NamedThenStatusBesideKey").await;
    let key = outcome.connection_details.get("key").cloned();
    assert_eq!(key.as_deref(), Some(b"given once".as_slice()));
    let (failed, name) = failure(Some(outcome));
    assert_eq!(
        (failed.code(), failed.reason.as_str(), name.as_str()),
        (wire::FailureCode::Internal, "StatusAfterName", "given")
    );
}

#[tokio::test]
async fn an_id_that_is_too_long_goes_alone() {
    let outcome = job_outcome("NamedWithLongId").await;
    let key = outcome.connection_details.get("key").cloned();
    assert_eq!(key.as_deref(), Some(b"given once".as_slice()));
    assert_eq!(outcome.canonical_id, "");
    let (failed, name) = failure(Some(outcome));
    assert_eq!(
        (failed.reason.as_str(), name.as_str()),
        ("InvalidAnswer", "given")
    );
}

#[tokio::test]
async fn details_that_are_too_large_go_alone() {
    let outcome = job_outcome("NamedWithLargeKey").await;
    assert!(outcome.connection_details.is_empty());
    assert_eq!(outcome.canonical_id, "id-7");
    let (failed, name) = failure(Some(outcome));
    assert_eq!(
        (failed.reason.as_str(), name.as_str()),
        ("InvalidAnswer", "given")
    );
}
