//! Defaults of a definition, which in a cluster the API server sets.

use bridge_core::{
    crd,
    definition::{Definition, DefinitionRejected, Terms},
};
use serde_json::Value;

use super::{RenderError, inputs::text};

/// Sets those of the version in which the composite resource is given. A definition of another kind changes nothing.
///
/// # Errors
/// The definition is none, or lacks the version.
pub(super) fn set(composite: &mut Value, definition: &Value) -> Result<(), RenderError> {
    let name = text(definition, "/metadata/name");
    let rejected = |why: String| RenderError::Definition {
        name: name.to_owned(),
        why,
    };
    let (group, version) = text(composite, "/apiVersion").split_once('/').unwrap_or_default();
    let is_of_kind = text(definition, "/spec/names/kind") == text(composite, "/kind")
        && text(definition, "/spec/group") == group;
    if !is_of_kind {
        return Ok(());
    }
    let crd = crd_of(definition).map_err(|why| rejected(why.to_string()))?;
    let mut versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    let Some(version) = versions.find(|one| one["name"] == version) else {
        return Err(rejected(format!(
            "it has no version {version:?}, in which the composite resource is"
        )));
    };
    fill(&version["schema"]["openAPIV3Schema"], composite);
    Ok(())
}

fn crd_of(definition: &Value) -> Result<Value, DefinitionRejected> {
    let definition = Definition::read(definition)?;
    crd::composite(&definition, &Terms::of(&definition)?)
}

/// Of fields that are absent, or null where they may not be. What is set has defaults within it, too.
fn fill(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                let is_due = fields
                    .get(name)
                    .is_none_or(|value| value.is_null() && property["nullable"] != true);
                let default = &property["default"];
                if is_due && !default.is_null() {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (name, value) in fields {
                let schema = schema["properties"]
                    .get(name)
                    .unwrap_or(&schema["additionalProperties"]);
                fill(schema, value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(&schema["items"], item)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn definition() -> Value {
        json!({
            "apiVersion": "apiextensions.crossplane.io/v2",
            "kind": "CompositeResourceDefinition",
            "metadata": { "name": "apps.example.org" },
            "spec": {
                "group": "example.org",
                "names": { "kind": "App", "plural": "apps" },
                "versions": [{
                    "name": "v1", "served": true, "referenceable": true,
                    "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": {
                        "type": "object",
                        "properties": {
                            "size": { "type": "integer", "default": 1 },
                            "disk": { "type": "object", "properties": { "kind": { "type": "string", "default": "ssd" } } },
                            "ports": { "type": "array", "items": {
                                "type": "object", "properties": { "protocol": { "type": "string", "default": "TCP" } },
                            }},
                            "labels": { "type": "object", "additionalProperties": {
                                "type": "object", "properties": { "on": { "type": "boolean", "default": true } },
                            }},
                        },
                    }}}},
                }],
            },
        })
    }

    fn defaulted(api_version: &str, spec: &Value) -> Result<Value, String> {
        let mut composite =
            json!({ "apiVersion": api_version, "kind": "App", "metadata": { "name": "a" }, "spec": spec });
        set(&mut composite, &definition()).map_err(|why| why.to_string())?;
        Ok(composite["spec"].take())
    }

    #[test]
    fn absent_fields_of_present_objects_get_their_defaults() {
        let of = |spec: Value| defaulted("example.org/v1", &spec).unwrap();
        assert_eq!(of(json!({})), json!({ "size": 1 }));
        assert_eq!(
            of(
                json!({ "size": null, "disk": {}, "ports": [{ "port": 1 }], "labels": { "a": {} }, "crossplane": {} })
            ),
            json!({
                "size": 1,
                "disk": { "kind": "ssd" },
                "ports": [{ "port": 1, "protocol": "TCP" }],
                "labels": { "a": { "on": true } },
                "crossplane": { "compositionUpdatePolicy": "Automatic" },
            })
        );
        assert_eq!(of(json!({ "size": 3 })), json!({ "size": 3 }));
    }

    #[test]
    fn a_version_that_the_definition_lacks_is_named() {
        assert_eq!(
            defaulted("example.org/v2", &json!({})).unwrap_err(),
            "cannot use CompositeResourceDefinition \"apps.example.org\": it has no version \"v2\", in which the composite resource is"
        );
        assert_eq!(defaulted("other.org/v1", &json!({})), Ok(json!({})));
    }
}
