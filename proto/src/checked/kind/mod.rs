//! What a kind is, as its plugin published it.

mod capabilities;
mod example;
mod field_rule;
mod name_rules;
pub(super) mod schema;
#[cfg(test)]
mod tests;

pub use capabilities::{Capabilities, CreateRecovery, DiffMode, Timeouts};
pub use example::Example;
pub use field_rule::{Comparison, FieldRule, Mutability, ReferenceRule};
pub use name_rules::{NameRules, NameSource};

use super::{Document, ResourceType, Rule, Violation, nested, text};
use crate::v1alpha1 as wire;

/// OpenAPI types of a printer column.
const COLUMN_TYPES: [&str; 5] = ["integer", "number", "string", "boolean", "date"];

/// All that is needed to make a CRD and to run a controller for one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// Group, the one served version, kind.
    pub resource_type: ResourceType,
    /// Plural, a DNS label.
    pub plural: String,
    /// Likewise; the kind in lower case where the plugin said nothing.
    pub singular: String,
    /// For kubectl.
    pub short_names: Vec<String>,
    /// For kubectl, beside `crossplane`, `managed` and the plugin's own.
    pub categories: Vec<String>,
    /// False: cluster-scoped.
    pub namespaced: bool,
    /// For docs and `kubectl explain`.
    pub description: String,
    /// Structural OpenAPI v3 schema of the parameters, sensitive fields with their real type.
    pub parameters_schema: Document,
    /// Likewise, of the status.
    pub status_schema: Document,
    /// Columns beside the bridge's own.
    pub printer_columns: Vec<PrinterColumn>,
    /// How it must be treated.
    pub capabilities: Capabilities,
    /// How names work.
    pub external_name: NameRules,
    /// Per-field meaning; each path is in the parameters' schema.
    pub field_rules: Vec<FieldRule>,
    /// Every key of the connection details.
    pub connection_keys: Vec<ConnectionKey>,
    /// The contract's default of one call is filled in.
    pub timeouts: Timeouts,
    /// Fixtures; at least one where the kind can be created.
    pub examples: Vec<Example>,
    /// Structural schema of a list filter; `None`: no filter.
    pub list_filter_schema: Option<Document>,
}

/// A kubectl column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrinterColumn {
    /// Heading.
    pub name: String,
    /// OpenAPI type: integer, number, string, boolean or date.
    pub data_type: String,
    /// `JSONPath` in the object, begins with a dot.
    pub json_path: String,
}

/// A key of the connection Secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionKey {
    /// Key.
    pub name: String,
    /// For people.
    pub description: String,
    /// Only ever given once, around Create.
    pub one_time: bool,
}

impl TryFrom<wire::GetResourceKindResponse> for Kind {
    type Error = Violation;

    fn try_from(wire: wire::GetResourceKindResponse) -> Result<Self, Violation> {
        nested::required(wire.resource_kind, "resource_kind")
    }
}

impl TryFrom<wire::ResourceKind> for Kind {
    type Error = Violation;

    fn try_from(wire: wire::ResourceKind) -> Result<Self, Violation> {
        let resource_type: ResourceType = nested::required(wire.resource_type, "resource_type")?;
        let singular = if wire.singular.is_empty() {
            resource_type.kind.to_ascii_lowercase()
        } else {
            wire.singular
        };
        let rate_limit_group = resource_type.to_string();
        let kind = Self {
            plural: wire.plural,
            singular,
            short_names: wire.short_names,
            categories: wire.categories,
            namespaced: wire.namespaced,
            description: wire.description,
            parameters_schema: schema::required(&wire.parameters_schema_json, "parameters_schema_json")?,
            status_schema: schema::required(&wire.status_schema_json, "status_schema_json")?,
            printer_columns: nested::each(wire.printer_columns, "printer_columns")?,
            capabilities: nested::required::<_, Capabilities>(wire.capabilities, "capabilities")?
                .or_rate_limit_group(rate_limit_group),
            external_name: nested::required(wire.external_name, "external_name")?,
            field_rules: nested::each(wire.field_rules, "field_rules")?,
            connection_keys: nested::each(wire.connection_keys, "connection_keys")?,
            timeouts: nested::optional(wire.timeouts, "timeouts")?.unwrap_or_default(),
            examples: nested::each(wire.examples, "examples")?,
            list_filter_schema: schema::optional(&wire.list_filter_schema_json, "list_filter_schema_json")?,
            resource_type,
        };
        kind.check()?;
        Ok(kind)
    }
}

impl Kind {
    /// Checks what concerns more than one part.
    fn check(&self) -> Result<(), Violation> {
        self.check_names()?;
        nested::distinct(&self.printer_columns, "printer_columns", "name", |column| {
            &column.name
        })?;
        nested::distinct(&self.field_rules, "field_rules", "path", |rule| &rule.path)?;
        nested::distinct(&self.connection_keys, "connection_keys", "name", |key| &key.name)?;
        nested::distinct(&self.examples, "examples", "name", |example| &example.name)?;
        nested::check_each(&self.field_rules, "field_rules", |rule| {
            schema::find(&self.parameters_schema, &rule.path)
                .map(|_| ())
                .map_err(|why| Violation::new("path", Rule::NotAllowed { why }))
        })?;
        self.check_recovery()?;
        self.check_examples()
    }

    fn check_names(&self) -> Result<(), Violation> {
        text::dns_label(&self.plural, "plural")?;
        text::dns_label(&self.singular, "singular")?;
        for (names, field) in [
            (&self.short_names, "short_names"),
            (&self.categories, "categories"),
        ] {
            for (index, name) in names.iter().enumerate() {
                text::dns_label(name, &format!("{field}[{index}]"))?;
            }
            nested::distinct(names, field, "", String::as_str)?;
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
                    when: "where the name is known before anything is made: DETERMINISTIC_NAME, or MARKER, or both",
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
        nested::check_each(&self.examples, "examples", |example| {
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

impl TryFrom<wire::PrinterColumn> for PrinterColumn {
    type Error = Violation;

    fn try_from(wire: wire::PrinterColumn) -> Result<Self, Violation> {
        let malformed = |field, form| Err(Violation::new(field, Rule::Malformed { form }));
        text::required(&wire.name, "name")?;
        text::required(&wire.data_type, "data_type")?;
        text::required(&wire.json_path, "json_path")?;
        if !COLUMN_TYPES.contains(&wire.data_type.as_str()) {
            return malformed("data_type", "integer, number, string, boolean or date");
        }
        if !wire.json_path.starts_with('.') {
            return malformed("json_path", "a JSONPath that begins with '.'");
        }
        Ok(Self {
            name: wire.name,
            data_type: wire.data_type,
            json_path: wire.json_path,
        })
    }
}

impl TryFrom<wire::ConnectionKey> for ConnectionKey {
    type Error = Violation;

    fn try_from(wire: wire::ConnectionKey) -> Result<Self, Violation> {
        text::secret_key(&wire.name, "name")?;
        Ok(Self {
            name: wire.name,
            description: wire.description,
            one_time: wire.one_time,
        })
    }
}
