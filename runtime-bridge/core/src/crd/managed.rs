//! The CRD of a managed kind: Crossplane v2's namespaced envelope, or v1's cluster-scoped one.

use serde_json::{Map, Value, json};

use super::{
    CLUSTER_PROVIDER_CONFIG, KindRejected, Names, PROVIDER_CONFIG, Rejection, cel, column, definition,
    object_schema, pointer::tokens, schema, sensitive, set_once, status,
};
use crate::kind::{Kind, Mutability};

/// A rule of a kind that the bridge does not serve yet, and leaves out of the CRD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unserved {
    /// The field's path.
    pub(super) path: String,
    /// A sentence that says what users do instead.
    pub(super) instead: String,
}

/// The rules of a kind that are left out of its CRD. Their fields stand in it all the same, to be written by hand.
pub(super) fn unserved(kind: &Kind) -> Vec<Unserved> {
    let mut left_out = Vec::new();
    for rule in &kind.field_rules {
        if let Some(reference) = &rule.reference {
            left_out.push(Unserved {
                path: rule.path.clone(),
                instead: format!(
                    "Write the value itself: references to {} are not served yet.",
                    reference.resource_type.kind
                ),
            });
        }
        if rule.late_initialized {
            left_out.push(Unserved {
                path: rule.path.clone(),
                instead: "Left out, it stays so: late initialisation is not served yet.".into(),
            });
        }
    }
    left_out
}

/// The CRD of a managed kind, or why it cannot be served.
pub fn managed(kind: &Kind) -> Result<Value, KindRejected> {
    build(kind).map_err(|why| KindRejected {
        kind: kind.resource_type.clone(),
        why: Box::new(why),
    })
}

fn build(kind: &Kind) -> Result<Value, Rejection> {
    for (which, schema) in [
        ("parameters", &kind.parameters_schema),
        ("status", &kind.status_schema),
    ] {
        if !schema::is_object(schema) {
            return Err(Rejection::NotAnObject { which });
        }
    }
    let (for_provider, validations) = for_provider(kind)?;
    let mut spec = json!({
        "type": "object",
        "description": "Desired state of the resource.",
        "required": ["forProvider"],
        "properties": envelope(kind, for_provider),
    });
    if !validations.is_empty() {
        spec["x-kubernetes-validations"] = Value::from(validations);
    }
    let resource_type = &kind.resource_type;
    let names = Names {
        group: &resource_type.group,
        version: &resource_type.version,
        kind: &resource_type.kind,
        plural: &kind.plural,
        singular: &kind.singular,
        short: kind.short_names.clone(),
        categories: categories(kind),
        namespaced: kind.namespaced,
    };
    let schema = object_schema(description(kind), spec, status::managed(&kind.status_schema));
    Ok(definition(&names, &columns(kind), &schema))
}

/// What `kubectl explain` says of the kind. SDKs that derive a schema put the words there, and none beside it.
fn description(kind: &Kind) -> &str {
    let of_schema = kind.parameters_schema.get("description").and_then(Value::as_str);
    match (kind.description.as_str(), of_schema) {
        ("", Some(of_schema)) => of_schema,
        (own, _) => own,
    }
}

fn categories(kind: &Kind) -> Vec<String> {
    let mut categories = vec!["crossplane".to_owned(), "managed".to_owned()];
    for category in &kind.categories {
        if !categories.contains(category) {
            categories.push(category.clone());
        }
    }
    categories
}

fn columns(kind: &Kind) -> Vec<Value> {
    let condition = |of: &str| format!(".status.conditions[?(@.type=='{of}')].status");
    let mut columns = vec![
        column("READY", "string", &condition("Ready")),
        column("SYNCED", "string", &condition("Synced")),
        column(
            "EXTERNAL-NAME",
            "string",
            r".metadata.annotations.crossplane\.io/external-name",
        ),
    ];
    let own = kind.printer_columns.iter();
    columns.extend(own.map(|own| column(&own.name, &own.data_type, &own.json_path)));
    columns.push(column("AGE", "date", ".metadata.creationTimestamp"));
    columns
}

/// The parameters as users write them, and the rules that the whole spec must obey.
fn for_provider(kind: &Kind) -> Result<(Value, Vec<Value>), Rejection> {
    let rules = &kind.field_rules;
    let mut schema = kind.parameters_schema.clone();
    for rule in rules {
        if schema::find(&schema, &tokens(&rule.path)).is_none() {
            return Err(match &rule.reference {
                Some(reference) => Rejection::NeedsReference {
                    path: rule.path.clone(),
                    to: reference.resource_type.clone(),
                },
                None => Rejection::NoSuchField {
                    path: rule.path.clone(),
                },
            });
        }
    }
    for left_out in unserved(kind) {
        if let Some(field) = schema::find_mut(&mut schema, &tokens(&left_out.path)) {
            schema::note(field, &left_out.instead);
        }
    }
    sensitive::put_references(&mut schema, rules, kind.namespaced)?;
    for rule in rules.iter().filter(|rule| rule.mutability == Mutability::SetOnce) {
        set_once::add_rule(&mut schema, &sensitive::as_written(rules, tokens(&rule.path)))?;
    }
    let required = schema
        .as_object_mut()
        .and_then(|schema| schema.remove("required"));
    let required = required.as_ref().and_then(Value::as_array).into_iter().flatten();
    let mut validations = Vec::new();
    for name in required.filter_map(Value::as_str) {
        validations.push(required_rule(name)?);
        // `kubectl explain` knows of no rule in CEL.
        if let Some(field) = schema::find_mut(&mut schema, &[name.to_owned()]) {
            schema::note(field, "Required.");
        }
    }
    if schema.get("description").is_none() {
        schema["description"] = json!("Parameters of the external resource.");
    }
    Ok((schema, validations))
}

/// Required only where the bridge may create or update: an import that merely observes needs no desired state.
fn required_rule(field: &str) -> Result<Value, Rejection> {
    let name = cel::name(field).ok_or_else(|| Rejection::NotInCel {
        path: format!("/{field}"),
        name: field.into(),
    })?;
    let policies = ["*", "Create", "Update"].map(|verb| format!("'{verb}' in self.managementPolicies"));
    Ok(json!({
        "rule": format!("!({}) || has(self.forProvider.{name})", policies.join(" || ")),
        "message": format!("spec.forProvider.{field} is a required parameter"),
    }))
}

fn envelope(kind: &Kind, for_provider: Value) -> Map<String, Value> {
    let mut properties = Map::new();
    properties.insert("forProvider".into(), for_provider);
    properties.insert("managementPolicies".into(), management_policies());
    properties.insert("providerConfigRef".into(), config_reference(kind.namespaced));
    properties.insert("writeConnectionSecretToRef".into(), connection_secret(kind));
    if !kind.namespaced {
        let policy = json!({
            "type": "string",
            "enum": ["Orphan", "Delete"],
            "default": "Delete",
            "description": "What becomes of the external resource when this object is deleted. managementPolicies without Delete keep \
                it too; with an explicit Delete they win over Orphan.",
        });
        properties.insert("deletionPolicy".into(), policy);
    }
    properties
}

fn management_policies() -> Value {
    json!({
        "type": "array",
        "description": "What the bridge may do to the external resource; an empty list pauses the object. LateInitialize is accepted, \
            and has no effect yet.",
        "default": ["*"],
        "items": {
            "type": "string",
            "enum": ["Observe", "Create", "Update", "Delete", "LateInitialize", "*"],
        },
    })
}

fn config_reference(namespaced: bool) -> Value {
    let name = json!({ "type": "string", "description": "Name of the config." });
    if namespaced {
        json!({
            "type": "object",
            "description": "Where the external resource lives, and which credentials are used.",
            "default": { "kind": CLUSTER_PROVIDER_CONFIG, "name": "default" },
            "required": ["kind", "name"],
            "properties": {
                "kind": {
                    "type": "string",
                    "enum": [PROVIDER_CONFIG, CLUSTER_PROVIDER_CONFIG],
                    "description": "ProviderConfig is read from the object's own namespace.",
                },
                "name": name,
            },
        })
    } else {
        json!({
            "type": "object",
            "description": "ClusterProviderConfig that says where the external resource lives, and which credentials are used.",
            "default": { "name": "default" },
            "required": ["name"],
            "properties": { "name": name },
        })
    }
}

fn connection_secret(kind: &Kind) -> Value {
    let mut description = String::from("Secret that connection details are written to.");
    if !kind.connection_keys.is_empty() {
        let keys: Vec<&str> = kind.connection_keys.iter().map(|key| key.name.as_str()).collect();
        description = format!("{description} Keys: {}.", keys.join(", "));
    }
    let mut properties = json!({ "name": { "type": "string", "description": "Name of the Secret." } });
    let mut required = vec!["name"];
    if !kind.namespaced {
        properties["namespace"] = json!({ "type": "string", "description": "Namespace of the Secret." });
        required.push("namespace");
    }
    json!({ "type": "object", "description": description, "required": required, "properties": properties })
}
