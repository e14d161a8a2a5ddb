//! Canaries in every secret field of every message: none may show in `Debug`.

use std::{collections::BTreeSet, fmt::Debug};

use prost::Message;
use prost_reflect::{
    Cardinality, DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, Value,
};

use crate::{FILE_DESCRIPTOR_SET, v1alpha1 as wire};

const CANARY: &str = "canary";
const PLAIN: &str = "plain";
const PACKAGE: &str = "crossbridge.provider.v1alpha1";

fn pool() -> DescriptorPool {
    DescriptorPool::decode(FILE_DESCRIPTOR_SET).expect("our own descriptor set")
}

fn is_secret(field: &FieldDescriptor) -> bool {
    field
        .options()
        .get_field_by_name("debug_redact")
        .and_then(|value| value.as_bool())
        .unwrap_or(false)
}

/// Does the message, or one within it, hold a secret field?
fn holds_secrets(message: &MessageDescriptor) -> bool {
    message.fields().any(|field| {
        is_secret(&field)
            || matches!(field.kind(), Kind::Message(inner) if !field.is_map() && holds_secrets(&inner))
    })
}

fn value(kind: &Kind, text: &str) -> Value {
    match kind {
        Kind::String => Value::String(text.to_owned()),
        Kind::Bytes => Value::Bytes(text.to_owned().into()),
        Kind::Bool => Value::Bool(true),
        Kind::Int32 => Value::I32(1),
        Kind::Int64 => Value::I64(1),
        Kind::Enum(_) => Value::EnumNumber(1),
        Kind::Message(message) => Value::Message(filled(message)),
        other => panic!("teach this test the type {other:?}"),
    }
}

/// The message with every field set; of a oneof, the last one that holds a secret, else the last.
fn filled(message: &MessageDescriptor) -> DynamicMessage {
    let mut filled = DynamicMessage::new(message.clone());
    let mut fields: Vec<_> = message.fields().collect();
    fields.sort_by_key(|field| match field.kind() {
        Kind::Message(inner) => !field.is_map() && holds_secrets(&inner),
        _ => is_secret(field),
    });
    for field in fields {
        let text = if is_secret(&field) { CANARY } else { PLAIN };
        let content = match field.kind() {
            Kind::Message(entry) if field.is_map() => {
                let of = value(&entry.map_entry_value_field().kind(), text);
                Value::Map([(MapKey::String("key".to_owned()), of)].into())
            }
            kind if field.cardinality() == Cardinality::Repeated => Value::List(vec![value(&kind, text)]),
            kind => value(&kind, text),
        };
        filled.set_field(&field, content);
    }
    filled
}

fn debug<M: Message + Default + Debug>(bytes: &[u8]) -> [String; 2] {
    let message = M::decode(bytes).expect("the same message");
    [format!("{message:?}"), format!("{message:#?}")]
}

macro_rules! messages {
    ($($message:ident),* $(,)?) => {
        [$((stringify!($message), debug::<wire::$message> as fn(&[u8]) -> [String; 2])),*]
    };
}

#[test]
fn no_message_shows_a_secret() {
    let messages = messages![
        CheckConfigRequest,
        Completed,
        ConfigContext,
        CreateRequest,
        CreateResponse,
        DeleteRequest,
        DeleteResponse,
        DesiredState,
        ListExternalRequest,
        Observation,
        ObserveRequest,
        ObserveResponse,
        Outcome,
        PollOperationRequest,
        PollOperationResponse,
        Target,
        UpdateRequest,
        UpdateResponse,
    ];
    // Numbers, as a byte string prints.
    let canary_bytes = format!("{:?}", CANARY.as_bytes());
    let canary_bytes = canary_bytes.trim_matches(['[', ']']);
    for (name, debug) in &messages {
        let descriptor = pool()
            .get_message_by_name(&format!("{PACKAGE}.{name}"))
            .unwrap_or_else(|| panic!("{name} is in the contract"));
        let bytes = filled(&descriptor).encode_to_vec();
        assert!(
            bytes
                .windows(CANARY.len())
                .any(|window| window == CANARY.as_bytes()),
            "{name} carries a canary"
        );
        for text in debug(&bytes) {
            assert!(
                !text.contains(CANARY) && !text.contains(canary_bytes),
                "{name}: {text}"
            );
            assert!(
                !text
                    .replace(char::is_whitespace, "")
                    .contains(&canary_bytes.replace(' ', ""))
            );
            assert!(
                text.contains("redacted"),
                "{name} reports that it left something out"
            );
            assert!(
                text.contains(PLAIN) || text.contains("key"),
                "{name} shows the rest"
            );
        }
    }

    let covered: BTreeSet<_> = messages.iter().map(|(name, _)| (*name).to_owned()).collect();
    let needed: BTreeSet<_> = pool()
        .all_messages()
        .filter(|message| message.package_name() == PACKAGE)
        .filter(|message| !message.is_map_entry() && holds_secrets(message))
        .map(|message| message.name().to_owned())
        .collect();
    assert_eq!(covered, needed, "every message that can hold a secret is tried");
}
