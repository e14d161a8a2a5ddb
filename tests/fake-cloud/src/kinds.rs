//! The kinds of this cloud: every way of naming, every recovery, every pace.

use std::time::Duration;

use crossbridge_proto::v1alpha1::{
    ConnectionKey, CreateRecovery, Document, ExternalNameRules, ExternalNameSource, FieldRule,
    KindCapabilities, KindExample, Mutability, PrinterColumn, ResourceKind, ResourceType, Timeouts,
};
use crossbridge_types::{self as types, NameSource};
use serde_json::json;

/// API group of all kinds, and the plugin's name.
pub const GROUP: &str = "fake.example.org";
/// No creation takes longer, unless its operation is forgotten.
const CREATION: Duration = Duration::from_mins(2);
/// Of those that cannot be observed before they end, which has to be waited for.
const HIDDEN_CREATION: Duration = Duration::from_secs(15);
/// The API version of all kinds.
pub const VERSION: &str = "v1alpha1";
/// Limit of one call.
pub const CALL: Duration = Duration::from_secs(1);

/// How fast the cloud does something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Done when the call is answered.
    AtOnce,
    /// An operation that goes on by itself.
    Long,
    /// An operation that moves only when polled.
    Driven,
}

/// How the cloud treats a kind, beyond what the kind declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manners {
    /// The pace of creations.
    pub create: Pace,
    /// The pace of updates.
    pub update: Pace,
    /// The pace of removals.
    pub delete: Pace,
    /// A long creation reports its name only when it ends.
    pub name_at_end: bool,
    /// What a long creation creates cannot be observed before it ends.
    pub shown_at_end: bool,
}

/// A kind, and how the cloud treats it.
#[derive(Debug, Clone)]
pub struct Subject {
    /// As the plugin publishes it.
    pub wire: ResourceKind,
    /// The same kind as domain types, checked.
    pub kind: types::Kind,
    /// How the cloud treats it.
    pub manners: Manners,
}

impl Subject {
    /// The kind's name, such as `Table`.
    pub fn name(&self) -> &str {
        &self.kind.resource_type.kind
    }

    /// Whether the kind declares this recovery.
    pub fn recovers_by(&self, recovery: types::CreateRecovery) -> bool {
        self.kind.capabilities.create_recovery.contains(&recovery)
    }

    /// The cloud gives the names.
    pub fn cloud_named(&self) -> bool {
        self.kind.external_name.source == NameSource::Provider
    }
}

/// What a kind is, before it is put in form.
struct Draft {
    name: &'static str,
    source: ExternalNameSource,
    recovery: &'static [CreateRecovery],
    holds_marker: bool,
    manners: Manners,
    window: Duration,
    late: Duration,
}

const AT_ONCE: Manners = Manners {
    create: Pace::AtOnce,
    update: Pace::AtOnce,
    delete: Pace::AtOnce,
    name_at_end: false,
    shown_at_end: false,
};

const LONG: Manners = Manners {
    create: Pace::Long,
    update: Pace::Long,
    delete: Pace::Long,
    name_at_end: false,
    shown_at_end: false,
};

use CreateRecovery::{ClientToken, DeterministicName, Marker};

const DRAFTS: [Draft; 11] = [
    // A name and nothing else.
    Draft {
        name: "Named",
        source: ExternalNameSource::User,
        recovery: &[DeterministicName],
        holds_marker: false,
        manners: AT_ONCE,
        window: Duration::ZERO,
        late: Duration::ZERO,
    },
    // Named by the user, with a marker that it does not recover by.
    Draft {
        name: "Bucket",
        source: ExternalNameSource::User,
        recovery: &[DeterministicName],
        holds_marker: true,
        manners: AT_ONCE,
        window: Duration::ZERO,
        late: Duration::ZERO,
    },
    // The plugin works out its name.
    Draft {
        name: "Queue",
        source: ExternalNameSource::Derived,
        recovery: &[DeterministicName],
        holds_marker: true,
        manners: AT_ONCE,
        window: Duration::ZERO,
        late: Duration::ZERO,
    },
    // Long, and marked by the creating request.
    Draft {
        name: "Table",
        source: ExternalNameSource::User,
        recovery: &[DeterministicName, Marker],
        holds_marker: true,
        manners: LONG,
        window: Duration::ZERO,
        late: Duration::ZERO,
    },
    // The cloud names it, and honours a token for ever.
    Draft {
        name: "Token",
        source: ExternalNameSource::Provider,
        recovery: &[ClientToken],
        holds_marker: false,
        manners: AT_ONCE,
        window: Duration::ZERO,
        late: Duration::from_secs(1),
    },
    // The same, long, and its name is reported at the end only.
    Draft {
        name: "Job",
        source: ExternalNameSource::Provider,
        recovery: &[ClientToken],
        holds_marker: false,
        manners: Manners {
            name_at_end: true,
            ..LONG
        },
        window: Duration::ZERO,
        late: Duration::ZERO,
    },
    // The cloud names it; it is found by its marker, which shows a little later.
    Draft {
        name: "Marked",
        source: ExternalNameSource::Provider,
        recovery: &[Marker],
        holds_marker: true,
        manners: AT_ONCE,
        window: Duration::from_secs(2),
        late: Duration::from_secs(1),
    },
    // The same, long, and seen only when it is done.
    Draft {
        name: "Cluster",
        source: ExternalNameSource::Provider,
        recovery: &[Marker],
        holds_marker: true,
        manners: Manners {
            shown_at_end: true,
            ..LONG
        },
        window: Duration::ZERO,
        late: Duration::ZERO,
    },
    // Token and marker, long, removed in steps.
    Draft {
        name: "Distribution",
        source: ExternalNameSource::Provider,
        recovery: &[ClientToken, Marker],
        holds_marker: true,
        manners: Manners {
            delete: Pace::Driven,
            ..LONG
        },
        window: Duration::ZERO,
        late: Duration::ZERO,
    },
    // The cloud names it, and nothing helps.
    Draft {
        name: "Nothing",
        source: ExternalNameSource::Provider,
        recovery: &[],
        holds_marker: false,
        manners: AT_ONCE,
        window: Duration::ZERO,
        late: Duration::ZERO,
    },
    // The same, long.
    Draft {
        name: "LongNothing",
        source: ExternalNameSource::Provider,
        recovery: &[],
        holds_marker: false,
        manners: LONG,
        window: Duration::ZERO,
        late: Duration::ZERO,
    },
];

/// Every kind of this cloud.
///
/// # Panics
/// A kind breaks the contract: a mistake in this file.
pub fn all() -> Vec<Subject> {
    DRAFTS.iter().map(subject).collect()
}

#[allow(clippy::expect_used)] // A mistake in this file.
fn subject(draft: &Draft) -> Subject {
    let wire = publish(draft);
    Subject {
        kind: types::Kind::try_from(wire.clone()).expect("the kinds of this file keep the contract"),
        wire,
        manners: draft.manners,
    }
}

fn publish(draft: &Draft) -> ResourceKind {
    let example_name = match draft.source {
        ExternalNameSource::Provider => "cloud-1",
        ExternalNameSource::Derived => "https://cloud/team/one",
        ExternalNameSource::User | ExternalNameSource::Unspecified => "one",
    };
    let mut capabilities = KindCapabilities {
        can_create: true,
        can_update: true,
        can_delete: true,
        holds_marker: draft.holds_marker,
        consistency_window: wire_duration(draft.window),
        late_margin: wire_duration(draft.late),
        visible_when_accepted: !draft.manners.shown_at_end,
        token_retention: draft.recovery.contains(&ClientToken).then_some(FOR_EVER),
        // One group for all: what throttles one kind throttles the others.
        rate_limit_group: "fake".to_owned(),
        ..KindCapabilities::default()
    };
    for recovery in draft.recovery {
        capabilities.push_create_recovery(*recovery);
    }
    let mut fixed = FieldRule {
        path: "/fixed".to_owned(),
        ..FieldRule::default()
    };
    fixed.set_mutability(Mutability::Immutable);
    let password = FieldRule {
        path: "/password".to_owned(),
        sensitive: true,
        ..FieldRule::default()
    };
    ResourceKind {
        resource_type: Some(ResourceType {
            group: GROUP.to_owned(),
            version: VERSION.to_owned(),
            kind: draft.name.to_owned(),
        }),
        plural: format!("{}s", draft.name.to_lowercase()),
        namespaced: true,
        parameters_schema_json: json!({"type": "object", "properties": {
            "size": {"type": "integer", "description": "How large."},
            "fixed": {"type": "string", "description": "Changes only by replacement."},
            "password": {"type": "string", "description": "Comes from a Secret."},
            "invalid": {"type": "boolean", "description": "The cloud rejects it."},
        }})
        .to_string(),
        status_schema_json: json!({"type": "object", "properties": {
            "id": {"type": "integer"},
            "ratio": {"type": "number"},
            "note": {"type": "string"},
            "maybe": {"type": "string", "nullable": true},
            "colour": {"type": "string", "default": "red"},
            "parts": {"type": "array", "items": {"type": "object", "properties": {"size": {"type": "number"}}}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }})
        .to_string(),
        printer_columns: vec![PrinterColumn {
            name: "SIZE".to_owned(),
            data_type: "integer".to_owned(),
            json_path: ".spec.forProvider.size".to_owned(),
        }],
        capabilities: Some(capabilities),
        external_name: Some(ExternalNameRules {
            source: draft.source.into(),
            example: example_name.to_owned(),
            ..ExternalNameRules::default()
        }),
        field_rules: vec![fixed, password],
        connection_keys: vec![ConnectionKey {
            name: "endpoint".to_owned(),
            description: "Where it is.".to_owned(),
            one_time: false,
        }],
        timeouts: Some(Timeouts {
            call_timeout: wire_duration(CALL),
            create_timeout: wire_duration(if draft.manners.shown_at_end {
                HIDDEN_CREATION
            } else {
                CREATION
            }),
            ..Timeouts::default()
        }),
        examples: vec![KindExample {
            name: "small".to_owned(),
            external_name: match draft.source {
                ExternalNameSource::User => example_name.to_owned(),
                _ => String::new(),
            },
            create_parameters: Some(document(&json!({"size": 1}))),
            update_parameters: Some(document(&json!({"size": 2}))),
            invalid_parameters: Some(document(&json!({"invalid": true}))),
            ..KindExample::default()
        }],
        ..ResourceKind::default()
    }
}

/// The contract's "for ever".
const FOR_EVER: prost_types::Duration = prost_types::Duration {
    seconds: 315_576_000_000,
    nanos: 0,
};

fn wire_duration(duration: Duration) -> Option<prost_types::Duration> {
    (!duration.is_zero())
        .then(|| prost_types::Duration::try_from(duration).ok())
        .flatten()
}

fn document(value: &serde_json::Value) -> Document {
    Document {
        json: value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::all;

    #[test]
    fn every_kind_keeps_the_contract() {
        assert_eq!(all().len(), super::DRAFTS.len());
    }
}
