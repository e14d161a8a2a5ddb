//! What the CRDs of composite resources and of claims have in common: the author's schema inside Crossplane's, version by version.

use serde_json::{Map, Value, json};

use super::{column, machinery};
use crate::definition::{Definition, DefinitionRejected, DefinitionVersion, Names, Side};

/// Names are values of labels, which are no longer.
const MAX_NAME: i64 = 63;

/// What is carried over from the author's schema of `spec`, beside its properties.
const OF_SPEC: [&str; 5] = [
    "required",
    "oneOf",
    "description",
    "x-kubernetes-validations",
    "x-kubernetes-preserve-unknown-fields",
];

/// The same for `status`.
const OF_STATUS: [&str; 4] = ["required", "oneOf", "description", "x-kubernetes-validations"];

/// The same for the whole object.
const OF_ROOT: [&str; 2] = ["description", "x-kubernetes-validations"];

/// What makes the one CRD of a definition differ from the other.
pub(super) struct Generated<'a> {
    pub(super) side: Side,
    pub(super) names: &'a Names,
    pub(super) category: &'static str,
    pub(super) namespaced: bool,
    /// Properties of `spec` that are Crossplane's.
    pub(super) spec: Map<String, Value>,
    /// Properties of `status` that are Crossplane's.
    pub(super) status: Map<String, Value>,
    /// Columns between `READY` and `AGE`.
    pub(super) columns: Vec<Value>,
}

impl Generated<'_> {
    /// The CRD.
    pub(super) fn crd(&self, definition: &Definition) -> Result<Value, DefinitionRejected> {
        let versions: Vec<Value> = definition
            .versions
            .iter()
            .map(|version| self.version(definition, version))
            .collect::<Result<_, _>>()?;
        let mut crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": format!("{}.{}", self.names.plural, definition.group),
                "ownerReferences": [definition.controller_ref().to_value()],
            },
            "spec": {
                "group": definition.group,
                "names": names(self.names, self.category),
                "scope": if self.namespaced { "Namespaced" } else { "Cluster" },
                "versions": versions,
            },
        });
        let mut labels = definition.labels.clone();
        labels.extend(definition.metadata.labels.clone().unwrap_or_default());
        if !labels.is_empty() {
            crd["metadata"]["labels"] = json!(labels);
        }
        if let Some(annotations) = definition
            .metadata
            .annotations
            .as_ref()
            .filter(|all| !all.is_empty())
        {
            crd["metadata"]["annotations"] = json!(annotations);
        }
        if let Some(conversion) = &definition.conversion {
            crd["spec"]["conversion"] = conversion.clone();
        }
        Ok(crd)
    }

    fn version(
        &self,
        definition: &Definition,
        version: &DefinitionVersion,
    ) -> Result<Value, DefinitionRejected> {
        let author = Author {
            side: self.side,
            definition: &definition.name,
            version: &version.name,
        };
        let schema = author.schema(version)?;
        let mut subresources = json!({ "status": {} });
        if let Some(scale) = version.scale() {
            subresources["scale"] = scale.clone();
        }
        let mut rendered = json!({
            "name": version.name,
            "served": version.served,
            "storage": version.referenceable,
            "subresources": subresources,
            "additionalPrinterColumns": self.columns(version),
            "schema": { "openAPIV3Schema": self.schema(&author, schema)? },
        });
        if version.deprecated == Some(true) {
            rendered["deprecated"] = json!(true);
        }
        if let Some(warning) = &version.deprecation_warning {
            rendered["deprecationWarning"] = json!(warning);
        }
        Ok(rendered)
    }

    fn columns(&self, version: &DefinitionVersion) -> Vec<Value> {
        let condition = |of: &str| format!(".status.conditions[?(@.type=='{of}')].status");
        let mut columns = version.additional_printer_columns.clone().unwrap_or_default();
        columns.push(column("SYNCED", "string", &condition("Synced")));
        columns.push(column("READY", "string", &condition("Ready")));
        columns.extend(self.columns.iter().cloned());
        columns.push(column("AGE", "date", ".metadata.creationTimestamp"));
        columns
    }

    fn schema(&self, author: &Author<'_>, schema: &Map<String, Value>) -> Result<Value, DefinitionRejected> {
        let root = Level {
            schema,
            path: String::new(),
        };
        let spec = author.level(&root, "spec")?;
        let status = author.level(&root, "status")?;
        let mut rendered = json!({
            "type": "object",
            "required": ["spec"],
            "properties": {
                "apiVersion": { "type": "string" },
                "kind": { "type": "string" },
                "metadata": {
                    "type": "object",
                    "properties": { "name": { "type": "string", "maxLength": max_name(schema) } },
                },
                "spec": author.object(spec.as_ref(), &OF_SPEC, &self.spec)?,
                "status": author.object(status.as_ref(), &OF_STATUS, &self.status)?,
            },
        });
        carry(&mut rendered, schema, &OF_ROOT);
        Ok(rendered)
    }
}

/// One level of the author's schema.
struct Level<'a> {
    schema: &'a Map<String, Value>,
    /// JSON Pointer.
    path: String,
}

/// Whose schema is read, for errors.
struct Author<'a> {
    side: Side,
    definition: &'a str,
    version: &'a str,
}

impl Author<'_> {
    fn schema<'v>(
        &self,
        version: &'v DefinitionVersion,
    ) -> Result<&'v Map<String, Value>, DefinitionRejected> {
        let schema = version.schema().filter(|schema| !schema.is_null());
        let schema = schema.ok_or_else(|| DefinitionRejected::NoSchema {
            side: self.side,
            definition: self.definition.to_owned(),
            version: self.version.to_owned(),
        })?;
        schema.as_object().ok_or_else(|| self.must_be("", "an object"))
    }

    /// A property of the author's; `None`: there is none.
    fn level<'v>(&self, of: &Level<'v>, property: &str) -> Result<Option<Level<'v>>, DefinitionRejected> {
        let Some(properties) = self.properties(of)? else {
            return Ok(None);
        };
        let path = format!("{}/properties/{property}", of.path);
        match properties.get(property) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(schema)) => Ok(Some(Level { schema, path })),
            Some(_) => Err(self.must_be(&path, "an object")),
        }
    }

    fn properties<'v>(&self, of: &Level<'v>) -> Result<Option<&'v Map<String, Value>>, DefinitionRejected> {
        match of.schema.get("properties") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(properties)) => Ok(Some(properties)),
            Some(_) => Err(self.must_be(&format!("{}/properties", of.path), "an object")),
        }
    }

    /// The author's schema of `spec` or `status` with Crossplane's properties, which take the place of the author's of the same name.
    fn object(
        &self,
        level: Option<&Level<'_>>,
        carried: &[&str],
        injected: &Map<String, Value>,
    ) -> Result<Value, DefinitionRejected> {
        let mut rendered = json!({ "type": "object" });
        let mut properties = Map::new();
        if let Some(level) = level {
            carry(&mut rendered, level.schema, carried);
            properties = self.properties(level)?.cloned().unwrap_or_default();
        }
        properties.extend(injected.clone());
        rendered["properties"] = Value::Object(properties);
        Ok(rendered)
    }

    fn must_be(&self, path: &str, expected: &'static str) -> DefinitionRejected {
        DefinitionRejected::Schema {
            side: self.side,
            definition: self.definition.to_owned(),
            version: self.version.to_owned(),
            path: format!("openAPIV3Schema{path}"),
            expected,
        }
    }
}

fn carry(rendered: &mut Value, author: &Map<String, Value>, keywords: &[&str]) {
    for keyword in keywords {
        if let Some(value) = author.get(*keyword).filter(|value| !value.is_null()) {
            rendered[*keyword] = value.clone();
        }
    }
}

/// The author may only make it smaller.
fn max_name(schema: &Map<String, Value>) -> i64 {
    let author = schema
        .get("properties")
        .and_then(|properties| properties.pointer("/metadata/properties/name/maxLength"))
        .and_then(Value::as_i64);
    author.map_or(MAX_NAME, |author| author.min(MAX_NAME))
}

fn names(names: &Names, category: &str) -> Value {
    let mut categories = names.categories.clone().unwrap_or_default();
    categories.push(category.to_owned());
    let mut rendered = json!({ "kind": names.kind, "plural": names.plural, "categories": categories });
    for (field, name) in [("singular", &names.singular), ("listKind", &names.list_kind)] {
        if let Some(name) = name.as_ref().filter(|name| !name.is_empty()) {
            rendered[field] = json!(name);
        }
    }
    if let Some(short) = names.short_names.as_ref().filter(|short| !short.is_empty()) {
        rendered["shortNames"] = json!(short);
    }
    rendered
}

/// Crossplane's properties of `status`: those of legacy composite resources, and of claims, are more.
pub(super) fn status(is_legacy: bool) -> Map<String, Value> {
    let mut status = Map::from_iter([("conditions".to_owned(), machinery::conditions())]);
    if is_legacy {
        status.insert("connectionDetails".into(), machinery::connection_details());
        status.insert("claimConditionTypes".into(), machinery::claim_condition_types());
    }
    status
}
