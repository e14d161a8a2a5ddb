//! What a composite resource depends on: whose changes are its turn, and which kinds are to be watched for it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bridge_core::{
    composite::{
        Composite, names,
        requires::{self, Required},
    },
    definition::Scope,
    function::{ResourceMatch, ResourceSelector},
    watch_plan::GroupKind,
};

use super::{find::keys_of, library};
use crate::{
    object::{Key, Object},
    store::{Edge, Interest, LabelSelection, NeededKind},
};

const COMPOSITION_NAME: &str = "crossplane.io/composition-name";

/// The edges of the composite resources of a kind, whose definition enforces this composition.
pub(crate) fn edges(scope: Scope, enforced: Option<&str>) -> Arc<[Edge]> {
    let enforced: Option<Arc<str>> = enforced.map(Into::into);
    let of_references = enforced.clone();
    let references = move |object: &Object| {
        let xr = Composite::parse(object.to_value(), scope);
        let home = xr.namespace();
        let mut keys: Vec<Key> = xr.refs.iter().map(|one| keys_of(one, home)).collect();
        keys.extend(required(&xr).steps.selectors().flat_map(by_name));
        let composition = composition(&xr, of_references.as_deref());
        keys.extend(composition.map(|name| Key::new(library::composition_kind(), None, name)));
        // It may be of another composition.
        let revision = named(&xr, "compositionRevisionRef");
        keys.extend(revision.map(|name| Key::new(library::revision_kind(), None, name)));
        keys
    };
    let selections = move |object: &Object| {
        let xr = Composite::parse(object.to_value(), scope);
        let required = required(&xr);
        let mut selections: Vec<LabelSelection> = required.steps.selectors().filter_map(by_labels).collect();
        selections.extend(whole_kinds(&required));
        selections.extend(compositions(composition(&xr, enforced.as_deref())));
        selections
    };
    let needs = move |object: &Object| {
        let xr = Composite::parse(object.to_value(), scope);
        let refs = xr
            .refs
            .iter()
            .map(|one| needed(&one.api_version, &one.kind))
            .collect::<Vec<_>>();
        let required = required(&xr).kinds.resources;
        let required = required.iter().map(|one| needed(&one.api_version, &one.kind));
        let mut needs: Vec<NeededKind> = refs.into_iter().chain(required).collect();
        needs.sort();
        needs.dedup();
        needs
    };
    Arc::new([
        Edge::references(Arc::new(references)).with_interest(Interest::All),
        Edge::selections(Arc::new(selections)).with_interest(Interest::All),
        Edge::owned().with_interest(Interest::All),
        Edge::needs(Arc::new(needs)),
    ])
}

fn required(xr: &Composite) -> Required {
    requires::decode(xr.annotation(names::REQUIRES))
}

/// Where the requirements are too many to be stored, all objects of their kinds count.
fn whole_kinds(required: &Required) -> Vec<LabelSelection> {
    let selected: BTreeSet<GroupKind> = required.steps.selectors().map(group_kind).collect();
    let kinds = required.kinds.resources.iter();
    let kinds: BTreeSet<GroupKind> = kinds
        .map(|one| needed(&one.api_version, &one.kind).kind)
        .collect();
    kinds.difference(&selected).cloned().map(all).collect()
}

fn needed(api_version: &str, kind: &str) -> NeededKind {
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    NeededKind {
        kind: GroupKind::new(group, kind),
        version: version.to_owned(),
    }
}

fn group_kind(selector: &ResourceSelector) -> GroupKind {
    needed(&selector.api_version, &selector.kind).kind
}

/// Of a cluster-scoped kind the namespace says nothing; whether it is one is not known here.
fn by_name(selector: &ResourceSelector) -> Vec<Key> {
    let ResourceMatch::Name(name) = &selector.matching else {
        return Vec::new();
    };
    let namespace = selector.namespace.as_deref();
    let places = namespace.map(Some).into_iter().chain([None]);
    places
        .map(|place| Key::new(group_kind(selector), place, name))
        .collect()
}

fn by_labels(selector: &ResourceSelector) -> Option<LabelSelection> {
    match &selector.matching {
        ResourceMatch::Name(_) => None,
        ResourceMatch::Labels(labels) => Some(LabelSelection {
            kind: group_kind(selector),
            namespace: selector.namespace.clone(),
            labels: labels.clone(),
        }),
    }
}

fn all(kind: GroupKind) -> LabelSelection {
    LabelSelection {
        kind,
        namespace: None,
        labels: BTreeMap::new(),
    }
}

/// Revisions of its composition; of one that has none yet, all of them and all compositions.
fn compositions(composition: Option<&str>) -> Vec<LabelSelection> {
    match composition {
        Some(name) => vec![LabelSelection {
            labels: BTreeMap::from([(COMPOSITION_NAME.to_owned(), name.to_owned())]),
            ..all(library::revision_kind())
        }],
        None => vec![all(library::composition_kind()), all(library::revision_kind())],
    }
}

/// The composition that it has, or is to have whatever it names.
fn composition<'a>(xr: &'a Composite, enforced: Option<&'a str>) -> Option<&'a str> {
    enforced.or_else(|| named(xr, "compositionRef"))
}

/// What a reference of the composite resource names.
fn named<'a>(xr: &'a Composite, reference: &str) -> Option<&'a str> {
    xr.machinery()?.get(reference)?.get("name")?.as_str()
}

#[cfg(test)]
#[path = "dependencies_tests.rs"]
mod tests;
