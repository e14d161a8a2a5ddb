//! Which change of a table comes next. AWS takes one kind of change at a time, and the table is busy until it is done; what
//! remains is found by the next look.

use std::fmt;

use super::model::{AttributeDefinition, GlobalIndex, KeySchemaElement, Stream, TableParameters, Throughput};

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
    AddIndex {
        index: GlobalIndex,
        /// AWS takes those that are keys by then, and no others.
        definitions: Vec<AttributeDefinition>,
        throughput: Option<Throughput>,
    },
}

/// Which change it is, the same at each look until it is done.
impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DeletionProtection(_) => f.write_str("DeletionProtection"),
            Self::Capacity { .. } => f.write_str("Capacity"),
            Self::TableClass(_) => f.write_str("TableClass"),
            Self::Stream(stream) if stream.stream_enabled => f.write_str("StreamOn"),
            Self::Stream(_) => f.write_str("StreamOff"),
            Self::Encryption => f.write_str("Encryption"),
            Self::DropIndex(name) => write!(f, "DropIndex:{name}"),
            Self::AddIndex { index, .. } => write!(f, "AddIndex:{}", index.index_name),
        }
    }
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

/// What of an index that stays is wished to be other than it is, and where: JSON Pointer and sentence. AWS could only drop it and fill it
/// anew, which fails queries for as long as that takes: nobody is done that unasked.
pub(super) fn rebuilds(wish: &TableParameters, found: &TableParameters) -> Option<(String, String)> {
    let there = found.global_secondary_indexes.as_deref().unwrap_or_default();
    let wished = wish.global_secondary_indexes.as_deref();
    for (at, index) in wished.unwrap_or_default().iter().enumerate() {
        let name = &index.index_name;
        if there
            .iter()
            .any(|other| other.index_name == *name && !is_same_index(index, other))
        {
            return Some((
                format!("/globalSecondaryIndexes/{at}"),
                format!(
                    "keys and projection of the index {name:?} cannot be changed: add an index of another name, then take this one out"
                ),
            ));
        }
    }
    let stays = |name: &str| wished.is_none_or(|wished| wished.iter().any(|index| index.index_name == name));
    let kept = there.iter().filter(|index| stays(&index.index_name));
    let keys: Vec<&str> = kept
        .flat_map(|index| &index.key_schema)
        .map(|key| key.attribute_name.as_str())
        .collect();
    let mut definitions = wish.attribute_definitions.iter().enumerate();
    definitions.find_map(|(at, definition)| {
        let name = definition.attribute_name.as_str();
        let other = found
            .attribute_definitions
            .iter()
            .any(|there| there.attribute_name == name && there.attribute_type != definition.attribute_type);
        (other && keys.contains(&name)).then(|| {
            (
                format!("/attributeDefinitions/{at}/attributeType"),
                format!("the type of {name:?} cannot be changed while it is the key of an index"),
            )
        })
    })
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

/// Those that nobody wished for go first. AWS takes one index at a time.
fn indexes(wish: &TableParameters, found: &TableParameters) -> Option<Change> {
    let wished = wish.global_secondary_indexes.as_ref()?;
    let there = found.global_secondary_indexes.as_deref().unwrap_or_default();
    let is_in = |list: &[GlobalIndex], name: &str| list.iter().any(|index| index.index_name == name);
    let dropped = there.iter().find(|index| !is_in(wished, &index.index_name));
    if let Some(index) = dropped {
        return Some(Change::DropIndex(index.index_name.clone()));
    }
    let index = wished.iter().find(|index| !is_in(there, &index.index_name))?;
    let mut definitions = found.attribute_definitions.clone();
    for definition in &wish.attribute_definitions {
        let name = &definition.attribute_name;
        let is_new = index.key_schema.iter().any(|key| key.attribute_name == *name)
            && definitions.iter().all(|there| there.attribute_name != *name);
        if is_new {
            definitions.push(definition.clone());
        }
    }
    let throughput = index
        .provisioned_throughput
        .or(wish.provisioned_throughput)
        .or(found.provisioned_throughput);
    Some(Change::AddIndex {
        index: index.clone(),
        definitions,
        throughput,
    })
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
