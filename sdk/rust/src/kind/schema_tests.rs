use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::structural;

/// How it is stored.
#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
enum Storage {
    /// Fast.
    Standard,
    /// Slow.
    Cold,
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
enum Plain {
    A,
    B,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[allow(dead_code)]
enum Source {
    FromFile { path: String },
    FromText { text: String },
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind")]
#[allow(dead_code)]
enum Tagged {
    One { a: i32 },
    Two { b: String },
}

#[derive(Deserialize, JsonSchema, Default)]
#[allow(dead_code)]
struct Inner {
    depth: Option<u32>,
}

/// A file.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(dead_code)]
struct Everything {
    /// Its name.
    name: String,
    size: u64,
    seconds: i32,
    small: Option<u8>,
    ratio: Option<f64>,
    storage: Option<Storage>,
    plain: Plain,
    source: Option<Source>,
    tagged: Option<Tagged>,
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    tags: Option<BTreeMap<String, String>>,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    inner: Inner,
    list: Vec<Inner>,
    any: Option<Value>,
    any_object: Option<BTreeMap<String, Value>>,
    #[serde(default = "seven")]
    lucky: i64,
}

fn seven() -> i64 {
    7
}

#[test]
fn a_type_becomes_a_structural_schema() {
    let schema = structural::<Everything>().expect("nothing in it is beyond a CRD");
    assert_eq!(
        Value::Object(schema),
        json!({
            "type": "object",
            "description": "A file.",
            "required": ["name", "size", "seconds", "plain", "list"],
            "properties": {
                "name": {"type": "string", "description": "Its name."},
                "size": {"type": "integer", "minimum": 0},
                "seconds": {"type": "integer", "format": "int32"},
                "small": {"type": "integer", "minimum": 0, "maximum": 255},
                "ratio": {"type": "number", "format": "double"},
                "storage": {
                    "type": "string",
                    "enum": ["Standard", "Cold"],
                    "description": "How it is stored.\n\nStandard: Fast.\nCold: Slow.",
                },
                "plain": {"type": "string", "enum": ["A", "B"]},
                "source": {
                    "type": "object",
                    "properties": {
                        "fromFile": {
                            "type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"],
                        },
                        "fromText": {
                            "type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"],
                        },
                    },
                    "oneOf": [{"required": ["fromFile"]}, {"required": ["fromText"]}],
                },
                "tagged": {
                    "type": "object",
                    "required": ["kind"],
                    "properties": {
                        "kind": {"type": "string", "enum": ["One", "Two"]},
                        "a": {"type": "integer", "format": "int32"},
                        "b": {"type": "string"},
                    },
                },
                "tags": {
                    "type": "object",
                    "additionalProperties": {"type": "string"},
                    "x-kubernetes-map-type": "atomic",
                },
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "inner": {"type": "object", "properties": {"depth": {"type": "integer", "minimum": 0}}},
                "list": {
                    "type": "array",
                    "items": {"type": "object", "properties": {"depth": {"type": "integer", "minimum": 0}}},
                },
                "any": {"x-kubernetes-preserve-unknown-fields": true},
                "anyObject": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "lucky": {"type": "integer", "format": "int64", "default": 7},
            },
        })
    );
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Tree {
    children: Vec<Tree>,
}

#[test]
fn a_type_that_contains_itself_is_rejected() {
    let problem = structural::<Tree>().expect_err("a CRD knows no recursion");
    assert!(problem.contains("contains itself"), "{problem}");
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Mixed {
    port: Port,
}

#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code)]
enum Port {
    Number(u16),
    Name(String),
}

#[test]
fn an_enum_of_several_types_is_rejected_by_its_field() {
    let problem = structural::<Mixed>().expect_err("a field has one type");
    assert!(problem.starts_with("port: "), "{problem}");
}
