#![allow(clippy::needless_raw_string_hashes)] // As expect-test writes them.

use bridge_core::kind::ResourceType;
use bridge_engine::object::ApiType;
use serde_json::{Value, json};

use super::*;
use crate::{admin::Planned, trace::view::View};

const NOW: &str = "2026-01-01T00:01:00Z";
const RECORD: &str = r#"{"uid":"u","externalName":"three-men","intent":{"verb":"Create","token":"t","attempt":0,"generation":1,
  "parameters":{"whole":{"pages":3}},"startedAt":"2026-01-01T00:00:50Z","deadline":"2026-01-01T00:01:20Z",
  "operation":{"handle":"create/3/three-men","attempt":0,"pollDriven":true}},"config":{"id":"c","identity":"/press"},"pluginVersion":"0.1.0"}"#;

fn now() -> Timestamp {
    NOW.parse().expect("a time")
}

fn object(kind: &str, value: &Value) -> Object {
    let resource = ResourceType {
        group: "press.example.org".to_owned(),
        version: "v1alpha1".to_owned(),
        kind: kind.to_owned(),
    };
    let api = Arc::new(ApiType::new(&resource, "things", true));
    Object::decode(&api, &value.to_string()).expect("an object")
}

fn book(annotations: &Value, status: &Value) -> Object {
    let metadata = json!({
        "name": "jerome", "namespace": "default", "uid": "u", "resourceVersion": "1", "generation": 2, "annotations": annotations
    });
    let value = json!({
        "apiVersion": "press.example.org/v1alpha1", "kind": "Book", "metadata": metadata, "spec": {}, "status": status
    });
    object("Book", &value)
}

fn config(status: &Value) -> Reference {
    let metadata = json!({ "name": "default", "namespace": "default", "uid": "c", "resourceVersion": "1" });
    let value = json!({
        "apiVersion": "press.example.org/v1alpha1", "kind": "ProviderConfig", "metadata": metadata, "status": status
    });
    Reference {
        kind: "ProviderConfig".to_owned(),
        namespace: Some("default".to_owned()),
        name: "default".to_owned(),
        object: Ok(Some(Arc::new(object("ProviderConfig", &value)))),
    }
}

fn condition(kind: &str, status: &str, reason: &str, message: &str, generation: i64) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": "2026-01-01T00:00:30Z", "observedGeneration": generation
    })
}

/// A book that is being printed.
fn printing() -> Facts {
    let conditions = [
        condition("Ready", "False", "Creating", "it is being printed", 2),
        condition("Synced", "True", "ReconcileSuccess", "", 1),
    ];
    let operation =
        json!({ "verb": "Create", "phase": "Printing", "progress": 33, "since": "2026-01-01T00:00:55Z" });
    Facts {
        now: now(),
        object: book(
            &json!({ "crossplane.io/external-name": "three-men", "crossbridge.dev/record": RECORD }),
            &json!({ "conditions": conditions, "crossbridge": { "operation": operation } }),
        ),
        config: config(
            &json!({ "conditions": [condition("Ready", "True", "Usable", "authenticated as /press", 0)] }),
        ),
        secrets: vec![Secret {
            field: "forProvider.inkSecretRef".to_owned(),
            namespace: "default".to_owned(),
            name: "ink".to_owned(),
            state: "key \"blue\"".to_owned(),
        }],
        seen: Ok(Seen {
            composition: None,
            planned: Some(Planned {
                next: Some("2026-01-01T00:01:00.2Z".parse().expect("a time")),
                purpose: Some(Priority::OperationPoll),
                running: false,
            }),
            calls: vec![
                RecentCall {
                    ended: "2026-01-01T00:00:50Z".parse().expect("a time"),
                    method: "Create".to_owned(),
                    code: "OK".to_owned(),
                    described: "operation Printing 33 %".to_owned(),
                    milliseconds: 12,
                },
                RecentCall {
                    ended: "2026-01-01T00:00:59.5Z".parse().expect("a time"),
                    method: "PollOperation".to_owned(),
                    code: "UNAVAILABLE".to_owned(),
                    described: "outcome unknown: UNAVAILABLE".to_owned(),
                    milliseconds: 3,
                },
            ],
        }),
    }
}

#[test]
fn a_trace_shows_all_facts_of_a_creation() {
    let facts = printing();
    expect_test::expect![[r#"
        Book default/jerome (press.example.org/v1alpha1, generation 2)
        ├─ conditions
        │  ├─ Ready=False (Creating), since 30s ago: it is being printed
        │  └─ Synced=True (ReconcileSuccess), since 30s ago [of generation 1]
        ├─ external name: three-men
        ├─ record
        │  ├─ name: three-men (sent)
        │  ├─ unresolved Create, attempt 0, begun 10s ago, deadline in 20s
        │  │  ├─ token: t
        │  │  ├─ sent: {"pages":3}
        │  │  └─ answered by the operation create/3/three-men, moves only when polled
        │  └─ called as /press, plugin version 0.1.0
        ├─ operation: Create, Printing, 33 %, since 5s ago
        ├─ refers to
        │  ├─ ProviderConfig default/default
        │  │  └─ Ready=True (Usable): authenticated as /press
        │  └─ Secret default/ink (forProvider.inkSecretRef): key "blue"
        ├─ last calls
        │  ├─ Create, 10s ago, 12 ms: operation Printing 33 %
        │  └─ PollOperation, 500ms ago, 3 ms: outcome unknown: UNAVAILABLE [UNAVAILABLE]
        ├─ waits for: the operation that it began: Create
        └─ next: the operation is polled in 200ms
    "#]]
    .assert_eq(&facts.tree().to_string());
}

#[test]
fn facts_are_fields_in_json() {
    let changed = "2026-01-01T00:00:30Z";
    let expected = json!({
        "object": {
            "kind": "Book", "apiVersion": "press.example.org/v1alpha1", "namespace": "default", "name": "jerome", "generation": 2
        },
        "conditions": [
            { "type": "Ready", "status": "False", "reason": "Creating", "message": "it is being printed",
              "lastTransitionTime": changed, "observedGeneration": 2 },
            { "type": "Synced", "status": "True", "reason": "ReconcileSuccess", "lastTransitionTime": changed, "observedGeneration": 1 },
        ],
        "externalName": "three-men",
        "record": {
            "name": "three-men", "how": "sent", "nameConflict": false, "identity": "/press", "pluginVersion": "0.1.0",
            "intent": {
                "completed": false, "verb": "Create", "token": "t", "attempt": 0, "generation": 1,
                "parameters": { "whole": { "pages": 3 } },
                "startedAt": "2026-01-01T00:00:50Z", "deadline": "2026-01-01T00:01:20Z",
                "operation": { "handle": "create/3/three-men", "attempt": 0, "pollDriven": true },
            },
        },
        "operation": { "verb": "Create", "phase": "Printing", "progress": 33, "since": "2026-01-01T00:00:55Z" },
        "references": {
            "config": {
                "kind": "ProviderConfig", "namespace": "default", "name": "default", "exists": true,
                "conditions": [
                    { "type": "Ready", "status": "True", "reason": "Usable", "message": "authenticated as /press", "lastTransitionTime": changed },
                ],
            },
            "secrets": [
                { "field": "forProvider.inkSecretRef", "namespace": "default", "name": "ink", "state": "key \"blue\"" },
            ],
        },
        "calls": [
            { "ended": "2026-01-01T00:00:50Z", "method": "Create", "code": "OK", "described": "operation Printing 33 %", "milliseconds": 12 },
            { "ended": "2026-01-01T00:00:59.5Z", "method": "PollOperation", "code": "UNAVAILABLE",
              "described": "outcome unknown: UNAVAILABLE", "milliseconds": 3 },
        ],
        "waitsFor": "the operation that it began: Create",
        "next": { "running": false, "purpose": "operation-poll", "time": "2026-01-01T00:01:00.2Z" },
    });
    let facts = printing();
    assert_eq!(serde_json::to_value(View::of(&facts)).expect("JSON"), expected);
}

/// An object of which nothing is known.
fn unknown() -> Facts {
    Facts {
        now: now(),
        object: book(&json!({}), &json!({})),
        config: Reference {
            kind: "ClusterProviderConfig".to_owned(),
            namespace: None,
            name: "default".to_owned(),
            object: Ok(None),
        },
        secrets: Vec::new(),
        seen: Err("no bridge answers at 127.0.0.1:8081".to_owned()),
    }
}

#[test]
fn missing_facts_are_named() {
    let facts = unknown();
    expect_test::expect![[r#"
        Book default/jerome (press.example.org/v1alpha1, generation 2)
        ├─ conditions: none yet
        ├─ external name: none yet
        ├─ record: none, nothing was ever sent
        ├─ operation: none
        ├─ refers to
        │  └─ ClusterProviderConfig default: does not exist
        ├─ last calls: unavailable: no bridge answers at 127.0.0.1:8081
        ├─ waits for: ClusterProviderConfig default to exist
        └─ next: unavailable: no bridge answers at 127.0.0.1:8081
    "#]]
    .assert_eq(&facts.tree().to_string());
    let expected = json!({
        "object": {
            "kind": "Book", "apiVersion": "press.example.org/v1alpha1", "namespace": "default", "name": "jerome", "generation": 2
        },
        "conditions": [],
        "externalName": null,
        "record": null,
        "operation": null,
        "references": {
            "config": { "kind": "ClusterProviderConfig", "name": "default", "exists": false, "conditions": [] },
            "secrets": [],
        },
        "calls": null,
        "waitsFor": "ClusterProviderConfig default to exist",
        "next": { "running": false, "purpose": null, "time": null, "unavailable": "no bridge answers at 127.0.0.1:8081" },
    });
    assert_eq!(serde_json::to_value(View::of(&facts)).expect("JSON"), expected);
}

#[test]
fn a_question_is_the_first_reason_to_wait() {
    let conditions = [condition(
        "Synced",
        "False",
        "CreateOutcomeUnknown",
        "it is not known whether it was created",
        2,
    )];
    let question = json!({ "id": "0badcafe", "token": "t" });
    let waits = |annotations: &Value, status: &Value| {
        let facts = Facts {
            now: now(),
            object: book(annotations, status),
            config: config(&json!({})),
            secrets: Vec::new(),
            seen: Ok(Seen::default()),
        };
        facts.waits_for(&Status::read(status.clone())).to_string()
    };
    let asked = json!({ "conditions": conditions, "crossbridge": { "question": question } });
    assert_eq!(
        waits(&json!({}), &asked),
        "waits for: an answer by the annotation crossbridge.dev/create-outcome to the question 0badcafe\n"
    );
    assert_eq!(
        waits(&json!({ "crossplane.io/paused": "true" }), &asked),
        "waits for: the annotation crossplane.io/paused to be removed\n"
    );
    let unasked = json!({ "conditions": conditions });
    assert_eq!(
        waits(&json!({}), &unasked),
        "waits for: it is not known whether it was created\n"
    );
    assert_eq!(
        waits(&json!({}), &json!({})),
        "waits for: the bridge to reconcile it\n"
    );
    let former = json!({ "conditions": [condition("Synced", "True", "ReconcileSuccess", "", 1)] });
    assert_eq!(
        waits(&json!({}), &former),
        "waits for: the bridge to reconcile it\n"
    );
    let synced = json!({ "conditions": [condition("Synced", "True", "ReconcileSuccess", "", 2)] });
    assert_eq!(waits(&json!({}), &synced), "waits for: nothing\n");
}

#[test]
fn a_create_that_the_status_confirms_is_completed() {
    let facts = Facts {
        now: now(),
        object: book(
            &json!({ "crossplane.io/external-name": "three-men", "crossbridge.dev/record": RECORD }),
            &json!({ "crossbridge": { "createToken": "t" } }),
        ),
        config: config(&json!({})),
        secrets: Vec::new(),
        seen: Ok(Seen::default()),
    };
    let tree = facts.tree().to_string();
    assert!(tree.contains("name: three-men (confirmed)"), "{tree}");
    assert!(tree.contains("last Create: completed, begun 10s ago"), "{tree}");
    assert!(!tree.contains("unresolved"), "{tree}");
}
