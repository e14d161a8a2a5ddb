//! Which change of a table comes next. AWS takes one kind of change at a time, and the table is busy until it is done; what
//! remains is found by the next look.

use super::model::{GlobalIndex, KeySchemaElement, Stream, TableParameters, Throughput};

/// One request of `UpdateTable`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    DeletionProtection(bool),
    /// Billing mode and throughput, of the table and of its indexes.
    Capacity {
        billing_mode: String,
        table: Option<Throughput>,
        indexes: Vec<(String, Throughput)>,
    },
    TableClass(String),
    Stream(Stream),
    Encryption,
    DropIndex(String),
    AddIndex(GlobalIndex),
}

/// What cannot be changed in place, and where: JSON Pointer and sentence.
pub(super) fn immutable(wish: &TableParameters, found: &TableParameters) -> Option<(String, &'static str)> {
    if !same_keys(&wish.key_schema, &found.key_schema) {
        return Some((
            "/keySchema".to_owned(),
            "the primary key of a table cannot be changed",
        ));
    }
    for (index, definition) in wish.attribute_definitions.iter().enumerate() {
        let is_key = wish
            .key_schema
            .iter()
            .any(|key| key.attribute_name == definition.attribute_name);
        if is_key && !found.attribute_definitions.contains(definition) {
            let path = format!("/attributeDefinitions/{index}/attributeType");
            return Some((path, "the type of a table's key cannot be changed"));
        }
    }
    if let Some(wished) = &wish.local_secondary_indexes {
        let found = found.local_secondary_indexes.as_deref().unwrap_or_default();
        if wished.len() != found.len() || !wished.iter().all(|index| found.contains(index)) {
            let path = "/localSecondaryIndexes".to_owned();
            return Some((path, "local secondary indexes are decided when a table is made"));
        }
    }
    None
}

/// The next change on the way from what was found to the wish.
pub(super) fn next(wish: &TableParameters, found: &TableParameters) -> Option<Change> {
    if let Some(wished) = wish.deletion_protection_enabled
        && Some(wished) != found.deletion_protection_enabled
    {
        return Some(Change::DeletionProtection(wished));
    }
    capacity(wish, found)
        .or_else(|| {
            let wished = wish
                .table_class
                .as_ref()
                .filter(|wished| Some(*wished) != found.table_class.as_ref())?;
            Some(Change::TableClass(wished.clone()))
        })
        .or_else(|| {
            stream(
                wish.stream_specification.as_ref()?,
                found.stream_specification.as_ref(),
            )
        })
        .or_else(|| encryption(wish, found))
        .or_else(|| indexes(wish, found))
}

fn capacity(wish: &TableParameters, found: &TableParameters) -> Option<Change> {
    let billing_mode = match (&wish.billing_mode, &found.billing_mode) {
        (Some(mode), _) | (None, Some(mode)) => mode.clone(),
        (None, None) => return None,
    };
    let changes_mode = Some(&billing_mode) != found.billing_mode.as_ref();
    if billing_mode != "PROVISIONED" {
        return changes_mode.then_some(Change::Capacity {
            billing_mode,
            table: None,
            indexes: Vec::new(),
        });
    }
    let changed = |wish: Option<Throughput>, found: Option<Throughput>| {
        wish.filter(|wish| changes_mode || Some(*wish) != found)
    };
    let table = changed(wish.provisioned_throughput, found.provisioned_throughput);
    let wished_index = |name: &str| {
        let named = wish
            .global_secondary_indexes
            .iter()
            .flatten()
            .find(|index| index.index_name == name);
        // A change of the mode must say a throughput for every index that is there.
        let default = wish.provisioned_throughput.filter(|_| changes_mode);
        named.and_then(|index| index.provisioned_throughput).or(default)
    };
    let indexes: Vec<(String, Throughput)> = found
        .global_secondary_indexes
        .iter()
        .flatten()
        .filter_map(|index| {
            let wished = changed(wished_index(&index.index_name), index.provisioned_throughput)?;
            Some((index.index_name.clone(), wished))
        })
        .collect();
    let is_change = changes_mode || table.is_some() || !indexes.is_empty();
    is_change.then_some(Change::Capacity {
        billing_mode,
        table,
        indexes,
    })
}

/// A stream that tells something else is another stream: the old one ends first.
fn stream(wish: &Stream, found: Option<&Stream>) -> Option<Change> {
    match found.filter(|found| found.stream_enabled) {
        Some(found) if wish.stream_enabled && wish.stream_view_type == found.stream_view_type => None,
        Some(_) => Some(Change::Stream(Stream {
            stream_enabled: false,
            stream_view_type: None,
        })),
        None => wish.stream_enabled.then(|| Change::Stream(wish.clone())),
    }
}

fn encryption(wish: &TableParameters, found: &TableParameters) -> Option<Change> {
    let wish = wish.sse_specification.as_ref()?;
    let differs = match &found.sse_specification {
        Some(found) if wish.enabled && found.enabled => {
            wish.kms_master_key_id.is_some() && wish.kms_master_key_id != found.kms_master_key_id
        }
        Some(found) => wish.enabled != found.enabled,
        None => wish.enabled,
    };
    differs.then_some(Change::Encryption)
}

fn indexes(wish: &TableParameters, found: &TableParameters) -> Option<Change> {
    let wished = wish.global_secondary_indexes.as_ref()?;
    let found = found.global_secondary_indexes.as_deref().unwrap_or_default();
    for index in found {
        let stays = wished.iter().any(|wished| is_same_index(wished, index));
        if !stays {
            return Some(Change::DropIndex(index.index_name.clone()));
        }
    }
    let missing = |wished: &&GlobalIndex| found.iter().all(|index| index.index_name != wished.index_name);
    wished
        .iter()
        .find(missing)
        .map(|index| Change::AddIndex(index.clone()))
}

/// The same but for its throughput.
fn is_same_index(wish: &GlobalIndex, found: &GlobalIndex) -> bool {
    let names = |index: &GlobalIndex| {
        let mut names = index.projection.non_key_attributes.clone().unwrap_or_default();
        names.sort();
        names
    };
    wish.index_name == found.index_name
        && same_keys(&wish.key_schema, &found.key_schema)
        && wish.projection.projection_type == found.projection.projection_type
        && names(wish) == names(found)
}

fn same_keys(wish: &[KeySchemaElement], found: &[KeySchemaElement]) -> bool {
    let sorted = |keys: &[KeySchemaElement]| {
        let mut keys = keys.to_vec();
        keys.sort();
        keys
    };
    sorted(wish) == sorted(found)
}

#[cfg(test)]
mod tests;
