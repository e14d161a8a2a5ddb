//! What a kind is, as its plugin publishes it.

mod capabilities;
#[cfg(test)]
mod tests;

use crossbridge_types::{
    Capabilities, Comparison, ConnectionKey, Example, FieldRule, Kind, Mutability, NameRules, NameSource,
    PrinterColumn, ReferenceRule, ResourceType, Rule, Timeouts, Violation, limits,
};

use super::{document, nested, scalar};
use crate::v1alpha1 as wire;

/// The digest stands in the list of kinds: whoever read it there sets it.
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
        let mut capabilities: Capabilities = nested::required(wire.capabilities, "capabilities")?;
        if capabilities.rate_limit_group.is_empty() {
            capabilities.rate_limit_group = resource_type.to_string();
        }
        let kind = Self {
            plural: wire.plural,
            singular,
            short_names: wire.short_names,
            categories: wire.categories,
            namespaced: wire.namespaced,
            description: limits::cut(wire.description),
            parameters_schema: document::required_schema(
                &wire.parameters_schema_json,
                "parameters_schema_json",
            )?,
            status_schema: document::required_schema(&wire.status_schema_json, "status_schema_json")?,
            printer_columns: wire.printer_columns.into_iter().map(Into::into).collect(),
            capabilities,
            external_name: nested::required(wire.external_name, "external_name")?,
            field_rules: nested::each(wire.field_rules, "field_rules")?,
            connection_keys: wire.connection_keys.into_iter().map(Into::into).collect(),
            timeouts: nested::optional(wire.timeouts, "timeouts")?.unwrap_or_default(),
            examples: nested::each(wire.examples, "examples")?,
            list_filter_schema: document::optional_schema(
                &wire.list_filter_schema_json,
                "list_filter_schema_json",
            )?,
            digest: String::new(),
            resource_type,
        };
        kind.check()?;
        Ok(kind)
    }
}

impl From<wire::PrinterColumn> for PrinterColumn {
    fn from(wire: wire::PrinterColumn) -> Self {
        Self {
            name: wire.name,
            data_type: wire.data_type,
            json_path: wire.json_path,
        }
    }
}

impl From<wire::ConnectionKey> for ConnectionKey {
    fn from(wire: wire::ConnectionKey) -> Self {
        Self {
            name: wire.name,
            description: limits::cut(wire.description),
            one_time: wire.one_time,
        }
    }
}

impl TryFrom<wire::ExternalNameRules> for NameRules {
    type Error = Violation;

    fn try_from(wire: wire::ExternalNameRules) -> Result<Self, Violation> {
        Ok(Self {
            source: match wire.source() {
                wire::ExternalNameSource::Unspecified => {
                    return Err(Violation::new("source", Rule::Required));
                }
                wire::ExternalNameSource::User => NameSource::User,
                wire::ExternalNameSource::Provider => NameSource::Provider,
                wire::ExternalNameSource::Derived => NameSource::Derived,
            },
            pattern: wire.pattern,
            max_length: scalar::count(wire.max_length, "max_length")?.unwrap_or_default(),
            example: wire.example,
        })
    }
}

impl TryFrom<wire::FieldRule> for FieldRule {
    type Error = Violation;

    fn try_from(wire: wire::FieldRule) -> Result<Self, Violation> {
        Ok(Self {
            mutability: match wire.mutability() {
                wire::Mutability::Unspecified => Mutability::Mutable,
                wire::Mutability::Immutable => Mutability::Immutable,
                wire::Mutability::SetOnce => Mutability::SetOnce,
            },
            comparison: match wire.comparison() {
                wire::Comparison::Unspecified => Comparison::Json,
                wire::Comparison::CaseInsensitive => Comparison::CaseInsensitive,
                wire::Comparison::JsonText => Comparison::JsonText,
                wire::Comparison::Quantity => Comparison::Quantity,
                wire::Comparison::WriteOnly => Comparison::WriteOnly,
            },
            path: wire.path,
            sensitive: wire.sensitive,
            late_initialized: wire.late_initialized,
            reference: nested::optional(wire.reference, "reference")?,
        })
    }
}

impl TryFrom<wire::ReferenceRule> for ReferenceRule {
    type Error = Violation;

    fn try_from(wire: wire::ReferenceRule) -> Result<Self, Violation> {
        Ok(Self {
            resource_type: nested::required(wire.resource_type, "resource_type")?,
            extract: wire.extract,
        })
    }
}

impl TryFrom<wire::Timeouts> for Timeouts {
    type Error = Violation;

    fn try_from(wire: wire::Timeouts) -> Result<Self, Violation> {
        Ok(Self {
            call: scalar::duration(wire.call_timeout, "call_timeout")?.unwrap_or(Self::default().call),
            create: scalar::duration(wire.create_timeout, "create_timeout")?,
            update: scalar::duration(wire.update_timeout, "update_timeout")?,
            delete: scalar::duration(wire.delete_timeout, "delete_timeout")?,
        })
    }
}

impl TryFrom<wire::KindExample> for Example {
    type Error = Violation;

    fn try_from(wire: wire::KindExample) -> Result<Self, Violation> {
        Ok(Self {
            name: wire.name,
            external_name: wire.external_name,
            create_parameters: document::optional(wire.create_parameters, "create_parameters")?,
            update_parameters: document::optional(wire.update_parameters, "update_parameters")?,
            invalid_parameters: document::optional(wire.invalid_parameters, "invalid_parameters")?,
            sensitive_values: wire.sensitive_values,
            requires: wire.requires,
        })
    }
}
