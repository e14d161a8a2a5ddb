//! Requests that lack one REQUIRED field each, created by walking the contract's descriptors.

use crossbridge_proto::FILE_DESCRIPTOR_SET;
use prost::Message;
use prost_reflect::{
    DescriptorPool, DynamicMessage, ExtensionDescriptor, FieldDescriptor, Kind, ReflectMessage, Value,
};

/// Marks a field that is REQUIRED without a condition.
const OPTION: &str = "crossbridge.provider.v1alpha1.is_required";

/// The request without each field that the contract requires and that it sets, by the field's dotted path.
pub(crate) fn without_each<Q: Message + Default>(
    request: &Q,
    name: &str,
) -> Result<Vec<(String, Q)>, String> {
    let failed = |error: &dyn std::fmt::Display| format!("the contract's descriptors: {error}");
    let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).map_err(|error| failed(&error))?;
    let option = pool
        .get_extension_by_name(OPTION)
        .ok_or("the option is missing")?;
    let descriptor = pool
        .get_message_by_name(&format!("crossbridge.provider.v1alpha1.{name}"))
        .ok_or_else(|| format!("there is no message {name}"))?;
    let whole = DynamicMessage::decode(descriptor, request.encode_to_vec().as_slice())
        .map_err(|error| failed(&error))?;
    let mut paths = Vec::new();
    collect(&whole, &option, &mut Vec::new(), &mut paths);
    paths
        .into_iter()
        .map(|path| {
            let mut broken = whole.clone();
            clear(&mut broken, &path);
            let names: Vec<&str> = path.iter().map(FieldDescriptor::name).collect();
            let request = Q::decode(broken.encode_to_vec().as_slice()).map_err(|error| failed(&error))?;
            Ok((names.join("."), request))
        })
        .collect()
}

fn collect(
    message: &DynamicMessage,
    option: &ExtensionDescriptor,
    at: &mut Vec<FieldDescriptor>,
    paths: &mut Vec<Vec<FieldDescriptor>>,
) {
    for field in message
        .descriptor()
        .fields()
        .filter(|field| message.has_field(field))
    {
        at.push(field.clone());
        if field.options().get_extension(option).as_bool() == Some(true) {
            paths.push(at.clone());
        }
        if !field.is_list()
            && !field.is_map()
            && matches!(field.kind(), Kind::Message(_))
            && let Value::Message(child) = message.get_field(&field).as_ref()
        {
            collect(child, option, at, paths);
        }
        at.pop();
    }
}

fn clear(message: &mut DynamicMessage, path: &[FieldDescriptor]) {
    match path {
        [] => {}
        [leaf] => message.clear_field(leaf),
        [field, rest @ ..] => {
            if let Value::Message(child) = message.get_field_mut(field) {
                clear(child, rest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crossbridge_proto::v1alpha1 as wire;

    use super::without_each;

    #[test]
    fn each_required_field_is_omitted_in_turn() {
        let request = wire::CheckConfigRequest {
            config: Some(wire::ConfigContext {
                config_id: "c".to_owned(),
                revision: "1".to_owned(),
                settings: Some(wire::Document {
                    json: "{}".to_owned(),
                }),
                ..Default::default()
            }),
        };
        let broken = without_each(&request, "CheckConfigRequest").unwrap();
        let paths: Vec<_> = broken.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(
            paths,
            [
                "config",
                "config.config_id",
                "config.revision",
                "config.settings.json"
            ]
        );
        assert_eq!(broken[0].1.config, None);
        let kept = broken[1].1.config.clone().unwrap();
        assert_eq!((kept.config_id.as_str(), kept.revision.as_str()), ("", "1"));
    }
}
