//! What of a table stays as it was made.

use crate::dynamodb::model::{
    AttributeDefinition, GlobalIndex, KeySchemaElement, LocalIndex, Projection, TableParameters,
};

/// What cannot be changed in place, and where: JSON Pointer and sentence.
pub(in crate::dynamodb) fn immutable(
    wish: &TableParameters,
    found: &TableParameters,
) -> Option<(String, &'static str)> {
    if !same_keys(&wish.key_schema, &found.key_schema) {
        return Some((
            "/keySchema".to_owned(),
            "the primary key of a table cannot be changed",
        ));
    }
    if let Some(wished) = &wish.local_secondary_indexes {
        let found = found.local_secondary_indexes.as_deref().unwrap_or_default();
        let is_there = |index: &LocalIndex| found.iter().any(|found| is_same_local(index, found));
        if wished.len() != found.len() || !wished.iter().all(is_there) {
            let path = "/localSecondaryIndexes".to_owned();
            return Some((path, "local secondary indexes are decided when a table is made"));
        }
    }
    let local = wish.local_secondary_indexes.iter().flatten();
    let keys: Vec<&str> = local
        .flat_map(|index| &index.key_schema)
        .chain(&wish.key_schema)
        .map(|key| key.attribute_name.as_str())
        .collect();
    for (index, definition) in wish.attribute_definitions.iter().enumerate() {
        let is_key = keys.contains(&definition.attribute_name.as_str());
        if is_key && !found.attribute_definitions.contains(definition) {
            let path = format!("/attributeDefinitions/{index}/attributeType");
            return Some((path, "the type of a key of a table cannot be changed"));
        }
    }
    None
}

/// What of an index that stays is wished to be other than it is, and where: JSON Pointer and sentence. AWS could only drop it and fill it
/// anew, which fails queries for as long as that takes: nobody is done that unasked.
pub(in crate::dynamodb) fn rebuilds(
    wish: &TableParameters,
    found: &TableParameters,
) -> Option<(String, String)> {
    let there = found.global_secondary_indexes.as_deref().unwrap_or_default();
    let mut kept = Vec::new();
    for (at, index) in wish.global_secondary_indexes.iter().flatten().enumerate() {
        let name = &index.index_name;
        let Some(other) = there.iter().find(|other| other.index_name == *name) else {
            continue;
        };
        if !is_same_index(index, other) {
            return Some((
                format!("/globalSecondaryIndexes/{at}"),
                format!(
                    "keys and projection of the index {name:?} cannot be changed: add an index of another name, then take this one out"
                ),
            ));
        }
        kept.extend(other.key_schema.iter().map(|key| key.attribute_name.as_str()));
    }
    let mut definitions = wish.attribute_definitions.iter().enumerate();
    definitions.find_map(|(at, definition)| {
        let name = definition.attribute_name.as_str();
        let other = |there: &AttributeDefinition| {
            there.attribute_name == name && there.attribute_type != definition.attribute_type
        };
        (kept.contains(&name) && found.attribute_definitions.iter().any(other)).then(|| {
            (
                format!("/attributeDefinitions/{at}/attributeType"),
                format!("the type of {name:?} cannot be changed while it is the key of an index"),
            )
        })
    })
}

/// The same but for its throughput.
fn is_same_index(wish: &GlobalIndex, found: &GlobalIndex) -> bool {
    wish.index_name == found.index_name
        && same_keys(&wish.key_schema, &found.key_schema)
        && same_projection(&wish.projection, &found.projection)
}

fn is_same_local(wish: &LocalIndex, found: &LocalIndex) -> bool {
    wish.index_name == found.index_name
        && same_keys(&wish.key_schema, &found.key_schema)
        && same_projection(&wish.projection, &found.projection)
}

fn same_projection(wish: &Projection, found: &Projection) -> bool {
    let names = |projection: &Projection| {
        let mut names = projection.non_key_attributes.clone().unwrap_or_default();
        names.sort();
        names
    };
    wish.projection_type == found.projection_type && names(wish) == names(found)
}

fn same_keys(wish: &[KeySchemaElement], found: &[KeySchemaElement]) -> bool {
    let sorted = |keys: &[KeySchemaElement]| {
        let mut keys = keys.to_vec();
        keys.sort();
        keys
    };
    sorted(wish) == sorted(found)
}
