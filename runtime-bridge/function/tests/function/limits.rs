//! What is too large or no response fails by name.

use std::sync::Arc;

use bridge_core::function::{FunctionFailure, Observed, Resource, RunRequest};
use bridge_function::MAX_MESSAGE_BYTES;
use fake_function::Version;
use prost::encoding::encode_varint;
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    host::{Host, client, run},
    raw::Raw,
};

async fn failed(raw: Raw) -> String {
    let error = run(&client(&raw.endpoint), &RunRequest::default())
        .await
        .unwrap_err();
    assert!(matches!(error, FunctionFailure::Invalid(_)), "{error:?}");
    error.to_string()
}

#[tokio::test]
async fn a_response_of_65_mib_is_rejected_by_its_size() {
    let why = failed(Raw::answering(65 * 1024 * 1024, &[])).await;
    assert_eq!(
        why,
        "unusable response: it is larger than 67108864 bytes: compose fewer or smaller resources"
    );
}

/// A message of this length: one field that the contract does not have.
fn unknown(length: u32) -> Vec<u8> {
    let mut message = vec![0x7a];
    encode_varint(u64::from(length) - 5, &mut message);
    assert_eq!(message.len(), 5, "of lengths from 2 MiB on");
    message.resize(usize::try_from(length).unwrap(), 0);
    message
}

/// Each of the messages is within the limit.
#[tokio::test]
async fn messages_behind_the_first_count_into_its_size() {
    const LENGTH: u32 = 33 * 1024 * 1024;
    let message = unknown(LENGTH);
    let second = [&[0_u8][..], &LENGTH.to_be_bytes(), &message].concat();
    let why = failed(Raw::answering(LENGTH, &[message, second].concat())).await;
    assert_eq!(
        why,
        "unusable response: it is larger than 67108864 bytes: compose fewer or smaller resources"
    );
}

#[tokio::test]
async fn more_large_responses_than_are_read_at_once_all_come_out() {
    const LENGTH: u32 = 3 * 1024 * 1024;
    let raw = Raw::answering(LENGTH, &unknown(LENGTH));
    let client = Arc::new(client(&raw.endpoint));
    let mut runs = JoinSet::new();
    for _ in 0..20 {
        let client = Arc::clone(&client);
        runs.spawn(async move { run(&client, &RunRequest::default()).await });
    }
    for response in runs.join_all().await {
        response.unwrap();
    }
}

#[tokio::test]
async fn a_response_of_20000_empty_conditions_is_not_decoded() {
    let why = failed(Raw::answering(40_000, &[0x32, 0].repeat(20_000))).await;
    assert_eq!(
        why,
        "unusable response: it returned more than 10000 conditions: return fewer"
    );
}

#[tokio::test]
async fn a_response_that_is_no_message_is_rejected() {
    let why = failed(Raw::answering(3, &[0xff; 3])).await;
    assert!(
        why.starts_with("unusable response: it does not decode as a RunFunctionResponse: "),
        "{why}"
    );
}

/// `desired.composite.resource` has an entry without a value.
#[tokio::test]
async fn a_broken_object_in_a_response_is_named_by_its_place() {
    let desired = [0x12, 0x06, 0x0a, 0x04, 0x0a, 0x02, 0x0a, 0x00];
    let why = failed(Raw::answering(8, &desired)).await;
    assert_eq!(
        why,
        "unusable response: desired.composite: has no value, not even null"
    );
}

#[tokio::test]
async fn a_request_beyond_64_mib_is_not_sent() {
    let host = Host::unix(Version::V1);
    let request = |bytes: usize| RunRequest {
        observed: Arc::new(Observed {
            composite: Resource::of(json!({"data": "x".repeat(bytes)})),
            ..Observed::default()
        }),
        ..RunRequest::default()
    };
    host.run(&request(MAX_MESSAGE_BYTES - 1024)).await.unwrap();
    let error = host.run(&request(MAX_MESSAGE_BYTES)).await.unwrap_err();
    assert!(
        matches!(error, FunctionFailure::TooLarge { size, limit: MAX_MESSAGE_BYTES } if size > MAX_MESSAGE_BYTES),
        "{error:?}"
    );
    assert_eq!(host.function.received().len(), 1);
}
