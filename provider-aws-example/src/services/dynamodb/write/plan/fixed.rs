//! What of a table cannot be changed in place.

use crate::services::dynamodb::model::{
    AttributeDefinition, GlobalIndex, KeySchemaElement, LocalIndex, Projection, TableParameters,
};

/// The first difference that needs a new table: JSON Pointer and message.
pub(in crate::services::dynamodb) fn immutable_difference(
    desired: &TableParameters,
    observed: &TableParameters,
) -> Option<(String, &'static str)> {
    if !same_keys(&desired.key_schema, &observed.key_schema) {
        return Some((
            "/keySchema".to_owned(),
            "the primary key of a table cannot be changed",
        ));
    }
    if let Some(indexes) = &desired.local_secondary_indexes {
        let existing = observed.local_secondary_indexes.as_deref().unwrap_or_default();
        let exists = |index: &LocalIndex| existing.iter().any(|existing| is_same_local(index, existing));
        if indexes.len() != existing.len() || !indexes.iter().all(exists) {
            let path = "/localSecondaryIndexes".to_owned();
            return Some((path, "local secondary indexes can be chosen only at creation"));
        }
    }
    let local = desired.local_secondary_indexes.iter().flatten();
    let keys: Vec<&str> = local
        .flat_map(|index| &index.key_schema)
        .chain(&desired.key_schema)
        .map(|key| key.attribute_name.as_str())
        .collect();
    for (index, definition) in desired.attribute_definitions.iter().enumerate() {
        let is_key = keys.contains(&definition.attribute_name.as_str());
        if is_key && !observed.attribute_definitions.contains(definition) {
            let path = format!("/attributeDefinitions/{index}/attributeType");
            return Some((path, "the type of a key of a table cannot be changed"));
        }
    }
    None
}

/// The first difference that needs an existing index to be built anew: JSON Pointer and message. AWS could only remove and refill the index,
/// and queries would fail meanwhile: the user has to ask for it by another name.
pub(in crate::services::dynamodb) fn index_rebuild(
    desired: &TableParameters,
    observed: &TableParameters,
) -> Option<(String, String)> {
    let existing = observed.global_secondary_indexes.as_deref().unwrap_or_default();
    let mut kept = Vec::new();
    for (at, index) in desired.global_secondary_indexes.iter().flatten().enumerate() {
        let name = &index.index_name;
        let Some(other) = existing.iter().find(|other| other.index_name == *name) else {
            continue;
        };
        if !is_same_index(index, other) {
            return Some((
                format!("/globalSecondaryIndexes/{at}"),
                format!(
                    "keys and projection of the index {name:?} cannot be changed: add an index of another name, then remove this one"
                ),
            ));
        }
        kept.extend(other.key_schema.iter().map(|key| key.attribute_name.as_str()));
    }
    let mut definitions = desired.attribute_definitions.iter().enumerate();
    definitions.find_map(|(at, definition)| {
        let name = definition.attribute_name.as_str();
        let other = |known: &AttributeDefinition| {
            known.attribute_name == name && known.attribute_type != definition.attribute_type
        };
        (kept.contains(&name) && observed.attribute_definitions.iter().any(other)).then(|| {
            (
                format!("/attributeDefinitions/{at}/attributeType"),
                format!("the type of {name:?} cannot be changed while it is the key of an index"),
            )
        })
    })
}

/// Whether keys and projection are the same; the throughput does not count.
fn is_same_index(desired: &GlobalIndex, observed: &GlobalIndex) -> bool {
    desired.index_name == observed.index_name
        && same_keys(&desired.key_schema, &observed.key_schema)
        && same_projection(&desired.projection, &observed.projection)
}

fn is_same_local(desired: &LocalIndex, observed: &LocalIndex) -> bool {
    desired.index_name == observed.index_name
        && same_keys(&desired.key_schema, &observed.key_schema)
        && same_projection(&desired.projection, &observed.projection)
}

fn same_projection(desired: &Projection, observed: &Projection) -> bool {
    let names = |projection: &Projection| {
        let mut names = projection.non_key_attributes.clone().unwrap_or_default();
        names.sort();
        names
    };
    desired.projection_type == observed.projection_type && names(desired) == names(observed)
}

fn same_keys(desired: &[KeySchemaElement], observed: &[KeySchemaElement]) -> bool {
    let sorted = |keys: &[KeySchemaElement]| {
        let mut keys = keys.to_vec();
        keys.sort();
        keys
    };
    sorted(desired) == sorted(observed)
}
