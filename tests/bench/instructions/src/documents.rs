//! What the paths work on.

use std::{sync::Arc, time::Duration};

use bridge_core::{
    external::Document,
    kind::{Capabilities, CreateRecovery, DiffMode, Kind, NameRules, NameSource, ResourceType, Timeouts},
};
use bridge_engine::object::ApiType;
use serde_json::{Map, Value, json};

/// Its namespace.
pub const NAMESPACE: &str = "default";

/// A kind whose names the user gives, with a marker.
pub fn kind() -> Kind {
    Kind {
        resource_type: ResourceType {
            group: "example.org".to_owned(),
            version: "v1".to_owned(),
            kind: "Bucket".to_owned(),
        },
        plural: "buckets".to_owned(),
        singular: "bucket".to_owned(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        description: String::new(),
        parameters_schema: schema(),
        status_schema: json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        printer_columns: Vec::new(),
        capabilities: Capabilities {
            can_create: true,
            can_update: true,
            can_delete: true,
            create_recovery: vec![CreateRecovery::Marker, CreateRecovery::DeterministicName],
            token_retention: Duration::ZERO,
            consistency_window: Duration::ZERO,
            holds_marker: true,
            diff_mode: DiffMode::Bridge,
            concurrent_update: false,
            delete_during_create: false,
            rate_limit_group: "Bucket".to_owned(),
            late_margin: Duration::ZERO,
            visible_when_accepted: true,
        },
        external_name: NameRules {
            source: NameSource::User,
            pattern: String::new(),
            max_length: 0,
            example: String::new(),
        },
        field_rules: Vec::new(),
        connection_keys: Vec::new(),
        timeouts: Timeouts {
            call: Duration::from_secs(10),
            create: None,
            update: None,
            delete: None,
        },
        examples: Vec::new(),
        list_filter_schema: None,
        digest: String::new(),
    }
}

fn schema() -> Value {
    let text = json!({"type": "string"});
    let rule = json!({"type": "object", "properties": {
        "id": text, "enabled": {"type": "boolean"}, "days": {"type": "integer"}, "prefix": text,
        "tags": {"type": "object", "additionalProperties": text},
    }});
    json!({"type": "object", "properties": {
        "region": text,
        "size": {"type": "integer"},
        "tags": {"type": "object", "additionalProperties": text},
        "rules": {"type": "array", "items": rule, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["id"]},
        "origins": {"type": "array", "items": text},
    }})
}

fn parameters(rules: u32) -> Document {
    let rule = |i: u32| {
        json!({
            "id": format!("rule-{i}"), "enabled": i.is_multiple_of(2), "days": i * 10, "prefix": format!("logs/of/the/service-{i}/"),
            "tags": {"team": format!("team-{i}"), "stage": "production"},
        })
    };
    let rules: Vec<Value> = (0..rules).map(rule).collect();
    let Value::Object(parameters) = json!({
        "region": "eu-central-1",
        "size": 100,
        "tags": {"team": "storage", "stage": "production", "cost-center": "4711"},
        "rules": rules,
        "origins": ["https://one.example.org", "https://two.example.org", "https://three.example.org"],
    }) else {
        return Map::new();
    };
    parameters
}

/// Parameters of 4 KB.
pub fn large_parameters() -> Document {
    parameters(30)
}

/// How its objects are addressed.
pub fn api() -> Arc<ApiType> {
    let kind = kind();
    Arc::new(ApiType::new(&kind.resource_type, &kind.plural, kind.namespaced))
}

/// As a user creates it, and the API server stores it.
pub fn created(name: &str, version: &str) -> Value {
    json!({
        "apiVersion": "example.org/v1",
        "kind": "Bucket",
        "metadata": {
            "name": name, "namespace": NAMESPACE, "uid": format!("0f0d3b5e-9f3c-4f0e-8a55-{name:0>12}"), "resourceVersion": version,
            "generation": 1, "creationTimestamp": "2026-11-21T12:00:00Z",
            "labels": {"app.kubernetes.io/name": "shop", "app.kubernetes.io/part-of": "storage"},
            "annotations": {"example.org/owner": "team-storage@example.org"},
            "managedFields": managed_fields(),
        },
        "spec": {
            "deletionPolicy": "Delete",
            "managementPolicies": ["*"],
            "providerConfigRef": {"kind": "ProviderConfig", "name": "default"},
            "forProvider": parameters(4),
        },
    })
}

/// Likewise, after the bridge has made it Ready: 3.5 KB.
pub fn ready(name: &str, version: &str) -> Value {
    let mut object = created(name, version);
    object["metadata"]["finalizers"] = json!(["finalizer.managedresource.crossplane.io"]);
    object["metadata"]["annotations"]["crossplane.io/external-name"] = name.into();
    let record = json!({"version": 1, "uid": "0f0d3b5e-9f3c-4f0e-8a55-000000000001", "externalName": name, "confirmed": true});
    object["metadata"]["annotations"]["crossbridge.dev/record"] = record.to_string().into();
    let condition = |kind: &str, reason: &str| {
        json!({
            "type": kind, "status": "True", "reason": reason, "lastTransitionTime": "2026-11-21T12:00:01Z", "observedGeneration": 1,
        })
    };
    object["status"] = json!({
        "observedGeneration": 1,
        "atProvider": {"arn": format!("arn:example:{name}"), "region": "eu-central-1", "size": 100},
        "conditions": [condition("Ready", "Available"), condition("Synced", "ReconcileSuccess")],
    });
    object
}

fn managed_fields() -> Value {
    let leaf = || json!({});
    json!([
        {"manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "example.org/v1", "time": "2026-11-21T12:00:00Z",
         "fieldsType": "FieldsV1", "fieldsV1": {
            "f:metadata": {"f:annotations": {".": leaf(), "f:example.org/owner": leaf()}, "f:labels": {
                ".": leaf(), "f:app.kubernetes.io/name": leaf(), "f:app.kubernetes.io/part-of": leaf()}},
            "f:spec": {".": leaf(), "f:deletionPolicy": leaf(), "f:managementPolicies": leaf(),
                "f:forProvider": {".": leaf(), "f:region": leaf(), "f:size": leaf(), "f:tags": {
                    ".": leaf(), "f:cost-center": leaf(), "f:stage": leaf(), "f:team": leaf()}, "f:rules": leaf(), "f:origins": leaf()},
                "f:providerConfigRef": {".": leaf(), "f:kind": leaf(), "f:name": leaf()}}}},
        {"manager": "crossbridge.dev-bridge", "operation": "Update", "apiVersion": "example.org/v1", "time": "2026-11-21T12:00:01Z",
         "fieldsType": "FieldsV1", "fieldsV1": {"f:metadata": {
            "f:annotations": {"f:crossbridge.dev/record": leaf(), "f:crossplane.io/external-name": leaf()},
            "f:finalizers": {".": leaf(), "v:\"finalizer.managedresource.crossplane.io\"": leaf()}}}},
        {"manager": "crossbridge.dev-bridge", "operation": "Update", "apiVersion": "example.org/v1", "time": "2026-11-21T12:00:01Z",
         "fieldsType": "FieldsV1", "subresource": "status", "fieldsV1": {"f:status": {
            ".": leaf(), "f:atProvider": {".": leaf(), "f:arn": leaf(), "f:region": leaf(), "f:size": leaf()}, "f:conditions": {
                ".": leaf(), "k:{\"type\":\"Ready\"}": {".": leaf(), "f:lastTransitionTime": leaf(), "f:observedGeneration": leaf(),
                    "f:reason": leaf(), "f:status": leaf(), "f:type": leaf()},
                "k:{\"type\":\"Synced\"}": {".": leaf(), "f:lastTransitionTime": leaf(), "f:observedGeneration": leaf(),
                    "f:reason": leaf(), "f:status": leaf(), "f:type": leaf()}}, "f:observedGeneration": leaf()}}},
    ])
}
