//! The kinds: one for each way of naming and of recovering.

use std::collections::BTreeMap;

use crossbridge_proto::v1alpha1::{self as wire, CreateRecovery, DiffMode, ExternalNameSource, Mutability};
use crossbridge_types::Document;
use prost_types::Duration;
use serde_json::{Value, json};

use crate::faults::Faults;

pub const GROUP: &str = "reference.example.org";
pub const VERSION: &str = "v1";

/// Beyond what a double holds.
const BIG: u64 = 9_007_199_254_740_993;

/// What reports one kind from another.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools)] // As the contract's own.
pub struct Spec {
    pub kind: &'static str,
    pub source: ExternalNameSource,
    pub recovery: &'static [CreateRecovery],
    pub is_asynchronous: bool,
    /// Takes an Update or a Delete while an operation runs.
    pub overlaps: bool,
    pub plugin_compares: bool,
    pub holds_marker: bool,
    pub has_etag: bool,
    pub can_update: bool,
}

/// In the order of their names.
pub const ALL: [Spec; 6] = [
    Spec {
        kind: "Disk",
        source: ExternalNameSource::Provider,
        recovery: &[CreateRecovery::ClientToken, CreateRecovery::Marker],
        is_asynchronous: true,
        overlaps: true,
        plugin_compares: false,
        holds_marker: true,
        has_etag: false,
        can_update: true,
    },
    Spec {
        kind: "Draw",
        source: ExternalNameSource::Provider,
        recovery: &[CreateRecovery::None],
        is_asynchronous: false,
        overlaps: false,
        plugin_compares: false,
        holds_marker: false,
        has_etag: false,
        can_update: false,
    },
    Spec {
        kind: "Note",
        source: ExternalNameSource::User,
        recovery: &[CreateRecovery::DeterministicName],
        is_asynchronous: false,
        overlaps: false,
        plugin_compares: false,
        holds_marker: true,
        has_etag: true,
        can_update: true,
    },
    Spec {
        kind: "Record",
        source: ExternalNameSource::Derived,
        recovery: &[CreateRecovery::DeterministicName],
        is_asynchronous: false,
        overlaps: false,
        plugin_compares: false,
        holds_marker: false,
        has_etag: false,
        can_update: true,
    },
    Spec {
        kind: "Ticket",
        source: ExternalNameSource::Provider,
        recovery: &[CreateRecovery::Marker],
        is_asynchronous: false,
        overlaps: false,
        plugin_compares: false,
        holds_marker: true,
        has_etag: false,
        can_update: true,
    },
    Spec {
        kind: "Volume",
        source: ExternalNameSource::Provider,
        recovery: &[CreateRecovery::ClientToken],
        is_asynchronous: true,
        overlaps: false,
        plugin_compares: true,
        holds_marker: true,
        has_etag: false,
        can_update: true,
    },
];

pub fn find(resource_type: &wire::ResourceType) -> Option<&'static Spec> {
    ALL.iter().find(|spec| {
        resource_type.group == GROUP && resource_type.version == VERSION && resource_type.kind == spec.kind
    })
}

impl Spec {
    pub fn finds_by_marker(&self) -> bool {
        self.recovery.contains(&CreateRecovery::Marker)
    }

    pub fn honors_tokens(&self) -> bool {
        self.recovery.contains(&CreateRecovery::ClientToken)
    }

    pub fn resource_type(&self) -> wire::ResourceType {
        wire::ResourceType {
            group: GROUP.to_owned(),
            version: VERSION.to_owned(),
            kind: self.kind.to_owned(),
        }
    }

    /// A new name, where the upstream gives it.
    pub fn generate_name(&self) -> String {
        let id = uuid::Uuid::new_v4().simple().to_string();
        format!("{}-{}", self.kind.to_lowercase(), &id[..12])
    }

    pub fn derive_name(desired: &Document) -> String {
        let text = desired.get("text").and_then(Value::as_str).unwrap_or_default();
        format!("record-{text}")
    }

    /// How the kind is published.
    pub fn published(&self, faults: &Faults) -> wire::ResourceKind {
        let is = |id: &str, kind: &str| faults.on(id) && self.kind == kind;
        let plural = if is("kinds/well-formed", "Record") {
            String::new()
        } else {
            format!("{}s", self.kind.to_lowercase())
        };
        let status = if is("kinds/schemas-structural", "Record") {
            json!({"type": "object", "properties": {"bytes": {}}})
        } else {
            json!({"type": "object", "properties": {"bytes": {"type": "integer"}, "note": {"type": "string"}}})
        };
        wire::ResourceKind {
            resource_type: Some(self.resource_type()),
            plural,
            namespaced: true,
            parameters_schema_json: json!({
                "type": "object",
                "properties": {
                    "text": {"type": "string"},
                    "size": {"type": "integer", "format": "int64"},
                    "color": {"type": "string", "enum": ["red", "blue"]},
                    "flat": {"type": "boolean"},
                    "secret": {"type": "string"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["text"],
            })
            .to_string(),
            status_schema_json: status.to_string(),
            capabilities: Some(self.capabilities()),
            external_name: Some(self.names(faults)),
            field_rules: vec![
                immutable("/color"),
                immutable("/flat"),
                wire::FieldRule {
                    path: "/secret".to_owned(),
                    sensitive: true,
                    ..Default::default()
                },
            ],
            connection_keys: vec![wire::ConnectionKey {
                name: "secret".to_owned(),
                ..Default::default()
            }],
            timeouts: Some(wire::Timeouts {
                call_timeout: Some(seconds(20)),
                ..Default::default()
            }),
            examples: self.examples(faults),
            ..Default::default()
        }
    }

    fn capabilities(&self) -> wire::KindCapabilities {
        let mode = if self.plugin_compares {
            DiffMode::Plugin
        } else {
            DiffMode::Bridge
        };
        wire::KindCapabilities {
            can_create: true,
            can_update: self.can_update,
            can_delete: true,
            create_recovery: self.recovery.iter().copied().map(Into::into).collect(),
            token_retention: self.honors_tokens().then(|| seconds(315_576_000_000)),
            concurrent_update: self.overlaps,
            delete_during_create: self.overlaps,
            holds_marker: self.holds_marker,
            visible_when_accepted: true,
            diff_mode: mode.into(),
            ..Default::default()
        }
    }

    fn names(&self, faults: &Faults) -> wire::ExternalNameRules {
        let is = |id: &str| faults.on(id) && self.kind == "Note";
        let example = match self.source {
            ExternalNameSource::User if is("examples/names-valid") => "NOT VALID".to_owned(),
            ExternalNameSource::User => "my-note".to_owned(),
            ExternalNameSource::Derived => "record-abc".to_owned(),
            _ => format!("{}-0a1b2c3d4e5f", self.kind.to_lowercase()),
        };
        wire::ExternalNameRules {
            source: self.source.into(),
            pattern: if is("examples/name-pattern") {
                "(?=a)b".to_owned()
            } else {
                "[a-z0-9-]+".to_owned()
            },
            max_length: 40,
            example,
        }
    }

    fn examples(&self, faults: &Faults) -> Vec<wire::KindExample> {
        let plain = self.example(faults);
        if !faults.on("kinds/total") {
            return vec![plain];
        }
        // Of six kinds in three documents each.
        let large = |parameters: &mut Option<wire::Document>| {
            let mut value: Value = parameters
                .as_ref()
                .and_then(|document| serde_json::from_str(&document.json).ok())
                .unwrap_or_default();
            value["tags"] = vec!["a"; 30_000].into();
            *parameters = Some(document(&value));
        };
        let mut ballast = plain.clone();
        "ballast".clone_into(&mut ballast.name);
        large(&mut ballast.create_parameters);
        large(&mut ballast.update_parameters);
        large(&mut ballast.invalid_parameters);
        vec![plain, ballast]
    }

    fn example(&self, faults: &Faults) -> wire::KindExample {
        let is = |id: &str| faults.on(id) && self.kind == "Record";
        let invalid = if is("examples/valid") {
            json!({"text": "abc", "size": "x", "color": "red"})
        } else {
            json!({"text": "abc", "size": -1, "color": "red"})
        };
        let mut sensitive = BTreeMap::from([("/secret".to_owned(), "hush-hush-example".to_owned())]);
        if is("examples/secrets-outside-documents") {
            sensitive.insert("/text".to_owned(), "abc".to_owned());
        }
        wire::KindExample {
            name: "plain".to_owned(),
            external_name: if self.source == ExternalNameSource::User {
                "my-note".to_owned()
            } else {
                String::new()
            },
            create_parameters: Some(document(
                &json!({"text": "abc", "size": BIG, "color": "red", "flat": true, "tags": ["b", "a"]}),
            )),
            update_parameters: Some(document(
                &json!({"text": "abc", "size": 5, "color": "red", "flat": true, "tags": ["b", "a"]}),
            )),
            invalid_parameters: Some(document(&invalid)),
            sensitive_values: sensitive,
            requires: if is("examples/requirements-exist") {
                vec!["No one/none".to_owned()]
            } else {
                Vec::new()
            },
        }
    }
}

fn immutable(path: &str) -> wire::FieldRule {
    wire::FieldRule {
        path: path.to_owned(),
        mutability: Mutability::Immutable.into(),
        ..Default::default()
    }
}

pub fn document(value: &Value) -> wire::Document {
    wire::Document {
        json: value.to_string(),
    }
}

pub fn seconds(seconds: i64) -> Duration {
    Duration { seconds, nanos: 0 }
}
