//! Schemas of kinds, as documents of OpenAPI v3 have them.

use serde_json::{Map, Value};

use super::SchemaSelector;

/// References within references are followed so deep; what lies below is any value.
const DEPTH: usize = 64;

/// The schema of a kind, with everything that it refers to put in place; `None`: the kind is not known.
pub fn schema_of_kind(document: &Value, selector: &SchemaSelector) -> Option<Value> {
    let (group, version) = selector
        .api_version
        .rsplit_once('/')
        .unwrap_or(("", &selector.api_version));
    let schemas = document["components"]["schemas"].as_object()?;
    let is_it = |schema: &&Value| {
        let names = schema["x-kubernetes-group-version-kind"].as_array();
        names.into_iter().flatten().any(|name| {
            name["group"].as_str().unwrap_or_default() == group
                && name["version"] == version
                && name["kind"] == selector.kind
        })
    };
    let schema = schemas.values().find(is_it)?;
    Some(inlined(schema, schemas, DEPTH))
}

fn inlined(schema: &Value, schemas: &Map<String, Value>, depth: usize) -> Value {
    match schema {
        Value::Object(fields) => {
            if let Some(name) = reference(fields) {
                let target = schemas.get(name).filter(|_| depth > 0);
                return target.map_or_else(
                    || Value::Object(Map::new()),
                    |target| inlined(target, schemas, depth - 1),
                );
            }
            let fields = fields.iter();
            let fields = fields.map(|(name, value)| (name.clone(), inlined(value, schemas, depth)));
            Value::Object(fields.collect())
        }
        Value::Array(all) => all.iter().map(|one| inlined(one, schemas, depth)).collect(),
        value => value.clone(),
    }
}

/// Name of the schema that is meant instead.
fn reference(fields: &Map<String, Value>) -> Option<&str> {
    let path = fields.get("$ref")?.as_str()?;
    Some(path.rsplit_once('/').map_or(path, |(_, name)| name))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document() -> Value {
        json!({"components": {"schemas": {
            "Thing": {
                "type": "object",
                "properties": {"spec": {"$ref": "#/components/schemas/Spec"}},
                "x-kubernetes-group-version-kind": [{"group": "example.org", "kind": "Thing", "version": "v1"}],
            },
            "Spec": {"type": "object", "properties": {"of": {"allOf": [{"$ref": "#/components/schemas/Spec"}]}}},
        }}})
    }

    fn selector(api_version: &str, kind: &str) -> SchemaSelector {
        SchemaSelector {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        }
    }

    #[test]
    fn what_a_schema_refers_to_is_put_in_its_place() {
        let schema = schema_of_kind(&document(), &selector("example.org/v1", "Thing")).unwrap();
        assert_eq!(schema["properties"]["spec"]["type"], "object");
        let text = schema.to_string();
        assert!(!text.contains("$ref"), "{text}");
    }

    #[test]
    fn a_kind_that_the_document_lacks_is_not_known() {
        for (api_version, kind) in [("example.org/v1", "Other"), ("example.org/v2", "Thing")] {
            assert_eq!(schema_of_kind(&document(), &selector(api_version, kind)), None);
        }
    }
}
