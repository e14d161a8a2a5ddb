//! Kinds to try the machine with: what they declare, and how the cloud behind them behaves.

use std::{sync::Arc, time::Duration};

use bridge_core::{
    kind::{
        Capabilities, CreateRecovery, DiffMode, FieldRule, Kind, Mutability, NameRules, NameSource,
        ResourceType, Timeouts,
    },
    rule::Rule,
};
use serde_json::json;

/// Of one call.
pub const CALL: Duration = Duration::from_secs(10);
/// How long things take upstream where they take long.
pub const WORK: Duration = Duration::from_secs(30);

/// How fast the cloud does something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Within the call.
    AtOnce,
    /// An operation that goes on by itself.
    Long,
    /// An operation that moves only when polled.
    Driven,
}

/// What a kind does not declare, and does all the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // Each is a habit of its own.
pub struct Manners {
    pub create: Pace,
    pub update: Pace,
    pub delete: Pace,
    /// A long creation tells its name only when it ends.
    pub name_at_end: bool,
    /// What a long creation makes is seen by nobody before it ends.
    pub shown_at_end: bool,
    /// A token is forgotten with the object or the operation that it made.
    pub frees_tokens: bool,
    /// The marker is put on by a second call.
    pub marks_later: bool,
    /// `Completed` carries no observation.
    pub bare: bool,
    /// The field `fixed` says where it lives, as a region does: names are told apart, and looked for, within one place.
    pub placed: bool,
    /// What an observation returns as `provider_state` is needed to change it, or to delete it.
    pub stateful: bool,
}

/// A kind and its cloud.
#[derive(Debug, Clone)]
pub struct Subject {
    pub name: &'static str,
    pub kind: Arc<Kind>,
    pub manners: Manners,
}

impl Subject {
    fn new(name: &'static str, source: NameSource, recovery: &[CreateRecovery]) -> Self {
        let capabilities = Capabilities {
            can_create: true,
            can_update: true,
            can_delete: true,
            create_recovery: recovery.to_vec(),
            token_retention: Duration::MAX,
            consistency_window: Duration::ZERO,
            holds_marker: recovery.contains(&CreateRecovery::Marker),
            diff_mode: DiffMode::Bridge,
            concurrent_update: false,
            delete_during_create: false,
            rate_limit_group: "Thing".to_owned(),
            late_margin: Duration::ZERO,
            visible_when_accepted: true,
        };
        let kind = Kind {
            resource_type: ResourceType {
                group: "things.example.org".to_owned(),
                version: "v1alpha1".to_owned(),
                kind: "Thing".to_owned(),
            },
            plural: "things".to_owned(),
            singular: "thing".to_owned(),
            short_names: Vec::new(),
            categories: Vec::new(),
            namespaced: true,
            description: String::new(),
            parameters_schema: json!({"type": "object"}),
            status_schema: json!({"type": "object"}),
            printer_columns: Vec::new(),
            capabilities,
            external_name: NameRules {
                source,
                pattern: String::new(),
                max_length: 0,
                example: "thing".to_owned(),
            },
            field_rules: vec![
                FieldRule {
                    path: "/fixed".to_owned(),
                    mutability: Mutability::Immutable,
                    ..FieldRule::default()
                },
                FieldRule {
                    path: "/password".to_owned(),
                    sensitive: true,
                    ..FieldRule::default()
                },
            ],
            connection_keys: Vec::new(),
            timeouts: Timeouts {
                call: CALL,
                create: Some(Duration::from_mins(10)),
                update: Some(Duration::from_mins(10)),
                delete: Some(Duration::from_mins(10)),
            },
            examples: Vec::new(),
            list_filter_schema: None,
            digest: "1".to_owned(),
        };
        let manners = Manners {
            create: Pace::AtOnce,
            update: Pace::AtOnce,
            delete: Pace::AtOnce,
            name_at_end: false,
            shown_at_end: false,
            frees_tokens: false,
            marks_later: false,
            bare: false,
            placed: false,
            stateful: false,
        };
        Self {
            name,
            kind: Arc::new(kind),
            manners,
        }
    }

    /// With other capabilities.
    pub fn can(mut self, change: impl FnOnce(&mut Capabilities)) -> Self {
        change(&mut Arc::make_mut(&mut self.kind).capabilities);
        self
    }

    /// Whose names follow this pattern, and are no longer.
    pub fn named(mut self, pattern: &str, max_length: usize) -> Self {
        let rules = &mut Arc::make_mut(&mut self.kind).external_name;
        (rules.pattern, rules.max_length) = (pattern.to_owned(), max_length);
        self
    }

    /// Whose cloud has other manners.
    pub fn with(mut self, change: impl FnOnce(&mut Manners)) -> Self {
        change(&mut self.manners);
        self
    }

    /// What a creation makes need not be seen before it ends, and the kind does not declare otherwise.
    pub fn undeclared(self, creation: Duration) -> Self {
        let mut subject = self.can(|can| can.visible_when_accepted = false);
        Arc::make_mut(&mut subject.kind).timeouts.create = Some(creation);
        subject
    }

    /// Its long creation is seen by nobody before it ends.
    pub fn shown_at_end(self) -> Self {
        let creation = self.kind.timeouts.create.unwrap_or(Duration::from_mins(10));
        self.undeclared(creation)
            .with(|manners| manners.shown_at_end = true)
    }

    /// Creation and removal of this pace.
    pub fn paced(self, create: Pace, delete: Pace) -> Self {
        self.with(|manners| (manners.create, manners.delete) = (create, delete))
    }

    /// The cloud gives the names.
    pub fn is_named_upstream(&self) -> bool {
        self.kind.external_name.source == NameSource::Provider
    }

    /// It declares this recovery.
    pub fn recovers_by(&self, recovery: CreateRecovery) -> bool {
        self.kind.capabilities.create_recovery.contains(&recovery)
    }

    /// How long a look may miss what is there.
    pub fn window(&self) -> Duration {
        self.kind.capabilities.consistency_window
    }

    /// How long after its deadline a call may take effect.
    pub fn late(&self) -> Duration {
        self.kind.capabilities.late_margin
    }
}

use CreateRecovery::{ClientToken, DeterministicName, Marker};

/// A name and nothing else.
pub fn named() -> Subject {
    Subject::new("named", NameSource::User, &[DeterministicName])
}

/// S3: the marker comes with a second call.
pub fn bucket() -> Subject {
    let recovery: &[CreateRecovery] = if Rule::MarkerIsSetOnCreation.is_off() {
        &[DeterministicName, Marker]
    } else {
        &[DeterministicName]
    };
    Subject::new("bucket", NameSource::User, recovery)
        .can(|can| can.holds_marker = true)
        .with(|manners| manners.marks_later = true)
}

/// SQS: the name is worked out by the plugin.
pub fn queue() -> Subject {
    Subject::new("queue", NameSource::Derived, &[DeterministicName]).can(|can| can.holds_marker = true)
}

/// `DynamoDB`: long, and marked by the creating request; tags are eventually consistent.
pub fn table() -> Subject {
    Subject::new("table", NameSource::User, &[DeterministicName, Marker]).paced(Pace::Long, Pace::Long)
}

/// A name, and a token.
pub fn named_with_token() -> Subject {
    Subject::new(
        "named with token",
        NameSource::User,
        &[DeterministicName, ClientToken],
    )
}

/// The cloud names it, and honours a token for ever.
pub fn token() -> Subject {
    Subject::new("token", NameSource::Provider, &[ClientToken])
}

/// The cloud names it, and it is found by its marker.
pub fn marked() -> Subject {
    Subject::new("marked", NameSource::Provider, &[Marker])
}

/// `CloudFront`: token and marker, long, removed in steps.
pub fn distribution() -> Subject {
    Subject::new("distribution", NameSource::Provider, &[ClientToken, Marker])
        .paced(Pace::Long, Pace::Driven)
        .can(|can| can.concurrent_update = true)
}

/// The cloud names it, and nothing helps.
pub fn nothing() -> Subject {
    Subject::new("nothing", NameSource::Provider, &[])
}

/// All of them.
pub fn families() -> Vec<Subject> {
    vec![
        named(),
        bucket(),
        queue(),
        table(),
        named_with_token(),
        token(),
        marked(),
        distribution(),
        nothing(),
    ]
}

/// Every family at every pace.
pub fn all() -> Vec<Subject> {
    let paces = [
        (Pace::AtOnce, Pace::AtOnce),
        (Pace::Long, Pace::Long),
        (Pace::Long, Pace::Driven),
        (Pace::Driven, Pace::Driven),
    ];
    families()
        .into_iter()
        .flat_map(|family| paces.map(|(create, delete)| family.clone().paced(create, delete)))
        .collect()
}
