//! The plan of an update: which change comes next. AWS takes one kind of change at a time, and the table is busy until it is done; the
//! next observation finds what remains.

pub(super) mod fixed;

use std::fmt;

use crate::services::dynamodb::model::{
    AttributeDefinition, GlobalIndex, Stream, TableParameters, Throughput,
};

/// A change that one request of `UpdateTable` makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::services::dynamodb) enum TableChange {
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
        /// Of the keys that there will be: AWS accepts no others.
        definitions: Vec<AttributeDefinition>,
        throughput: Option<Throughput>,
    },
}

/// Identifies the change in handles: the text stays the same at each observation until the change is done.
impl fmt::Display for TableChange {
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

/// The next change on the way from the observed to the desired state.
pub(in crate::services::dynamodb) fn next_change(
    desired: &TableParameters,
    observed: &TableParameters,
) -> Option<TableChange> {
    if let Some(protection) = desired.deletion_protection_enabled
        && Some(protection) != observed.deletion_protection_enabled
    {
        return Some(TableChange::DeletionProtection(protection));
    }
    capacity(desired, observed)
        .or_else(|| {
            let class = desired
                .table_class
                .as_ref()
                .filter(|class| Some(*class) != observed.table_class.as_ref())?;
            Some(TableChange::TableClass(class.clone()))
        })
        .or_else(|| {
            stream(
                desired.stream_specification.as_ref()?,
                observed.stream_specification.as_ref(),
            )
        })
        .or_else(|| encryption(desired, observed))
        .or_else(|| indexes(desired, observed))
}

fn capacity(desired: &TableParameters, observed: &TableParameters) -> Option<TableChange> {
    let billing_mode = match (&desired.billing_mode, &observed.billing_mode) {
        (Some(mode), _) | (None, Some(mode)) => mode.clone(),
        (None, None) => return None,
    };
    let changes_mode = Some(&billing_mode) != observed.billing_mode.as_ref();
    if billing_mode != "PROVISIONED" {
        return changes_mode.then_some(TableChange::Capacity {
            billing_mode,
            table: None,
            indexes: Vec::new(),
        });
    }
    let changed = |desired: Option<Throughput>, observed: Option<Throughput>| {
        desired.filter(|desired| changes_mode || Some(*desired) != observed)
    };
    let table = changed(desired.provisioned_throughput, observed.provisioned_throughput);
    let desired_throughput = |name: &str| {
        let named = desired
            .global_secondary_indexes
            .iter()
            .flatten()
            .find(|index| index.index_name == name);
        // A change of the mode must give a throughput for every existing index.
        let default = desired.provisioned_throughput.filter(|_| changes_mode);
        named.and_then(|index| index.provisioned_throughput).or(default)
    };
    let indexes: Vec<(String, Throughput)> = observed
        .global_secondary_indexes
        .iter()
        .flatten()
        .filter_map(|index| {
            let throughput = changed(
                desired_throughput(&index.index_name),
                index.provisioned_throughput,
            )?;
            Some((index.index_name.clone(), throughput))
        })
        .collect();
    let is_change = changes_mode || table.is_some() || !indexes.is_empty();
    is_change.then_some(TableChange::Capacity {
        billing_mode,
        table,
        indexes,
    })
}

/// A stream with another view type is another stream: the former one ends first.
fn stream(desired: &Stream, observed: Option<&Stream>) -> Option<TableChange> {
    match observed.filter(|observed| observed.stream_enabled) {
        Some(observed) if desired.stream_enabled && desired.stream_view_type == observed.stream_view_type => {
            None
        }
        Some(_) => Some(TableChange::Stream(Stream {
            stream_enabled: false,
            stream_view_type: None,
        })),
        None => desired
            .stream_enabled
            .then(|| TableChange::Stream(desired.clone())),
    }
}

fn encryption(desired: &TableParameters, observed: &TableParameters) -> Option<TableChange> {
    let desired = desired.sse_specification.as_ref()?;
    let differs = match &observed.sse_specification {
        Some(observed) if desired.enabled && observed.enabled => {
            desired.kms_master_key_id.is_some() && desired.kms_master_key_id != observed.kms_master_key_id
        }
        Some(observed) => desired.enabled != observed.enabled,
        None => desired.enabled,
    };
    differs.then_some(TableChange::Encryption)
}

/// Undesired indexes are removed first. AWS changes one index at a time.
fn indexes(desired: &TableParameters, observed: &TableParameters) -> Option<TableChange> {
    let indexes = desired.global_secondary_indexes.as_ref()?;
    let existing = observed.global_secondary_indexes.as_deref().unwrap_or_default();
    let is_in = |list: &[GlobalIndex], name: &str| list.iter().any(|index| index.index_name == name);
    let undesired = existing.iter().find(|index| !is_in(indexes, &index.index_name));
    if let Some(index) = undesired {
        return Some(TableChange::DropIndex(index.index_name.clone()));
    }
    let index = indexes.iter().find(|index| !is_in(existing, &index.index_name))?;
    let mut definitions = observed.attribute_definitions.clone();
    for definition in &desired.attribute_definitions {
        let name = &definition.attribute_name;
        let is_new = index.key_schema.iter().any(|key| key.attribute_name == *name)
            && definitions.iter().all(|known| known.attribute_name != *name);
        if is_new {
            definitions.push(definition.clone());
        }
    }
    let throughput = index
        .provisioned_throughput
        .or(desired.provisioned_throughput)
        .or(observed.provisioned_throughput);
    Some(TableChange::AddIndex {
        index: index.clone(),
        definitions,
        throughput,
    })
}

#[cfg(test)]
mod tests;
