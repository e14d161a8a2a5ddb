//! What a plugin says of itself and of its kinds, from the wire to the words of the core.

use bridge_core::kind::{
    Capabilities, Comparison, ConnectionKey, CreateRecovery, CredentialKey, DiffMode, FieldRule, Kind,
    Mutability, NameRules, NameSource, PluginInfo, PrinterColumn, ReferenceRule, ResourceType, Timeouts,
};
use crossbridge_proto::{checked, v1alpha1 as wire};
use serde_json::Value;

use crate::CONTRACT_VERSION;

/// Why an answer to `GetPluginInfo` is of no use.
pub(crate) enum InvalidInfo {
    /// The plugin speaks these versions only.
    Contract(Vec<String>),
    /// It breaks the contract.
    Other(String),
}

/// The version is looked at first, as another version's answer may be of another form.
pub(crate) fn info(answer: wire::GetPluginInfoResponse) -> Result<PluginInfo, InvalidInfo> {
    let versions = &answer.contract_versions;
    if !versions.is_empty() && !versions.iter().any(|version| version == CONTRACT_VERSION) {
        return Err(InvalidInfo::Contract(answer.contract_versions));
    }
    let info = checked::PluginInfo::try_from(answer)
        .map_err(|violation| InvalidInfo::Other(violation.to_string()))?;
    Ok(PluginInfo {
        name: info.name,
        version: info.version,
        contract_versions: info.contract_versions,
        instance_id: info.instance_id,
        max_concurrent_calls: info.max_concurrent_calls,
        max_message_bytes: info.max_message_bytes,
        config_schema: info.config_schema.map(Value::Object),
        credential_keys: info
            .credential_keys
            .into_iter()
            .map(|key| CredentialKey {
                name: key.name,
                description: key.description,
                required: key.required,
            })
            .collect(),
        lists_external: info.lists_external,
    })
}

/// One kind, which must be the one that was asked for.
pub(crate) fn kind(
    answer: wire::GetResourceKindResponse,
    asked: &ResourceType,
    digest: &str,
) -> Result<Kind, String> {
    let kind = checked::Kind::try_from(answer).map_err(|violation| violation.to_string())?;
    let resource_type = resource_type(kind.resource_type);
    if resource_type != *asked {
        return Err(format!(
            "resource_kind.resource_type is {resource_type}, and {asked} was asked for"
        ));
    }
    Ok(Kind {
        resource_type,
        plural: kind.plural,
        singular: kind.singular,
        short_names: kind.short_names,
        categories: kind.categories,
        namespaced: kind.namespaced,
        description: kind.description,
        parameters_schema: Value::Object(kind.parameters_schema),
        status_schema: Value::Object(kind.status_schema),
        printer_columns: kind.printer_columns.into_iter().map(printer_column).collect(),
        capabilities: capabilities(kind.capabilities),
        external_name: name_rules(kind.external_name),
        field_rules: kind.field_rules.into_iter().map(field_rule).collect(),
        connection_keys: kind.connection_keys.into_iter().map(connection_key).collect(),
        timeouts: Timeouts {
            call: kind.timeouts.call,
            create: kind.timeouts.create,
            update: kind.timeouts.update,
            delete: kind.timeouts.delete,
        },
        examples: Vec::new(),
        list_filter_schema: kind.list_filter_schema.map(Value::Object),
        digest: digest.into(),
    })
}

pub(crate) fn resource_type(checked: checked::ResourceType) -> ResourceType {
    ResourceType {
        group: checked.group,
        version: checked.version,
        kind: checked.kind,
    }
}

fn printer_column(column: checked::PrinterColumn) -> PrinterColumn {
    PrinterColumn {
        name: column.name,
        data_type: column.data_type,
        json_path: column.json_path,
    }
}

fn capabilities(capabilities: checked::Capabilities) -> Capabilities {
    let recovery = |way: checked::CreateRecovery| match way {
        checked::CreateRecovery::DeterministicName => CreateRecovery::DeterministicName,
        checked::CreateRecovery::ClientToken => CreateRecovery::ClientToken,
        checked::CreateRecovery::Marker => CreateRecovery::Marker,
    };
    Capabilities {
        can_create: capabilities.can_create,
        can_update: capabilities.can_update,
        can_delete: capabilities.can_delete,
        create_recovery: capabilities.create_recovery.into_iter().map(recovery).collect(),
        token_retention: capabilities.token_retention,
        consistency_window: capabilities.consistency_window,
        holds_marker: capabilities.holds_marker,
        diff_mode: match capabilities.diff_mode {
            checked::DiffMode::Bridge => DiffMode::Bridge,
            checked::DiffMode::Plugin => DiffMode::Plugin,
        },
        concurrent_update: capabilities.concurrent_update,
        delete_during_create: capabilities.delete_during_create,
        rate_limit_group: capabilities.rate_limit_group,
        late_margin: capabilities.late_margin,
    }
}

fn name_rules(rules: checked::NameRules) -> NameRules {
    NameRules {
        source: match rules.source {
            checked::NameSource::User => NameSource::User,
            checked::NameSource::Provider => NameSource::Provider,
            checked::NameSource::Derived => NameSource::Derived,
        },
        pattern: rules.pattern,
        max_length: rules.max_length,
        example: rules.example,
    }
}

fn field_rule(rule: checked::FieldRule) -> FieldRule {
    FieldRule {
        path: rule.path,
        sensitive: rule.sensitive,
        mutability: match rule.mutability {
            checked::Mutability::Mutable => Mutability::Mutable,
            checked::Mutability::Immutable => Mutability::Immutable,
            checked::Mutability::SetOnce => Mutability::SetOnce,
        },
        comparison: match rule.comparison {
            checked::Comparison::Json => Comparison::Json,
            checked::Comparison::CaseInsensitive => Comparison::CaseInsensitive,
            checked::Comparison::JsonText => Comparison::JsonText,
            checked::Comparison::Quantity => Comparison::Quantity,
            checked::Comparison::WriteOnly => Comparison::WriteOnly,
        },
        late_initialized: rule.late_initialized,
        reference: rule.reference.map(|reference| ReferenceRule {
            resource_type: resource_type(reference.resource_type),
            extract: reference.extract,
        }),
    }
}

fn connection_key(key: checked::ConnectionKey) -> ConnectionKey {
    ConnectionKey {
        name: key.name,
        description: key.description,
        one_time: key.one_time,
    }
}
