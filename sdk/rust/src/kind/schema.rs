//! JSON Schema as schemars writes it, turned structural as Kubernetes requires.
//!
//! Optional fields are simply absent from `required`: they are not `nullable`, as an absent field, not a null, means no opinion.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// Creates the schema of a type that is named elsewhere.
pub(crate) type SchemaOf = fn() -> Result<Object, String>;

/// Formats that Kubernetes knows; it warns of others, such as `uint32`.
const FORMATS: [&str; 9] = [
    "byte",
    "date",
    "date-time",
    "double",
    "duration",
    "float",
    "int32",
    "int64",
    "uuid",
];

/// The structural OpenAPI v3 schema of a type.
///
/// # Errors
/// A sentence on what the type holds that no structural schema can express.
pub(crate) fn structural<T: JsonSchema>() -> Result<Object, String> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.meta_schema = None;
        settings.inline_subschemas = true;
    });
    match settings.into_generator().into_root_schema_for::<T>().to_value() {
        Value::Object(mut schema) => {
            simplify(&mut schema)?;
            Ok(schema)
        }
        _ => Err("the type is no object".to_owned()),
    }
}

/// Turns one node, and all below it, structural.
fn simplify(schema: &mut Object) -> Result<(), String> {
    if schema.contains_key("$ref") || schema.contains_key("$defs") {
        return Err(
            "the type contains itself, which a CRD cannot express; use serde_json::Value there".to_owned(),
        );
    }
    schema.remove("title");
    drop_null(schema);
    merge_enums(schema);
    hoist_variants(schema)?;
    drop_default(schema);
    drop_format(schema);
    if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
        schema.remove("additionalProperties");
    }
    schema.remove("unevaluatedProperties");
    for keyword in ["items", "additionalProperties"] {
        if let Some(child) = schema.get_mut(keyword) {
            simplify_child(child)?;
        }
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for (name, property) in properties {
            simplify_child(property).map_err(|problem| format!("{name}: {problem}"))?;
        }
    }
    keep_unknown(schema);
    Ok(())
}

/// `true` stands for any value.
fn simplify_child(child: &mut Value) -> Result<(), String> {
    if !child.is_object() {
        *child = json!({});
    }
    child.as_object_mut().map_or(Ok(()), simplify)
}

/// `Option` becomes its content: `type: [T, null]`, `anyOf: [T, null]`, `enum: [.., null]`.
fn drop_null(schema: &mut Object) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    let Some(Value::Array(branches)) = schema.get_mut("anyOf") else {
        return;
    };
    branches.retain(|branch| branch.get("type") != Some(&json!("null")));
    if let [Value::Object(only)] = branches.as_mut_slice() {
        let only = std::mem::take(only);
        schema.remove("anyOf");
        for (keyword, value) in only {
            // The field's own description goes before its type's.
            schema.entry(keyword).or_insert(value);
        }
        drop_null(schema);
    }
}

/// Unit variants with docs of their own: `oneOf: [{const: A}, {enum: [B, C]}]` becomes one `enum`.
fn merge_enums(schema: &mut Object) {
    if let Some(value) = schema.remove("const") {
        schema.insert("enum".to_owned(), json!([value]));
        schema.entry("type").or_insert_with(|| json!("string"));
    }
    let Some(Value::Array(branches)) = schema.get("oneOf") else {
        return;
    };
    let mut values = Vec::new();
    let mut docs = Vec::new();
    for branch in branches {
        let Some(of_branch) = branch_values(branch) else {
            return;
        };
        if let (Some(text), [value]) = (
            branch.get("description").and_then(Value::as_str),
            of_branch.as_slice(),
        ) {
            docs.push(format!("{}: {text}", value.as_str().unwrap_or_default()));
        }
        values.extend(of_branch);
    }
    schema.remove("oneOf");
    schema.insert("type".to_owned(), json!("string"));
    schema.insert("enum".to_owned(), Value::Array(values));
    if !docs.is_empty() {
        let own = schema
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let text = format!("{own}\n\n{}", docs.join("\n")).trim().to_owned();
        schema.insert("description".to_owned(), Value::String(text));
    }
}

/// The strings that a branch allows, if it allows strings only.
fn branch_values(branch: &Value) -> Option<Vec<Value>> {
    match (branch.get("const"), branch.get("enum")) {
        (Some(value @ Value::String(_)), _) => Some(vec![value.clone()]),
        (_, Some(Value::Array(values))) if values.iter().all(Value::is_string) => Some(values.clone()),
        _ => None,
    }
}

/// An enum whose variants are objects becomes one object that has the fields of all; where each variant is one field, exactly one
/// must be there.
fn hoist_variants(schema: &mut Object) -> Result<(), String> {
    let Some(keyword) = ["oneOf", "anyOf", "allOf"]
        .into_iter()
        .find(|keyword| schema.contains_key(*keyword))
    else {
        return Ok(());
    };
    let Some(Value::Array(branches)) = schema.remove(keyword) else {
        return Ok(());
    };
    let mut tags = Vec::new();
    let mut common: Option<Vec<Value>> = None;
    for branch in &branches {
        if branch.get("type") != Some(&json!("object")) {
            return Err("an enum may hold unit variants only, or object variants only".to_owned());
        }
        let required = match branch.get("required") {
            Some(Value::Array(required)) => required.clone(),
            _ => Vec::new(),
        };
        if let Some(Value::Object(properties)) = branch.get("properties") {
            for (name, property) in properties {
                hoist_property(schema, name, property)?;
            }
        }
        if let [only] = required.as_slice() {
            tags.push(only.clone());
        }
        common = Some(match common {
            None => required,
            Some(common) if keyword == "allOf" => [common, required].concat(),
            Some(common) => common
                .into_iter()
                .filter(|name| required.contains(name))
                .collect(),
        });
    }
    schema.insert("type".to_owned(), json!("object"));
    add_required(schema, common.unwrap_or_default());
    tags.dedup();
    if keyword == "oneOf" && tags.len() == branches.len() && tags.len() > 1 {
        let choice = tags.iter().map(|tag| json!({"required": [tag]})).collect();
        schema.insert(keyword.to_owned(), Value::Array(choice));
    }
    Ok(())
}

fn add_required(schema: &mut Object, names: Vec<Value>) {
    if names.is_empty() {
        return;
    }
    if let Value::Array(required) = schema.entry("required").or_insert_with(|| json!([])) {
        for name in names {
            if !required.contains(&name) {
                required.push(name);
            }
        }
    }
}

/// Two variants may share a field of the same schema, or a tag, whose values are joined.
fn hoist_property(schema: &mut Object, name: &str, property: &Value) -> Result<(), String> {
    let Value::Object(properties) = schema.entry("properties").or_insert_with(|| json!({})) else {
        return Err("properties is no object".to_owned());
    };
    let Some(known) = properties.get_mut(name) else {
        properties.insert(name.to_owned(), property.clone());
        return Ok(());
    };
    if known == property {
        return Ok(());
    }
    match (branch_values(known), branch_values(property)) {
        (Some(mut values), Some(more)) => {
            values.extend(more);
            *known = json!({"type": "string", "enum": values});
            Ok(())
        }
        _ => Err(format!("{name}: the variants of an enum give it different types")),
    }
}

/// A default that changes nothing: what is absent already is null or empty.
fn drop_default(schema: &mut Object) {
    let says_nothing = match schema.get("default") {
        Some(Value::Null) => true,
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(members)) => members.values().all(Value::is_null),
        _ => false,
    };
    if says_nothing {
        schema.remove("default");
    }
}

fn drop_format(schema: &mut Object) {
    if let Some(Value::String(format)) = schema.get("format")
        && !FORMATS.contains(&format.as_str())
    {
        schema.remove("format");
    }
}

/// A node without a type is any value; an object without named fields is any object.
fn keep_unknown(schema: &mut Object) {
    const KEEP: &str = "x-kubernetes-preserve-unknown-fields";
    let free_form = schema.get("additionalProperties") == Some(&json!({ KEEP: true }));
    if free_form {
        schema.remove("additionalProperties");
    }
    if free_form || (!schema.contains_key("type") && !schema.contains_key("x-kubernetes-int-or-string")) {
        schema.insert(KEEP.to_owned(), Value::Bool(true));
    }
}

#[cfg(test)]
#[path = "schema_tests.rs"]
mod tests;
