//! A field that the contract gets is counted, or nobody reads it.

use std::collections::{BTreeMap, BTreeSet};

use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorSet,
    field_descriptor_proto::{Label, Type},
};

use super::*;

/// Fields of each message, by its full name.
type Messages = BTreeMap<String, Vec<FieldDescriptorProto>>;

fn add(of: &str, all: Vec<DescriptorProto>, messages: &mut Messages) {
    for message in all {
        let name = format!("{of}.{}", message.name.unwrap());
        add(&name, message.nested_type, messages);
        messages.insert(name, message.field);
    }
}

fn messages() -> Messages {
    let set = FileDescriptorSet::decode(function_proto::FILE_DESCRIPTOR_SET).unwrap();
    let mut messages = Messages::new();
    for file in set.file {
        let package = format!(".{}", file.package.unwrap());
        add(&package, file.message_type, &mut messages);
    }
    messages
}

#[test]
fn shapes_are_those_of_the_contract() {
    let messages = messages();
    let mut compared = BTreeSet::new();
    let response = ".apiextensions.fn.proto.v1.RunFunctionResponse".to_owned();
    let mut left = vec![(response, &RESPONSE)];
    while let Some((name, shape)) = left.pop() {
        if !compared.insert(name.clone()) {
            continue;
        }
        let mut known = 0;
        for field in &messages[&name] {
            let number = u64::try_from(field.number.unwrap()).unwrap();
            let is_message = field.r#type == Some(i32::from(Type::Message));
            match shape.fields.iter().find(|(of, ..)| *of == number) {
                Some((.., nested)) => {
                    assert!(is_message, "{name}: {field:?}");
                    known += 1;
                    left.push((field.type_name.clone().unwrap(), *nested));
                }
                None if is_message => {
                    let field = field.name.as_deref().unwrap();
                    assert!(["meta", "output"].contains(&field), "{name}: {field}");
                }
                None => assert_ne!(field.label, Some(i32::from(Label::Repeated)), "{name}: {field:?}"),
            }
        }
        assert_eq!(known, shape.fields.len(), "{name}");
    }
}
