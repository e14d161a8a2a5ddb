use std::collections::HashMap;

use super::refused;
use crossbridge_types::{Call, List, Observe, Verb, Violation};
use jiff::Timestamp;

use crate::v1alpha1 as wire;

pub(super) fn resource_type() -> wire::ResourceType {
    wire::ResourceType {
        group: "files.example.org".to_owned(),
        version: "v1alpha1".to_owned(),
        kind: "File".to_owned(),
    }
}

pub(super) fn config() -> wire::ConfigContext {
    wire::ConfigContext {
        config_id: "default".to_owned(),
        revision: "1".to_owned(),
        settings: Some(document(r#"{"folder": "/tmp"}"#)),
        credentials: HashMap::from([("key".to_owned(), b"value".to_vec())]),
        credentials_expire_time: Some(prost_types::Timestamp {
            seconds: 1_800_000_000,
            nanos: 5,
        }),
    }
}

pub(super) fn document(json: &str) -> wire::Document {
    wire::Document {
        json: json.to_owned(),
    }
}

fn target() -> wire::Target {
    wire::Target {
        resource_type: Some(resource_type()),
        config: Some(config()),
        owner: Some(wire::ObjectRef {
            namespace: "shop".to_owned(),
            name: "notes".to_owned(),
            uid: "u-1".to_owned(),
            generation: 3,
        }),
        external_name: "notes.txt".to_owned(),
        ownership_marker: "cb-1234".to_owned(),
        former_marker: "cb-1233".to_owned(),
        provider_state: "state".to_owned(),
    }
}

fn desired() -> wire::DesiredState {
    wire::DesiredState {
        parameters: Some(document(r#"{"big": 9007199254740993}"#)),
        sensitive_values: HashMap::from([("/password".to_owned(), "secret".to_owned())]),
    }
}

fn observe() -> wire::ObserveRequest {
    wire::ObserveRequest {
        target: Some(target()),
        desired: Some(desired()),
    }
}

fn target_of(request: &mut wire::ObserveRequest) -> &mut wire::Target {
    request.target.as_mut().expect("a target")
}

fn config_of(request: &mut wire::ObserveRequest) -> &mut wire::ConfigContext {
    target_of(request).config.as_mut().expect("a config")
}

fn owner_of(request: &mut wire::ObserveRequest) -> &mut wire::ObjectRef {
    target_of(request).owner.as_mut().expect("an owner")
}

fn type_of(request: &mut wire::ObserveRequest) -> &mut wire::ResourceType {
    target_of(request).resource_type.as_mut().expect("a type")
}

#[test]
fn a_target_is_checked_to_its_leaves() {
    refused!(Observe, observe();
        "target": |request| request.target = None;
        "target.resource_type": |request| target_of(request).resource_type = None;
        "target.resource_type.group": |request| type_of(request).group = "Files".to_owned();
        "target.resource_type.version": |request| type_of(request).version.clear();
        "target.resource_type.kind": |request| type_of(request).kind = "file".to_owned();
        "target.config": |request| target_of(request).config = None;
        "target.config.config_id": |request| config_of(request).config_id.clear();
        "target.config.revision": |request| config_of(request).revision.clear();
        "target.config.settings.json": |request| config_of(request).settings = Some(document("[1]"));
        "target.config.credentials_expire_time": |request| {
            config_of(request).credentials_expire_time = Some(prost_types::Timestamp { seconds: i64::MIN, nanos: 0 });
        };
        "target.owner": |request| target_of(request).owner = None;
        "target.owner.name": |request| owner_of(request).name.clear();
        "target.owner.uid": |request| owner_of(request).uid.clear();
        "target.ownership_marker": |request| target_of(request).ownership_marker.clear();
        "target.ownership_marker": |request| target_of(request).ownership_marker = "1abc".to_owned();
        "target.ownership_marker": |request| target_of(request).ownership_marker = "a_b".to_owned();
        "target.ownership_marker": |request| target_of(request).ownership_marker = "a".repeat(64);
        "target.former_marker": |request| target_of(request).former_marker = "Marker".to_owned();
        "target.provider_state": |request| target_of(request).provider_state = "s".repeat(4097);
        "desired": |request| request.desired = None;
        "desired.parameters": |request| request.desired = Some(wire::DesiredState::default());
        "desired.parameters.json": |request| {
            request.desired = Some(wire::DesiredState { parameters: Some(document("")), ..Default::default() });
        };
        "desired.sensitive_values[\"password\"]": |request| {
            let values = &mut request.desired.as_mut().expect("a desired state").sensitive_values;
            values.insert("password".to_owned(), "secret".to_owned());
        };
    );
}

#[test]
fn limits_hold_to_the_byte() {
    let mut request = observe();
    target_of(&mut request).provider_state = "s".repeat(4096);
    target_of(&mut request).ownership_marker = "a".repeat(63);
    target_of(&mut request).former_marker.clear();
    target_of(&mut request).external_name.clear();
    Observe::try_from(request).expect("limits are allowed");
}

#[test]
fn a_sentence_names_field_and_limit_and_quotes_no_document() {
    let (_, sentence) = super::refusal::<_, Observe>(&observe(), |request| {
        target_of(request).provider_state = "s".repeat(5000);
    });
    assert_eq!(
        sentence,
        "target.provider_state has 5000 bytes; at most 4096 are allowed"
    );

    let (_, sentence) = super::refusal::<_, Observe>(&observe(), |request| {
        config_of(request).settings = Some(document(r#""canary""#));
    });
    assert!(!sentence.contains("canary"), "{sentence}");
}

#[test]
fn create_needs_a_uuid_as_its_token() {
    let create = wire::CreateRequest {
        target: Some(target()),
        desired: Some(desired()),
        client_request_token: "123e4567-e89b-12d3-a456-426614174000".to_owned(),
        outcome_unknown: true,
    };
    refused!(Call, create;
        "target": |request| request.target = None;
        "desired": |request| request.desired = None;
        "client_request_token": |request| request.client_request_token.clear();
        "client_request_token": |request| request.client_request_token = "token".to_owned();
        "client_request_token": |request| request.client_request_token = "123e4567e89b12d3a456426614174000".to_owned();
    );
}

fn without_name() -> wire::Target {
    wire::Target {
        external_name: String::new(),
        ..target()
    }
}

#[test]
fn update_and_delete_need_a_name() {
    let update = wire::UpdateRequest {
        target: Some(target()),
        desired: Some(desired()),
        changed_paths: vec!["/a/b".to_owned()],
        etag: "7".to_owned(),
    };
    refused!(Call, update;
        "target.external_name": |request| request.target = Some(without_name());
        "desired": |request| request.desired = None;
        "changed_paths[1]": |request| request.changed_paths.push("b".to_owned());
    );

    let delete = wire::DeleteRequest {
        target: Some(target()),
        desired: None,
        etag: String::new(),
    };
    refused!(Call, delete;
        "target.external_name": |request| request.target = Some(without_name());
        "desired.parameters": |request| request.desired = Some(wire::DesiredState::default());
    );
}

#[test]
fn poll_needs_a_handle_of_at_most_4_kib() {
    let poll = wire::PollOperationRequest {
        target: Some(without_name()),
        handle: "h".repeat(4096),
        desired: Some(desired()),
    };
    refused!(Call, poll;
        "target": |request| request.target = None;
        "handle": |request| request.handle.clear();
        "handle": |request| request.handle.push('h');
    );
}

#[test]
fn a_list_is_checked() {
    let list = wire::ListExternalRequest {
        resource_type: Some(resource_type()),
        config: Some(config()),
        page_size: 10,
        ..Default::default()
    };
    refused!(List, list;
        "resource_type": |request| request.resource_type = None;
        "config": |request| request.config = None;
        "page_size": |request| request.page_size = -1;
        "filter.json": |request| request.filter = Some(document("nothing"));
    );
}

#[test]
fn requests_survive_a_round_trip() -> Result<(), Violation> {
    let there = Observe::try_from(observe())?;
    assert_eq!(there.desired.parameters["big"], 9_007_199_254_740_993_u64);
    let back = wire::ObserveRequest::of(&there.target, &there.desired)?;
    assert_eq!(Observe::try_from(back)?, there);

    let update = Call {
        changed_paths: vec!["/a".to_owned()],
        etag: "7".to_owned(),
        ..Call::new(
            Verb::Update,
            there.target.clone(),
            there.desired.clone(),
            Timestamp::MAX,
        )
    };
    assert_eq!(Call::try_from(wire::UpdateRequest::try_from(&update)?)?, update);
    let poll = Call {
        handle: "h".to_owned(),
        ..Call::new(Verb::Poll, there.target, there.desired, Timestamp::MAX)
    };
    assert_eq!(
        Call::try_from(wire::PollOperationRequest::try_from(&poll)?)?,
        poll
    );
    Ok(())
}
