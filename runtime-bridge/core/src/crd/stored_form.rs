//! What the API server makes of the spec of a CRD when it stores it: defaults are filled in, and what it does not know, or drops as empty, is gone.

use serde_json::{Map, Number, Value, json};

/// The spec as it is stored. Two specs with the same stored form are one to the API server.
pub(super) fn stored_form(spec: &Value) -> Value {
    let mut stored = spec.clone();
    let Some(fields) = stored.as_object_mut() else {
        return stored;
    };
    // A flag of an older version, which must be false.
    fields.remove("preserveUnknownFields");
    if let Some(names) = fields.get_mut("names").and_then(Value::as_object_mut) {
        store_names(names);
    }
    store_conversion(fields);
    for version in list_mut(fields.get_mut("versions")) {
        if let Some(version) = version.as_object_mut() {
            store_version(version);
        }
    }
    stored
}

fn store_names(names: &mut Map<String, Value>) {
    names.retain(|_, value| !is_blank(value));
    let kind = names
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let singular = || json!(kind.to_lowercase());
    names.entry("singular").or_insert_with(singular);
    let list = || json!(format!("{kind}List"));
    names.entry("listKind").or_insert_with(list);
}

fn store_conversion(spec: &mut Map<String, Value>) {
    let conversion = spec.entry("conversion").or_insert(Value::Null);
    if conversion.is_null() {
        *conversion = json!({ "strategy": "None" });
    }
    drop_nulls(conversion);
    let service = conversion.pointer_mut("/webhook/clientConfig/service");
    if let Some(service) = service.and_then(Value::as_object_mut) {
        service.entry("port").or_insert_with(|| json!(443));
    }
}

fn store_version(version: &mut Map<String, Value>) {
    version.retain(|name, value| !value.is_null() && (name != "deprecated" || *value != false));
    let columns = version.get_mut("additionalPrinterColumns");
    for column in list_mut(columns) {
        if let Some(column) = column.as_object_mut() {
            column.retain(|name, value| !is_blank(value) && (name != "priority" || *value != 0));
        }
    }
    if version.get("additionalPrinterColumns").is_some_and(is_blank) {
        version.remove("additionalPrinterColumns");
    }
    if let Some(subresources) = version.get_mut("subresources") {
        drop_nulls(subresources);
    }
    if let Some(schema) = version
        .get_mut("schema")
        .and_then(|schema| schema.get_mut("openAPIV3Schema"))
    {
        store_schema(schema);
    }
}

/// What a keyword of a schema holds, and so when the API server drops it. All are dropped when they are null.
enum Keyword {
    /// Kept, whatever it is.
    Kept,
    /// A value of the schema's own type: kept, and its numbers have one form.
    Value,
    /// Dropped when false.
    Flag,
    /// Dropped when empty: a text, or a list of texts.
    Blank,
    /// A list of values; dropped when empty.
    Values,
    /// A schema, or `true` or `false`.
    Schema,
    /// Schemas in a list; dropped when empty.
    List,
    /// Schemas by name; dropped when empty.
    Map,
    /// Rules in CEL; dropped when empty.
    Rules,
}

/// Every keyword that the API server knows; all others are dropped.
fn keyword(name: &str) -> Option<Keyword> {
    Some(match name {
        "default" | "example" | "maximum" | "minimum" | "multipleOf" | "maxLength" | "minLength"
        | "maxItems" | "minItems" | "maxProperties" | "minProperties" => Keyword::Value,
        "$ref"
        | "externalDocs"
        | "x-kubernetes-list-type"
        | "x-kubernetes-map-type"
        | "x-kubernetes-preserve-unknown-fields" => Keyword::Kept,
        "exclusiveMaximum"
        | "exclusiveMinimum"
        | "uniqueItems"
        | "nullable"
        | "x-kubernetes-embedded-resource"
        | "x-kubernetes-int-or-string" => Keyword::Flag,
        "id"
        | "$schema"
        | "description"
        | "type"
        | "format"
        | "title"
        | "pattern"
        | "required"
        | "x-kubernetes-list-map-keys" => Keyword::Blank,
        "enum" => Keyword::Values,
        "items" | "additionalItems" | "additionalProperties" | "not" => Keyword::Schema,
        "allOf" | "oneOf" | "anyOf" => Keyword::List,
        "properties" | "patternProperties" | "dependencies" | "definitions" => Keyword::Map,
        "x-kubernetes-validations" => Keyword::Rules,
        _ => return None,
    })
}

fn store_schema(schema: &mut Value) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    fields.retain(|name, value| keyword(name).is_some_and(|keyword| !is_dropped(&keyword, value)));
    for (name, value) in fields {
        match keyword(name) {
            Some(Keyword::Value | Keyword::Values) => store_numbers(value),
            Some(Keyword::Schema) => store_schema(value),
            Some(Keyword::List) => list_mut(Some(value)).iter_mut().for_each(store_schema),
            Some(Keyword::Map) => {
                if let Some(schemas) = value.as_object_mut() {
                    schemas.values_mut().for_each(store_schema);
                }
            }
            Some(Keyword::Rules) => list_mut(Some(value)).iter_mut().for_each(store_rule),
            Some(Keyword::Kept | Keyword::Flag | Keyword::Blank) | None => {}
        }
    }
}

fn is_dropped(keyword: &Keyword, value: &Value) -> bool {
    let is_dropped = match keyword {
        Keyword::Kept | Keyword::Value | Keyword::Schema => false,
        Keyword::Flag => *value == false,
        Keyword::Blank | Keyword::Values | Keyword::List | Keyword::Rules => is_blank(value),
        Keyword::Map => value.as_object().is_some_and(Map::is_empty),
    };
    is_dropped || value.is_null()
}

/// `reason` and `optionalOldSelf` are kept when they are given.
fn store_rule(rule: &mut Value) {
    const KNOWN: [&str; 6] = [
        "rule",
        "message",
        "messageExpression",
        "reason",
        "fieldPath",
        "optionalOldSelf",
    ];
    if let Some(fields) = rule.as_object_mut() {
        fields.retain(|name, value| KNOWN.contains(&name.as_str()) && (name == "rule" || !is_blank(value)));
    }
}

/// The API server writes 1.0 as 1.
fn store_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(whole) = whole(number) {
                *value = Value::from(whole);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(store_numbers),
        Value::Object(fields) => fields.values_mut().for_each(store_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// The integer that a number written as a fraction is, where doubles still tell integers apart.
#[allow(clippy::cast_possible_truncation)] // Below 2^53, and whole.
fn whole(number: &Number) -> Option<i64> {
    const LIMIT: f64 = 9_007_199_254_740_992.0;
    let value = number.as_f64().filter(|_| number.is_f64())?;
    (value.fract() == 0.0 && value.abs() < LIMIT).then_some(value as i64)
}

fn drop_nulls(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
        fields.values_mut().for_each(drop_nulls);
    }
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

fn list_mut(value: Option<&mut Value>) -> &mut [Value] {
    value
        .and_then(Value::as_array_mut)
        .map_or(&mut [], Vec::as_mut_slice)
}
