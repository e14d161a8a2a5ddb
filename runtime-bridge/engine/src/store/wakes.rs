//! Whom a change wakes, by the edges of all kinds.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bridge_core::{queue::Priority, watch_plan::GroupKind};

use super::{Change, Edge, Interest, Store, edge::Relation, objects::Objects};
use crate::object::{Key, Object};

/// An object that depends on another one, and how.
struct Dependant {
    key: Key,
    edges: Arc<[Edge]>,
    nth: usize,
}

impl Dependant {
    fn edge(&self) -> Option<&Edge> {
        self.edges.get(self.nth)
    }
}

impl Store {
    /// Whom a change of one object concerns, directly or by way of others, and how urgently.
    pub fn wakes(&self, change: &Change) -> BTreeMap<Key, Priority> {
        let sides: Vec<&Object> = [&change.old, &change.new]
            .into_iter()
            .filter_map(Option::as_deref)
            .collect();
        let direct = self.objects.read().dependants(&change.key, &sides);
        let mut wakes = BTreeMap::new();
        if direct.is_empty() {
            return wakes;
        }
        let desired = change.concerns_dependants();
        let mut next: Vec<Key> = Vec::new();
        let counts = |dependant: &Dependant, of: &GroupKind| {
            let counts = |edge: &&Edge| edge.is_to(of) && (desired || edge.interest == Interest::All);
            let edge = dependant.edge().filter(counts)?;
            Some((edge.interest, edge.priority(change)?))
        };
        let mut wake = |key: Key, priority: Priority| {
            let known = wakes.entry(key).or_insert(priority);
            *known = priority.min(*known);
        };
        for dependant in direct {
            if let Some((interest, priority)) = counts(&dependant, change.key.kind()) {
                if interest == Interest::Desired {
                    next.push(dependant.key.clone());
                }
                wake(dependant.key, priority);
            }
        }
        let mut passed_on = BTreeSet::new();
        while let Some(key) = next.pop() {
            if !passed_on.insert(key.clone()) {
                continue;
            }
            let through = {
                let objects = self.objects.read();
                let object = objects.get(&key);
                objects.dependants(&key, object.as_deref().as_slice())
            };
            for dependant in through {
                if let Some((Interest::Desired, priority)) = counts(&dependant, key.kind()) {
                    next.push(dependant.key.clone());
                    wake(dependant.key, priority);
                }
            }
        }
        wakes
    }
}

impl Objects {
    /// Who depends on an object that is or was as its sides show; it need not exist.
    fn dependants(&self, key: &Key, sides: &[&Object]) -> Vec<Dependant> {
        let mut found = Vec::new();
        for dependant in self.dependencies.referrers.get(key) {
            self.each_edge(&dependant, |edges, outgoing| {
                let to_it = outgoing.references.iter().filter(|(_, to)| to == key);
                found.extend(to_it.map(|(nth, _)| dependant_by(&dependant, edges, *nth)));
            });
        }
        for dependant in self.selectors_of(key.kind(), sides) {
            self.each_edge(&dependant, |edges, outgoing| {
                let of_it = outgoing
                    .selections
                    .iter()
                    .filter(|(_, selection)| sides.iter().any(|side| selection.matches(side)));
                found.extend(of_it.map(|(nth, _)| dependant_by(&dependant, edges, *nth)));
            });
        }
        for owner in self.owners_of(sides) {
            if let Some(edges) = self.edges(owner.kind()) {
                let by_owner = |edge: &Edge| matches!(edge.relation, Relation::Owner);
                let nths = (0_u16..).zip(edges.iter()).filter(|(_, edge)| by_owner(edge));
                found.extend(nths.map(|(nth, _)| dependant_by(&owner, &edges, nth)));
            }
        }
        found
    }

    pub(super) fn has_dependants(&self, object: &Object) -> bool {
        !self.edges.is_empty() && !self.dependants(&object.key(), &[object]).is_empty()
    }

    fn each_edge(&self, dependant: &Key, mut each: impl FnMut(&Arc<[Edge]>, &super::edge::Outgoing)) {
        let outgoing = self
            .kinds
            .get(dependant.kind())
            .and_then(|kind| kind.outgoing(dependant));
        if let (Some(edges), Some(outgoing)) = (self.edges(dependant.kind()), outgoing) {
            each(&edges, outgoing);
        }
    }

    fn selectors_of(&self, kind: &GroupKind, sides: &[&Object]) -> BTreeSet<Key> {
        if self.dependencies.selectors.is_empty() {
            return BTreeSet::new();
        }
        let labels = sides.iter().flat_map(|side| side.meta.labels.iter().flatten());
        let labels = labels.map(|(name, value)| Some((name.to_owned(), value.to_owned())));
        std::iter::once(None)
            .chain(labels)
            .flat_map(|label| self.dependencies.selectors.get(&(kind.clone(), label)))
            .collect()
    }

    /// The owners that are known by their uid, of kinds that ask for it.
    fn owners_of(&self, sides: &[&Object]) -> BTreeSet<Key> {
        let mut owners = BTreeSet::new();
        for side in sides {
            for owner in side.owners() {
                let group = owner.api_version.rsplit_once('/').map_or("", |(group, _)| group);
                let kind = GroupKind::new(group, &owner.kind);
                if !self.edges.contains_key(&kind) {
                    continue;
                }
                // An owner is of the same namespace, or of none.
                let places = [side.namespace(), None].map(|at| Key::new(kind.clone(), at, &owner.name));
                let is_it = |key: &Key| self.get(key).is_some_and(|known| known.uid() == owner.uid);
                owners.extend(places.into_iter().find(is_it));
            }
        }
        owners
    }
}

fn dependant_by(key: &Key, edges: &Arc<[Edge]>, nth: u16) -> Dependant {
    Dependant {
        key: key.clone(),
        edges: Arc::clone(edges),
        nth: nth.into(),
    }
}

#[cfg(test)]
#[path = "wakes_tests.rs"]
mod tests;
