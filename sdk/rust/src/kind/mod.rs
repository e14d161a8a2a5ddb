//! What a kind is: names, rules, capabilities, timeouts.

mod capabilities;
mod example;
mod external_name;
mod published;
mod rules;
pub(crate) mod schema;

use crossbridge_proto::v1alpha1 as wire;
use schemars::JsonSchema;

pub use example::Example;
pub use external_name::ExternalName;
pub(crate) use published::{NamedCall, PublishedKind};
pub use rules::Reference;

/// What a kind is, beside its types. It is namespaced, and can be created, updated and deleted, unless said otherwise.
///
/// Paths are JSON Pointers into the parameters, in their serialised form; `*` stands for any list index or map key:
/// `/rules/*/secret`.
///
/// ```
/// use std::time::Duration;
/// use crossbridge_sdk::{Example, ExternalName, Kind, serde_json::json};
///
/// let kind = Kind::new("db.example.org", "v1alpha1", "Database", ExternalName::by_upstream("db-0a1b2c"))
///     .recover_by_token(Duration::MAX)
///     .recover_by_marker()
///     .immutable("/region")
///     .sensitive("/masterPassword")
///     .late_initialized("/engineVersion")
///     .connection_key("endpoint", "Where it listens.")
///     .call_timeout(Duration::from_secs(10))
///     .example(Example::new("small", &json!({"region": "north"})).sensitive("/masterPassword", "made up"));
/// # let _ = kind;
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Kind {
    pub(crate) wire: wire::ResourceKind,
    pub(crate) listable: bool,
    pub(crate) list_filter: Option<schema::SchemaOf>,
}

impl Kind {
    /// A kind of this API group, version and name, for instance `("s3.aws.example.org", "v1alpha1", "Bucket")`. Its plural is the name
    /// in lower case with an `s`, unless [`plural`](Self::plural) sets another.
    pub fn new(group: &str, version: &str, kind: &str, names: ExternalName) -> Self {
        Self {
            wire: wire::ResourceKind {
                resource_type: Some(wire::ResourceType {
                    group: group.to_owned(),
                    version: version.to_owned(),
                    kind: kind.to_owned(),
                }),
                plural: format!("{}s", kind.to_lowercase()),
                namespaced: true,
                external_name: Some(names.wire),
                capabilities: Some(wire::KindCapabilities {
                    can_create: true,
                    can_update: true,
                    can_delete: true,
                    ..Default::default()
                }),
                ..Default::default()
            },
            listable: false,
            list_filter: None,
        }
    }

    /// The plural, in lower case.
    pub fn plural(mut self, plural: &str) -> Self {
        plural.clone_into(&mut self.wire.plural);
        self
    }

    /// A short name for kubectl.
    pub fn short_name(mut self, name: &str) -> Self {
        self.wire.short_names.push(name.to_owned());
        self
    }

    /// A category for kubectl, beside `crossplane`, `managed` and the plugin's own.
    pub fn category(mut self, category: &str) -> Self {
        self.wire.categories.push(category.to_owned());
        self
    }

    /// Sets what the kind is, for docs and `kubectl explain`.
    pub fn description(mut self, text: &str) -> Self {
        text.clone_into(&mut self.wire.description);
        self
    }

    /// Not in a namespace.
    pub fn cluster_scoped(mut self) -> Self {
        self.wire.namespaced = false;
        self
    }

    /// A column for kubectl: heading, OpenAPI type, `JSONPath` in the object.
    pub fn printer_column(mut self, name: &str, data_type: &str, json_path: &str) -> Self {
        self.wire.printer_columns.push(wire::PrinterColumn {
            name: name.to_owned(),
            data_type: data_type.to_owned(),
            json_path: json_path.to_owned(),
        });
        self
    }

    /// A key that may appear in the connection details.
    pub fn connection_key(self, name: &str, description: &str) -> Self {
        self.push_connection_key(name, description, false)
    }

    /// A key that the upstream gives only once, around the creation.
    pub fn one_time_connection_key(self, name: &str, description: &str) -> Self {
        self.push_connection_key(name, description, true)
    }

    fn push_connection_key(mut self, name: &str, description: &str, one_time: bool) -> Self {
        self.wire.connection_keys.push(wire::ConnectionKey {
            name: name.to_owned(),
            description: description.to_owned(),
            one_time,
        });
        self
    }

    /// A fixture for docs and for the conformance kit; a kind that can be created has at least one.
    pub fn example(mut self, example: Example) -> Self {
        self.wire.examples.push(example.wire);
        self
    }

    /// Declares that [`Resource::list`](crate::Resource::list) is implemented.
    pub fn listable(mut self) -> Self {
        self.listable = true;
        self
    }

    /// [`Resource::list`](crate::Resource::list) is implemented, and takes a filter of this type.
    pub fn listable_by<F: JsonSchema>(mut self) -> Self {
        self.listable = true;
        self.list_filter = Some(schema::structural::<F>);
        self
    }
}
