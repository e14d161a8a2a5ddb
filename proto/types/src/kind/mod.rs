//! What a kind is, as its plugin publishes it.

mod capabilities;
mod example;
mod field_rule;
mod name_rules;
mod schema;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use capabilities::{Capabilities, CreateRecovery, DiffMode, Timeouts};
pub use example::Example;
pub use field_rule::{Comparison, FieldRule, Mutability, ReferenceRule};
pub use name_rules::{NameRules, NameSource};
pub(crate) use schema::check as check_schema;

pub use crate::plugin::{CredentialKey, PluginInfo};
use crate::{Rule, Violation, check, limits};

/// OpenAPI types of a printer column.
const COLUMN_TYPES: [&str; 5] = ["integer", "number", "string", "boolean", "date"];

/// API type of a managed resource.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceType {
    /// API group, a DNS subdomain.
    pub group: String,
    /// The one served version, a DNS label.
    pub version: String,
    /// The kind's name, in `PascalCase`.
    pub kind: String,
}

impl ResourceType {
    /// Checks the forms of its three parts.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), Violation> {
        check::api_group(&self.group, "group")?;
        check::dns_label(&self.version, "version")?;
        check::pascal_case(&self.kind, "kind")
    }

    /// Whether the group is the plugin's own: its name, or one that ends in a dot and its name.
    pub fn is_of_plugin(&self, plugin: &str) -> bool {
        let before = self.group.strip_suffix(plugin);
        before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    }
}

impl fmt::Display for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}/{}", self.kind, self.group, self.version)
    }
}

/// All that is needed to create a CRD and to run a controller for one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// API group, version and kind.
    pub resource_type: ResourceType,
    /// Plural, a DNS label.
    pub plural: String,
    /// Likewise; the kind in lower case where the plugin declares none.
    pub singular: String,
    /// Short names for kubectl, DNS labels.
    pub short_names: Vec<String>,
    /// Categories for kubectl, beside `crossplane` and `managed`.
    pub categories: Vec<String>,
    /// Whether its objects live in namespaces; else they are cluster-scoped.
    pub namespaced: bool,
    /// What the kind is, for docs and `kubectl explain`.
    pub description: String,
    /// Structural OpenAPI v3 schema of the parameters; sensitive fields stand in it with their real type.
    pub parameters_schema: Value,
    /// Structural OpenAPI v3 schema of the status.
    pub status_schema: Value,
    /// Columns beside the bridge's own.
    pub printer_columns: Vec<PrinterColumn>,
    /// How it must be treated.
    pub capabilities: Capabilities,
    /// Who chooses external names, and their form.
    pub external_name: NameRules,
    /// Per-field meaning; each path is in the schema of the parameters.
    pub field_rules: Vec<FieldRule>,
    /// Every key of the connection Secret.
    pub connection_keys: Vec<ConnectionKey>,
    /// Its timeouts, with the contract's defaults filled in.
    pub timeouts: Timeouts,
    /// Fixtures; at least one where the kind can be created.
    pub examples: Vec<Example>,
    /// Structural schema of a list filter; `None`: no filter.
    pub list_filter_schema: Option<Value>,
    /// Opaque; changes when, and only when, the kind does. Comes from the plugin's list of kinds; empty: not from there.
    pub digest: String,
}

/// A column of `kubectl get`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrinterColumn {
    /// The column's heading.
    pub name: String,
    /// OpenAPI type: integer, number, string, boolean or date.
    pub data_type: String,
    /// `JSONPath` in the object, begins with a dot.
    pub json_path: String,
}

impl PrinterColumn {
    fn check(&self) -> Result<(), Violation> {
        check::required(&self.name, "name")?;
        check::name(&self.name, "name")?;
        check::name(&self.json_path, "json_path")?;
        check::required(&self.data_type, "data_type")?;
        check::required(&self.json_path, "json_path")?;
        check::form(
            COLUMN_TYPES.contains(&self.data_type.as_str()),
            "integer, number, string, boolean or date",
            "data_type",
        )?;
        check::form(
            self.json_path.starts_with('.'),
            "a JSONPath that begins with '.'",
            "json_path",
        )
    }
}

/// A key of the connection Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionKey {
    /// The key's name, as in the Secret's data.
    pub name: String,
    /// What it holds, for people.
    pub description: String,
    /// Whether it is given only once, around Create.
    pub one_time: bool,
}

impl Kind {
    /// Checks every part, and what concerns more than one.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn check(&self) -> Result<(), Violation> {
        self.resource_type
            .check()
            .map_err(|violation| violation.within("resource_type"))?;
        self.check_names()?;
        self.check_counts()?;
        schema::check(&self.parameters_schema, "parameters_schema_json")?;
        schema::check(&self.status_schema, "status_schema_json")?;
        if let Some(filter) = &self.list_filter_schema {
            schema::check(filter, "list_filter_schema_json")?;
        }
        check::each(&self.printer_columns, "printer_columns", PrinterColumn::check)?;
        self.capabilities
            .check()
            .map_err(|violation| violation.within("capabilities"))?;
        self.external_name
            .check()
            .map_err(|violation| violation.within("external_name"))?;
        check::each(&self.field_rules, "field_rules", FieldRule::check)?;
        check::each(&self.connection_keys, "connection_keys", |key| {
            check::secret_key(&key.name, "name")
        })?;
        self.timeouts
            .check()
            .map_err(|violation| violation.within("timeouts"))?;
        check::each(&self.examples, "examples", Example::check)?;
        check::distinct(&self.printer_columns, "printer_columns", "name", |column| {
            &column.name
        })?;
        check::distinct(&self.field_rules, "field_rules", "path", |rule| &rule.path)?;
        check::distinct(&self.connection_keys, "connection_keys", "name", |key| &key.name)?;
        check::distinct(&self.examples, "examples", "name", |example| &example.name)?;
        check::each(&self.field_rules, "field_rules", |rule| {
            schema::find(&self.parameters_schema, &rule.path)
                .map(|_| ())
                .map_err(|why| Violation::new("path", Rule::NotAllowed { why }))
        })?;
        self.check_recovery()?;
        self.check_examples()
    }

    fn check_counts(&self) -> Result<(), Violation> {
        check::count(&self.short_names, limits::RULES, "short_names")?;
        check::count(&self.categories, limits::RULES, "categories")?;
        check::count(&self.printer_columns, limits::RULES, "printer_columns")?;
        check::count(&self.field_rules, limits::RULES, "field_rules")?;
        check::count(&self.connection_keys, limits::RULES, "connection_keys")?;
        check::count(&self.examples, limits::RULES, "examples")
    }

    fn check_names(&self) -> Result<(), Violation> {
        check::dns_label(&self.plural, "plural")?;
        check::dns_label(&self.singular, "singular")?;
        for (names, field) in [
            (&self.short_names, "short_names"),
            (&self.categories, "categories"),
        ] {
            for (index, name) in names.iter().enumerate() {
                check::dns_label(name, &format!("{field}[{index}]"))?;
            }
            check::distinct(names, field, "", String::as_str)?;
        }
        Ok(())
    }

    fn check_recovery(&self) -> Result<(), Violation> {
        let by_name = self
            .capabilities
            .create_recovery
            .contains(&CreateRecovery::DeterministicName);
        if by_name && self.external_name.source == NameSource::Provider {
            return Err(Violation::new(
                "capabilities.create_recovery",
                Rule::NotAllowed {
                    why: "a name that the upstream gives is no DETERMINISTIC_NAME".to_owned(),
                },
            ));
        }
        let by_look = by_name
            || self
                .capabilities
                .create_recovery
                .contains(&CreateRecovery::Marker);
        if self.capabilities.can_create && !by_look && self.external_name.source != NameSource::Provider {
            return Err(Violation::new(
                "capabilities.create_recovery",
                Rule::RequiredWhere {
                    when: "where the name is known before anything is created: DETERMINISTIC_NAME, or MARKER, or both",
                },
            ));
        }
        Ok(())
    }

    fn check_examples(&self) -> Result<(), Violation> {
        if !self.capabilities.can_create {
            return Ok(());
        }
        let when = "where the kind can be created";
        if self.examples.is_empty() {
            return Err(Violation::new("examples", Rule::RequiredWhere { when }));
        }
        check::each(&self.examples, "examples", |example| {
            if example.create_parameters.is_none() {
                return Err(Violation::new("create_parameters", Rule::RequiredWhere { when }));
            }
            if example.external_name.is_empty() && self.external_name.source == NameSource::User {
                return Err(Violation::new(
                    "external_name",
                    Rule::RequiredWhere {
                        when: "where the user gives the name",
                    },
                ));
            }
            Ok(())
        })
    }
}
