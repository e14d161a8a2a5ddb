//! The numbers, names and types that functions and Crossplane's command line are built against.

use std::fmt::Write;

use function_proto::FILE_DESCRIPTOR_SET;
use prost_reflect::{DescriptorPool, EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor};

const FUNCTIONS: &str = "apiextensions.fn.proto.v1";
const RENDER: &str = "crossplane.render.v1alpha1";

fn type_of(field: &FieldDescriptor) -> String {
    let of = |field: &FieldDescriptor| match field.kind() {
        Kind::Message(message) => message.name().to_owned(),
        Kind::Enum(kind) => kind.name().to_owned(),
        scalar => format!("{scalar:?}").to_lowercase(),
    };
    match field.kind() {
        Kind::Message(entry) if entry.is_map_entry() => {
            let value = entry.map_entry_value_field();
            format!("map<{},{}>", of(&entry.map_entry_key_field()), of(&value))
        }
        _ if field.is_list() => format!("repeated {}", of(field)),
        _ => of(field),
    }
}

fn described(message: &MessageDescriptor) -> String {
    let fields = message.fields().map(|field| {
        let group = match field.containing_oneof() {
            Some(group) if group.is_synthetic() => "optional ".to_owned(),
            Some(group) => format!("{}/", group.name()),
            None => String::new(),
        };
        format!("{} {} {group}{}", field.number(), field.name(), type_of(&field))
    });
    format!("{}: {}\n", message.name(), fields.collect::<Vec<_>>().join("; "))
}

fn enumerated(kind: &EnumDescriptor) -> String {
    let values = kind
        .values()
        .map(|value| format!("{} {}", value.number(), value.name()));
    format!("{}: {}\n", kind.name(), values.collect::<Vec<_>>().join("; "))
}

fn contract(package: &str) -> Vec<String> {
    let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).expect("descriptors");
    let mut text = String::new();
    for message in pool.all_messages() {
        if message.package_name() == package && !message.is_map_entry() {
            text += &described(&message);
        }
    }
    for kind in pool.all_enums().filter(|kind| kind.package_name() == package) {
        text += &enumerated(&kind);
    }
    for service in pool
        .services()
        .filter(|service| service.package_name() == package)
    {
        for method in service.methods() {
            let (input, output) = (method.input(), method.output());
            let (full, input, output) = (method.full_name(), input.name(), output.name());
            writeln!(text, "{full}({input}) {output}").expect("text");
        }
    }
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn every_name_number_and_type_is_upstreams() {
    let expected: Vec<&str> = include_str!("contract.txt").lines().collect();
    assert_eq!(contract(FUNCTIONS), expected);
    let expected: Vec<&str> = include_str!("render.txt").lines().collect();
    assert_eq!(contract(RENDER), expected);
}
