//! Nothing is held of a response that was not counted.

use bridge_core::function::{HiddenMap, RunResponse};
use fastrand::Rng;
use serde_json::Value;

use super::*;
use crate::decode;

fn decoded(response: &[u8]) -> RunResponse {
    let decoded = wire::RunFunctionResponse::decode(response).unwrap();
    decode::response(decoded).unwrap()
}

/// The reader of a `Struct` passes over fields of number 0 and over bits that a varint has too many, which prost rejects.
#[test]
fn ignored_fields_of_an_object_do_not_end_the_count() {
    let overlong = [&[0x80_u8; 9][..], &[0x7e, 0]].concat();
    for ignored in [&[0_u8, 0][..], &overlong] {
        let items = [ignored, &field(1, &[8, 0]).repeat(3)].concat();
        let response = desiring(&entry(&list(&items)));
        let composite = decoded(&response).desired.composite.unwrap();
        assert_eq!(composite.object, json!({"": [null, null, null]}));
        assert_eq!(counted(&response).unwrap().values, VALUES - 4);
    }
}

#[test]
fn a_malformed_value_that_is_replaced_does_not_end_the_count() {
    let values = list(&field(1, &[8, 0]).repeat(3));
    let response = desiring(&field(1, &[field(2, &[0xff]), field(2, &values)].concat()));
    let composite = decoded(&response).desired.composite.unwrap();
    assert_eq!(composite.object, json!({"": [null, null, null]}));
    assert_eq!(counted(&response).unwrap().values, VALUES - 4);
}

#[test]
fn values_are_counted_as_deep_as_they_are_read() {
    let nested = |around: usize| {
        let inner = field(1, &[8, 0]).repeat(3);
        let lists = (0..around).fold(inner, |inner, _| field(1, &list(&inner)));
        desiring(&entry(&list(&lists)))
    };
    let deepest = nested(MAX_NESTING - 2);
    decoded(&deepest);
    let left = counted(&deepest).unwrap();
    assert_eq!(left.objects, OBJECTS - MAX_NESTING);
    assert_eq!(left.values, VALUES - (MAX_NESTING - 1) - 3);
    assert!(counted(&nested(2_000)).is_ok());
}

/// Values, objects and lists in it.
fn weigh(value: &Value, of: &mut (usize, usize)) {
    let inner: Vec<&Value> = match value {
        Value::Array(items) => items.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => return,
    };
    of.0 += inner.len();
    of.1 += 1;
    for value in inner {
        weigh(value, of);
    }
}

fn assert_counted(response: RunResponse, left: &Left) {
    let desired = response.desired;
    let mut of = (0, desired.resources.len());
    for resource in desired.composite.iter().chain(desired.resources.values()) {
        weigh(&resource.object, &mut of);
        of.1 += resource.connection_details.0.len();
    }
    if let Some(HiddenMap(context)) = response.context {
        weigh(&Value::Object(context), &mut of);
    }
    let required = response.requirements;
    let required = required.extra_resources.len() + required.resources.len() + required.schemas.len();
    assert!(of.0 <= VALUES - left.values, "{of:?} {left:?}");
    assert!(of.1 <= OBJECTS - left.objects, "{of:?} {left:?}");
    assert!(response.results.len() <= ENTRIES - left.results, "{left:?}");
    assert!(response.conditions.len() <= ENTRIES - left.conditions, "{left:?}");
    assert!(required <= ENTRIES - left.requirements, "{left:?}");
}

#[test]
fn a_whole_response_is_counted() {
    let encoded = response(20).encode_to_vec();
    assert_counted(decoded(&encoded), &counted(&encoded).unwrap());
}

/// Fields in one another, some of which are what their numbers say.
fn any_message(rng: &mut Rng, levels: usize) -> Vec<u8> {
    let mut message = Vec::new();
    for _ in 0..rng.usize(..4) {
        let number = rng.u8(1..8);
        match rng.u8(..12) {
            0 => message.extend([rng.u8(..), rng.u8(..)]),
            1 => message.extend([number << 3, rng.u8(..)]),
            2 => message.extend([(number << 3) | 1, 0, 0, 0, 0, 0, 0, 0, 0]),
            _ if levels == 0 => message.extend(field(number, b"text")),
            _ => message.extend(field(number, &any_message(rng, levels - 1))),
        }
    }
    message
}

#[test]
fn of_random_bytes_all_that_is_decoded_was_counted() {
    let mut rng = Rng::with_seed(1);
    let whole = response(2).encode_to_vec();
    let (mut read, mut malformed) = (0, 0);
    for round in 0..30_000 {
        let bytes: Vec<u8> = match round % 3 {
            0 => (0..rng.usize(..40)).map(|_| rng.u8(..)).collect(),
            1 => any_message(&mut rng, 9),
            _ => {
                let mut bytes = whole.clone();
                for _ in 0..rng.usize(..3) {
                    let at = rng.usize(..bytes.len());
                    bytes[at] = rng.u8(..);
                }
                bytes.truncate(rng.usize(whole.len() / 2..2 * whole.len()));
                bytes
            }
        };
        let left = counted(&bytes);
        let Ok(response) = wire::RunFunctionResponse::decode(bytes.as_slice()) else {
            malformed += 1;
            continue;
        };
        let left = left.unwrap_or_else(|rejected| panic!("{rejected:?}: {bytes:?}"));
        if let Ok(response) = decode::response(response) {
            read += 1;
            assert_counted(response, &left);
        }
    }
    assert!(read > 1_000 && malformed > 1_000, "{read} {malformed}");
}

#[test]
fn entries_of_a_map_are_counted_whatever_their_type_on_the_wire() {
    for wire_type in 0..6 {
        let entries = [(2 << 3) | wire_type, 0].repeat(3);
        let response = field(2, &entries);
        assert_eq!(decoded(&response).desired.resources.len(), 1);
        assert_eq!(counted(&response).unwrap().objects, OBJECTS - 3, "{wire_type}");
    }
}
