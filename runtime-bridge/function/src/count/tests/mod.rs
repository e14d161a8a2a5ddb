mod contract;
mod decoded;

use bridge_core::function::FunctionFailure;
use function_proto::{Struct, v1 as wire};
use prost::{Message, encoding::encode_varint};
use serde_json::json;
use tonic::Code;

use super::*;
use crate::failure;

fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut field = vec![(number << 3) | 2];
    encode_varint(content.len() as u64, &mut field);
    field.extend_from_slice(content);
    field
}

/// `desired.composite.resource` with this encoding.
fn desiring(object: &[u8]) -> Vec<u8> {
    field(2, &field(1, &field(1, object)))
}

/// `{"": value}`
fn entry(value: &[u8]) -> Vec<u8> {
    field(1, &field(2, value))
}

fn list(items: &[u8]) -> Vec<u8> {
    field(6, items)
}

fn counted(response: &[u8]) -> Result<Left, Rejected> {
    let mut left = Left::ALL;
    take(response, &RESPONSE, 0, &mut left).map(|()| left)
}

/// What a run says of it.
fn failed(response: &[u8]) -> String {
    let status = Status::from(check(response).unwrap_err());
    assert_eq!(status.code(), Code::OutOfRange);
    failure::of_status(&status, FunctionFailure::OutOfTime).to_string()
}

fn resource(nth: usize) -> wire::Resource {
    let containers = json!([
        {"name": "a", "image": "a:1", "args": ["--a", "--b", {}, [], [null]], "ports": [{"port": 80}]},
        {"name": "b", "image": "b:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
    ]);
    let object = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": format!("app-{nth}"), "labels": {"app": "a", "tier": "b", "team": "c"}},
        "spec": {"replicas": 3, "template": {"spec": {"containers": containers}}},
    });
    let details = ["user", "password"].map(|name| (name.to_owned(), vec![0xff, 0]));
    wire::Resource {
        resource: Some(Struct::from_json(&object).unwrap()),
        connection_details: details.into(),
        ready: 1,
    }
}

/// With something in each field.
fn response(resources: usize) -> wire::RunFunctionResponse {
    let selector = wire::ResourceSelector {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        r#match: Some(wire::resource_selector::Match::MatchLabels(wire::MatchLabels {
            labels: [("app".to_owned(), "a".to_owned())].into(),
        })),
        namespace: Some("default".to_owned()),
    };
    let resources = (0..resources).map(|nth| (format!("resource-{nth}"), resource(nth)));
    wire::RunFunctionResponse {
        meta: Some(wire::ResponseMeta::default()),
        desired: Some(wire::State {
            composite: Some(resource(0)),
            resources: resources.collect(),
        }),
        results: vec![wire::Result::default(); 3],
        context: Some(Struct::from_json(&json!({"environment": {"a": [1, 2, {"b": true}]}})).unwrap()),
        requirements: Some(wire::Requirements {
            resources: [("some".to_owned(), selector)].into(),
            ..wire::Requirements::default()
        }),
        conditions: vec![wire::Condition::default(); 2],
        output: Some(Struct::from_json(&json!({"anything": [1, 2, 3]})).unwrap()),
    }
}

#[test]
fn empty_messages_are_rejected_by_their_number() {
    let empty = |number: u8, times: usize| field(number, &[]).repeat(times);
    let requirements = [empty(1, 5_000), empty(2, 5_000), empty(3, 1)].concat();
    for (response, why) in [
        (
            empty(3, 20_000),
            "it returned more than 10000 results: return fewer",
        ),
        (
            empty(6, 20_000),
            "it returned more than 10000 conditions: return fewer",
        ),
        (
            field(5, &requirements),
            "it requires more than 10000 selections of resources and schemas: require fewer",
        ),
    ] {
        assert_eq!(failed(&response), format!("unusable response: {why}"));
    }
    assert_eq!(check(&empty(6, 10_000)), Ok(()));
    assert_eq!(check(&empty(6, 10_001)), Err(Rejected::Conditions));
    assert_eq!(check(&[empty(3, 10_000), empty(6, 10_000)].concat()), Ok(()));
}

#[test]
fn empty_values_in_a_list_are_rejected_by_their_number() {
    let values = desiring(&entry(&list(&field(1, &[]).repeat(5 << 20))));
    assert_eq!(
        failed(&values),
        "unusable response: it returned more than 4194304 values: return less"
    );
}

#[test]
fn objects_lists_and_map_entries_are_rejected_by_their_number() {
    let many = 600 << 10;
    let objects = field(1, &field(5, &[])).repeat(many);
    let lists = field(1, &list(&[])).repeat(many);
    let details = field(2, &field(1, b"name")).repeat(many);
    let labels = field(1, &[]).repeat(many);
    for response in [
        field(4, &entry(&list(&objects))),
        desiring(&entry(&list(&lists))),
        field(2, &field(1, &details)),
        field(2, &field(2, &[]).repeat(many)),
        field(5, &field(2, &field(2, &field(4, &labels)))),
    ] {
        assert_eq!(
            failed(&response),
            "unusable response: it returned more than 524288 objects, lists and connection details: return less"
        );
    }
}

#[test]
fn a_response_of_2000_resources_is_decoded() {
    let encoded = response(2_000).encode_to_vec();
    assert!(encoded.len() > 2 * ENTRIES, "it is counted");
    assert_eq!(check(&encoded), Ok(()));
}

#[test]
fn texts_and_what_nobody_reads_are_not_counted() {
    let text = field(3, &[]).repeat(20_000);
    let meta = field(1, &field(1, &text));
    let result = field(3, &field(2, &text));
    let output = field(7, &text);
    let unknown = field(15, &text);
    let group = [&[0x7b_u8][..], &text, &field(2, &[0xff]), &[0x7c]].concat();
    let value = desiring(&entry(&field(3, &text)));
    let left = counted(&[meta, result, output, unknown, group, value].concat());
    let expected = Left {
        values: VALUES - 1,
        objects: OBJECTS - 1,
        results: ENTRIES - 1,
        ..Left::ALL
    };
    assert_eq!(left, Ok(expected));
}

/// prost reads what lies in it, far beyond the end of `desired`, before it sees that.
#[test]
fn a_message_that_ends_within_a_field_is_rejected() {
    let resource = field(2, &field(2, &field(2, &[]).repeat(20_000)));
    let response = [&[0x12_u8, 1][..], &resource].concat();
    assert!(wire::RunFunctionResponse::decode(response.as_slice()).is_err());
    assert_eq!(
        failed(&response),
        "unusable response: it does not decode as a RunFunctionResponse: one of its fields is malformed"
    );
}

/// prost keeps it as it is, and decodes the rest.
#[test]
fn a_malformed_object_does_not_end_the_count() {
    let object = desiring(&field(1, &[0xff]));
    assert!(wire::RunFunctionResponse::decode(object.as_slice()).is_ok());
    let response = [object, field(6, &[]).repeat(20_000)].concat();
    assert_eq!(check(&response), Err(Rejected::Conditions));
}
