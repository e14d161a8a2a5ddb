//! What a usage depends on: whose changes are its turn, and which kinds are to be watched for it.

use std::sync::Arc;

use bridge_core::{
    composite::ResourceRef,
    protection::{Naming, Side, Usage, Which},
    watch_plan::GroupKind,
};

use super::stored::keys;
use crate::{
    object::{Key, Object},
    store::{Edge, Interest, LabelSelection, NeededKind},
};

const SIDES: [Side; 2] = [Side::Used, Side::Using];

/// The edges of usages of any kind.
pub(crate) fn edges() -> Arc<[Edge]> {
    Arc::new([
        Edge::references(Arc::new(references)).with_interest(Interest::All),
        Edge::selections(Arc::new(selections)).with_interest(Interest::All),
        Edge::needs(Arc::new(needs)),
    ])
}

fn namings(usage: &Usage) -> impl Iterator<Item = Naming> {
    SIDES.into_iter().filter_map(|side| usage.naming(side))
}

fn recorded(usage: &Usage) -> Vec<ResourceRef> {
    let record = usage.record().into_iter();
    record
        .flat_map(|record| [Some(record.of), record.by])
        .flatten()
        .map(|identity| identity.reference)
        .collect()
}

/// The two resources, as they are named and as they were found, and the controller.
fn references(object: &Object) -> Vec<Key> {
    let usage = Usage::new(object.to_value());
    let mut found: Vec<Key> = Vec::new();
    for naming in namings(&usage) {
        if let Which::Name(name) = &naming.which {
            found.extend(keys(
                &naming.api_version,
                &naming.kind,
                naming.namespace.as_deref(),
                name,
            ));
        }
    }
    for one in recorded(&usage) {
        found.extend(keys(
            &one.api_version,
            &one.kind,
            one.namespace.as_deref(),
            &one.name,
        ));
    }
    if let Some(controller) = object
        .owners()
        .iter()
        .find(|owner| owner.controller == Some(true))
    {
        found.extend(keys(
            &controller.api_version,
            &controller.kind,
            object.namespace(),
            &controller.name,
        ));
    }
    found.sort();
    found.dedup();
    found
}

fn selections(object: &Object) -> Vec<LabelSelection> {
    let usage = Usage::new(object.to_value());
    namings(&usage)
        .filter_map(|naming| match naming.which {
            Which::Name(_) => None,
            // A cluster-scoped object is in no namespace: which of the two it is turns out later.
            Which::Selector(selector) => Some(LabelSelection {
                kind: kind(&naming.api_version, &naming.kind),
                namespace: None,
                labels: selector.labels,
            }),
        })
        .collect()
}

fn needs(object: &Object) -> Vec<NeededKind> {
    let usage = Usage::new(object.to_value());
    let named = namings(&usage).map(|naming| (naming.api_version, naming.kind));
    let found = recorded(&usage)
        .into_iter()
        .map(|one| (one.api_version, one.kind));
    let mut needs: Vec<NeededKind> = named
        .chain(found)
        .filter(|(_, kind)| !kind.is_empty())
        .map(|(api_version, of)| NeededKind {
            kind: kind(&api_version, &of),
            version: api_version
                .rsplit_once('/')
                .map_or(&*api_version, |(_, version)| version)
                .to_owned(),
        })
        .collect();
    needs.sort();
    needs.dedup();
    needs
}

fn kind(api_version: &str, kind: &str) -> GroupKind {
    GroupKind::new(api_version.rsplit_once('/').map_or("", |(group, _)| group), kind)
}
