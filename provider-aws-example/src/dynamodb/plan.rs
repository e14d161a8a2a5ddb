//! Which change of a table comes next. AWS takes one kind of change at a time, and the table is busy until it is done; what
//! remains is found by the next look.

mod fixed;

use std::fmt;

pub(super) use fixed::{immutable, rebuilds};

use super::model::{AttributeDefinition, GlobalIndex, Stream, TableParameters, Throughput};

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

#[cfg(test)]
mod tests;
