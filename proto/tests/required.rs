//! What a comment calls REQUIRED, machines can read too.

use crossbridge_proto::FILE_DESCRIPTOR_SET;
use prost_reflect::{DescriptorPool, FieldDescriptor};

const OPTION: &str = "crossbridge.provider.v1alpha1.is_required";

/// What stands above the field in its file.
fn comment(field: &FieldDescriptor) -> String {
    let file = field.parent_file();
    let source = file.file_descriptor_proto().source_code_info.as_ref();
    let locations = &source.expect("comments").location;
    let location = locations
        .iter()
        .find(|location| location.path == field.path())
        .expect("a field's place");
    location.leading_comments().trim().replace('\n', " ")
}

#[test]
fn fields_with_an_unconditional_required_comment_have_the_option() {
    let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET).expect("descriptors");
    let option = pool.get_extension_by_name(OPTION).expect("the option");
    let mut required = 0;
    for message in pool.all_messages() {
        if message.package_name() != "crossbridge.provider.v1alpha1" || message.is_map_entry() {
            continue;
        }
        for field in message.fields() {
            let is_marked = field.options().get_extension(&option).as_bool() == Some(true);
            let comment = comment(&field);
            let is_said = comment == "REQUIRED." || comment.starts_with("REQUIRED. ");
            assert_eq!(
                is_marked,
                is_said && field.containing_oneof().is_none(),
                "{}: {comment}",
                field.full_name()
            );
            required += usize::from(is_marked);
        }
    }
    assert!(required > 50, "{required} fields");
}
