//! The CRDs `ProviderConfig` and `ClusterProviderConfig` of a plugin: its settings, and where its credentials come from.

use serde_json::{Map, Value, json};

use super::{
    CLUSTER_PROVIDER_CONFIG, CONFIG_VERSION, Names, PROVIDER_CONFIG, column, condition, definition,
    object_schema, schema,
};
use crate::kind::PluginInfo;

/// The namespaced config. Its Secret lies in its own namespace.
pub fn provider_config(plugin: &PluginInfo) -> Value {
    config(plugin, true)
}

/// The cluster-scoped config, which objects of every namespace may use.
pub fn cluster_provider_config(plugin: &PluginInfo) -> Value {
    config(plugin, false)
}

fn config(plugin: &PluginInfo, namespaced: bool) -> Value {
    let (kind, plural, singular, description) = if namespaced {
        (
            PROVIDER_CONFIG,
            "providerconfigs",
            "providerconfig",
            "Where external resources live, and which credentials are used, for objects of its own namespace.",
        )
    } else {
        (
            CLUSTER_PROVIDER_CONFIG,
            "clusterproviderconfigs",
            "clusterproviderconfig",
            "Where external resources live, and which credentials are used, for objects of every namespace.",
        )
    };
    let names = Names {
        group: &plugin.name,
        version: CONFIG_VERSION,
        kind,
        plural,
        singular,
        short: Vec::new(),
        categories: vec!["crossplane".into(), "provider".into()],
        namespaced,
    };
    let columns = [
        column("READY", "string", ".status.conditions[?(@.type=='Ready')].status"),
        column("SOURCE", "string", ".spec.credentials.source"),
        column("SECRET-NAME", "string", ".spec.credentials.secretRef.name"),
        column("AGE", "date", ".metadata.creationTimestamp"),
    ];
    let status = json!({
        "type": "object",
        "description": "Observed state of the resource.",
        "properties": {
            "conditions": condition::list(),
            "observedGeneration": {
                "type": "integer",
                "format": "int64",
                "description": "The metadata.generation that this status was written for.",
            },
        },
    });
    definition(
        &names,
        &columns,
        &object_schema(description, spec(plugin, namespaced), status),
    )
}

fn spec(plugin: &PluginInfo, namespaced: bool) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Some(settings) = &plugin.config_schema {
        let mut settings = settings.clone();
        if settings.get("description").is_none() {
            settings["description"] = json!("Settings of the plugin.");
        }
        if settings
            .get("required")
            .and_then(Value::as_array)
            .is_some_and(|names| !names.is_empty())
        {
            required.push("settings");
        }
        properties.insert("settings".into(), settings);
    }
    let mut credentials = credentials(plugin, namespaced);
    if plugin.credential_keys.is_empty() {
        credentials["default"] = json!({ "source": "None" });
    } else {
        required.insert(0, "credentials");
    }
    properties.insert("credentials".into(), credentials);
    let mut spec = json!({ "type": "object", "description": "Desired state of the resource.", "properties": properties });
    if !required.is_empty() {
        spec["required"] = json!(required);
    }
    spec
}

fn credentials(plugin: &PluginInfo, namespaced: bool) -> Value {
    let mut properties = json!({
        "source": {
            "type": "string",
            "enum": ["None", "Secret", "InjectedIdentity", "Environment", "Filesystem"],
            "description": "Where credentials come from. None and InjectedIdentity give the plugin none, so that it uses the identity of \
                the place where it runs, if there is one.",
        },
        "secretRef": secret_reference(namespaced),
        "env": {
            "type": "object",
            "description": "An environment variable of the bridge.",
            "required": ["name"],
            "properties": {
                "name": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Name of the variable. Its value is read as that of a Secret's key is; a value that is no JSON object is \
                        one credential, named as the variable is.",
                },
            },
        },
        "fs": {
            "type": "object",
            "description": "A file or a directory that the bridge can read.",
            "required": ["path"],
            "properties": {
                "path": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Of a directory, each file is a credential, named as the file is. A file is read as the value of a Secret's \
                        key is; one that holds no JSON object is one credential, named as the file is.",
                },
            },
        },
    });
    if namespaced {
        for host in ["env", "fs"] {
            schema::note(
                &mut properties[host],
                "A config of a namespace may use it only where the bridge was started so.",
            );
        }
    }
    let needs = |source: &str, field: &str| {
        json!({
            "rule": format!("self.source != '{source}' || has(self.{field})"),
            "message": format!("source {source} needs {field}"),
        })
    };
    json!({
        "type": "object",
        "description": describe_keys(plugin),
        "required": ["source"],
        "properties": properties,
        "x-kubernetes-validations": [
            needs("Secret", "secretRef"),
            needs("Environment", "env"),
            needs("Filesystem", "fs"),
        ],
    })
}

fn secret_reference(namespaced: bool) -> Value {
    let mut properties = json!({
        "name": { "type": "string", "minLength": 1, "description": "Name of the Secret." },
        "key": {
            "type": "string",
            "minLength": 1,
            "description": "Left out, each key of the Secret is a credential of that name. Given, the value of that key is read: a JSON object \
                holds the credentials by name (strings, or other JSON passed on as text); anything else is one credential, named as the \
                key is.",
        },
    });
    let mut required = vec!["name"];
    let description = if namespaced {
        "A Secret in the config's own namespace."
    } else {
        properties["namespace"] =
            json!({ "type": "string", "minLength": 1, "description": "Namespace of the Secret." });
        required.push("namespace");
        "A Secret."
    };
    json!({ "type": "object", "description": description, "required": required, "properties": properties })
}

fn describe_keys(plugin: &PluginInfo) -> String {
    if plugin.credential_keys.is_empty() {
        return "The plugin takes no credentials.".into();
    }
    let keys: Vec<String> = plugin
        .credential_keys
        .iter()
        .map(|key| {
            let required = if key.required { " (required)" } else { "" };
            let colon = if key.description.is_empty() { "" } else { ": " };
            format!(
                "{}{required}{colon}{}",
                key.name,
                key.description.trim_end_matches('.')
            )
        })
        .collect();
    format!("Credentials that are used: {}.", keys.join("; "))
}
