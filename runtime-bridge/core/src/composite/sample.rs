//! Arbitrary JSON for property tests.

use proptest::prelude::*;
use serde_json::{Map, Value};

/// Any JSON, a few levels deep.
pub(super) fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1000_i64..1000).prop_map(Value::from),
        (-1000_i32..1000).prop_map(|number| Value::from(f64::from(number) / 4.0)),
        "[a-c]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            fields(inner).prop_map(Value::from),
        ]
    })
}

/// A JSON object.
pub(super) fn object() -> impl Strategy<Value = Value> {
    fields(json()).prop_map(Value::from)
}

fn fields(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::btree_map("[a-e]{1,2}", value, 0..5).prop_map(|fields| fields.into_iter().collect())
}

/// The same, its keys put in the other way round, where a map keeps their order at all.
pub(super) fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(object) => object
            .iter()
            .rev()
            .map(|(key, value)| (key.clone(), reversed(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(elements) => elements.iter().map(reversed).collect(),
        other => other.clone(),
    }
}
