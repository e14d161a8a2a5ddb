use proptest::prelude::*;
use prost::Message;
use prost_types::{ListValue, Struct as Reference, Value as ReferenceValue, value::Kind};
use serde_json::{Map, Value, json};

use super::{JsonError, JsonFault, MAX_NESTING};
use crate::Struct;

/// The same by the types that prost generates.
fn reference(map: &Map<String, Value>) -> Reference {
    let fields = map.iter().map(|(name, value)| (name.clone(), kind(value)));
    Reference {
        fields: fields.collect(),
    }
}

fn kind(value: &Value) -> ReferenceValue {
    let kind = match value {
        Value::Null => Kind::NullValue(0),
        Value::Bool(value) => Kind::BoolValue(*value),
        Value::Number(number) => Kind::NumberValue(number.as_f64().unwrap()),
        Value::String(text) => Kind::StringValue(text.clone()),
        Value::Array(items) => Kind::ListValue(ListValue {
            values: items.iter().map(kind).collect(),
        }),
        Value::Object(map) => Kind::StructValue(reference(map)),
    };
    ReferenceValue { kind: Some(kind) }
}

fn of(reference: &Reference) -> Struct {
    Struct::decode(reference.encode_to_vec().as_slice()).unwrap()
}

fn map(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else {
        panic!("{value} is no object");
    };
    map
}

fn values() -> impl Strategy<Value = Value> {
    const EXACT: i64 = 1 << 53;
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-EXACT..=EXACT).prop_map(Value::from),
        // Whole doubles come back as integers.
        (-1000_i32..1000).prop_map(|halves| json!(f64::from(halves) + 0.5)),
        ".{0,200}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".{0,8}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn an_object_survives_the_wire_in_both_directions(value in values()) {
        let object = map(json!({"value": value}));
        let encoded = Struct::from_map(&object).unwrap().encode_to_vec();
        prop_assert_eq!(Reference::decode(encoded.as_slice()).unwrap(), reference(&object));
        prop_assert_eq!(Struct::decode(encoded.as_slice()).unwrap().to_map().unwrap(), object.clone());
        prop_assert_eq!(of(&reference(&object)).to_map().unwrap(), object);
    }

    #[test]
    fn bytes_that_are_no_object_are_an_error_at_most(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(decoded) = Struct::decode(bytes.as_slice()) {
            let _ = decoded.to_map();
        }
    }
}

#[test]
fn whole_numbers_are_integers_and_others_stay() {
    let fields = [
        ("a", 3.0),
        ("b", -0.0),
        ("c", 0.5),
        ("d", 9_007_199_254_740_992.0),
        ("e", -9_223_372_036_854_775_808.0),
        ("f", 1e19),
    ];
    let fields = fields.map(|(name, number)| {
        let kind = Some(Kind::NumberValue(number));
        (name.to_owned(), ReferenceValue { kind })
    });
    let decoded = of(&Reference {
        fields: fields.into(),
    });
    assert_eq!(
        Value::Object(decoded.to_map().unwrap()).to_string(),
        r#"{"a":3,"b":0,"c":0.5,"d":9007199254740992,"e":-9223372036854775808,"f":1e+19}"#
    );
}

#[test]
fn numbers_that_json_lacks_are_rejected_by_path() {
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let bad = ReferenceValue {
            kind: Some(Kind::NumberValue(number)),
        };
        let list = ListValue {
            values: vec![kind(&json!(1)), bad],
        };
        let sizes = ReferenceValue {
            kind: Some(Kind::ListValue(list)),
        };
        let spec = Reference {
            fields: [("sizes".to_owned(), sizes)].into(),
        };
        let object = Reference {
            fields: [(
                "spec".to_owned(),
                ReferenceValue {
                    kind: Some(Kind::StructValue(spec)),
                },
            )]
            .into(),
        };
        let error = of(&object).to_map().unwrap_err();
        assert_eq!(error.fault, JsonFault::NotFinite);
        assert!(
            error.to_string().starts_with("spec.sizes[1] is NaN or infinite"),
            "{error}"
        );
    }
}

#[test]
fn a_value_of_no_kind_is_rejected_by_path() {
    let fields = [("spec".to_owned(), ReferenceValue { kind: None })].into();
    let error = of(&Reference { fields }).to_map().unwrap_err();
    assert_eq!(error.to_string(), "spec has no value, not even null");
}

/// So many objects and lists in one another.
fn nested(depth: usize) -> Value {
    (1..depth).fold(json!({}), |inner, level| {
        if level % 2 == 0 && level + 1 < depth {
            json!([inner])
        } else {
            json!({"a": inner})
        }
    })
}

#[test]
fn nesting_ends_at_its_limit_in_both_directions() {
    let deepest = nested(MAX_NESTING);
    let encoded = Struct::from_json(&deepest).unwrap();
    let received = Struct::decode(encoded.encode_to_vec().as_slice()).unwrap();
    assert_eq!(Value::Object(received.to_map().unwrap()), deepest);

    let error = Struct::from_json(&json!({"a": deepest})).unwrap_err();
    assert_eq!(error.fault, JsonFault::TooDeep);
    let longer = Struct::decode(wrapped(&encoded).as_slice()).unwrap();
    assert_eq!(longer.to_map().unwrap_err().fault, JsonFault::TooDeep);
}

/// `{"a": object}`, without a look at its depth.
fn wrapped(object: &Struct) -> Vec<u8> {
    let field = |key: u8, content: &[u8]| {
        let mut out = vec![key];
        prost::encoding::encode_varint(content.len() as u64, &mut out);
        out.extend(content);
        out
    };
    let value = field(0x2a, &object.encode_to_vec());
    field(0x0a, &[field(0x0a, b"a"), field(0x12, &value)].concat())
}

#[test]
fn what_is_no_object_is_rejected() {
    for value in [json!([]), json!(1), json!(null)] {
        let error = Struct::from_json(&value).unwrap_err();
        assert_eq!(error, JsonError::from(JsonFault::NotAnObject));
        assert_eq!(error.to_string(), "is not an object");
    }
}
