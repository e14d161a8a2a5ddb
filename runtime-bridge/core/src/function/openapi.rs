//! Schemas of kinds, as documents of OpenAPI v3 have them.

use serde_json::{Map, Value};

use super::SchemaSelector;

/// References within references are followed so deep; what lies below is any value.
const DEPTH: usize = 64;
/// Once a schema has so many nodes, its further references are not followed: a chain in which each schema refers twice to the next doubles with each.
const MOST_NODES: usize = 100_000;

/// The schema of a kind, with everything that it refers to put in place; `None`: the kind is not known. Where a schema refers to one that it is part
/// of, as one that describes schemas does, any value is allowed, and so it is below what is too large.
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
    let mut inliner = Inliner {
        schemas,
        path: Vec::new(),
        nodes: 0,
    };
    Some(inliner.inlined(schema))
}

/// Puts in place what a schema refers to.
struct Inliner<'a> {
    schemas: &'a Map<String, Value>,
    /// Names of the schemas that the present node is part of.
    path: Vec<&'a str>,
    nodes: usize,
}

impl<'a> Inliner<'a> {
    fn inlined(&mut self, schema: &'a Value) -> Value {
        self.nodes = self.nodes.saturating_add(1);
        match schema {
            Value::Object(fields) => {
                if let Some(name) = reference(fields) {
                    return self.target(name);
                }
                let fields = fields.iter();
                let fields = fields.map(|(name, value)| (name.clone(), self.inlined(value)));
                Value::Object(fields.collect())
            }
            Value::Array(all) => all.iter().map(|one| self.inlined(one)).collect(),
            value => value.clone(),
        }
    }

    fn target(&mut self, name: &'a str) -> Value {
        let may_follow = self.path.len() < DEPTH && self.nodes < MOST_NODES && !self.path.contains(&name);
        let Some(target) = self.schemas.get(name).filter(|_| may_follow) else {
            return Value::Object(Map::new());
        };
        self.path.push(name);
        let inlined = self.inlined(target);
        self.path.pop();
        inlined
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

    fn nodes(value: &Value) -> usize {
        1 + match value {
            Value::Object(fields) => fields.values().map(nodes).sum(),
            Value::Array(all) => all.iter().map(nodes).sum(),
            _ => 0,
        }
    }

    fn refers(name: &str) -> Value {
        json!({"$ref": format!("#/components/schemas/{name}")})
    }

    #[test]
    fn a_schema_within_itself_is_any_value() {
        let fields = ["not", "items", "additionalItems"];
        let properties = fields.map(|field| (field.to_owned(), refers("Props")));
        let mut document = document();
        document["components"]["schemas"]["Props"] =
            json!({"properties": Map::from_iter(properties), "of": refers("Other")});
        document["components"]["schemas"]["Other"] = json!({"anyOf": [refers("Props"), refers("Other")]});
        document["components"]["schemas"]["Spec"] = refers("Props");
        let schema = schema_of_kind(&document, &selector("example.org/v1", "Thing")).unwrap();
        let expected = json!({
            "properties": {"not": {}, "items": {}, "additionalItems": {}},
            "of": {"anyOf": [{}, {}]},
        });
        assert_eq!(schema["properties"]["spec"], expected);
    }

    #[test]
    fn a_schema_that_doubles_with_each_reference_is_bounded() {
        let mut document = document();
        for level in 0..64 {
            let next = refers(&format!("Level{}", level + 1));
            document["components"]["schemas"][format!("Level{level}")] = json!({"a": next, "b": next});
        }
        document["components"]["schemas"]["Level64"] = json!({"type": "string"});
        document["components"]["schemas"]["Spec"] = refers("Level0");
        let schema = schema_of_kind(&document, &selector("example.org/v1", "Thing")).unwrap();
        let nodes = nodes(&schema);
        assert!((MOST_NODES / 2..MOST_NODES + 1000).contains(&nodes), "{nodes}");
        assert!(!schema.to_string().contains("$ref"));
    }
}
