//! Facts that follow from a snapshot alone, derived once for a decision.

use std::{cmp::Reverse, collections::BTreeMap};

use jiff::Timestamp;

use super::{
    ObjectId, ResourceRef,
    live::{LiveObject, ObjectState, Ownership},
    memory::CompositeMemory,
    snapshot::Snapshot,
};
use crate::rule::Rule;

/// What everything else of a decision is derived from.
pub(super) struct Facts<'a> {
    pub snapshot: &'a Snapshot,
    pub memory: &'a CompositeMemory,
    /// Everything that is referred to or stray, in order.
    pub refs: Vec<ResourceRef>,
}

impl<'a> Facts<'a> {
    pub fn new(snapshot: &'a Snapshot, memory: &'a CompositeMemory) -> Self {
        let home = snapshot.xr.namespace();
        let mut refs = snapshot.xr.refs.clone();
        let strays = snapshot.strays.iter();
        for stray in strays.filter(|_| !Rule::StraysAreReferred.is_off()) {
            let id = stray.id(home);
            if !refs.iter().any(|one| one.names(&id, home)) {
                refs.push(stray.clone());
            }
        }
        Self {
            snapshot,
            memory,
            refs,
        }
    }

    /// An object that is referred to and of which nothing is known, and why. What our last write added is none: nothing of it was ever created.
    pub fn unknown(&self) -> Option<(ObjectId, &'a str)> {
        let snapshot: &'a Snapshot = self.snapshot;
        self.ids().find_map(|(id, _)| match snapshot.seen.get(&id) {
            Some(ObjectState::Unknown(why)) if !self.memory.added.contains(&id) => Some((id, why.as_str())),
            _ => None,
        })
    }

    /// Until when it is not reported that something is not known.
    pub fn patience(&self) -> Option<Timestamp> {
        let until = self.memory.unknown_since? + self.snapshot.settings.patience;
        (self.snapshot.now < until).then_some(until)
    }

    /// What is known of an object.
    pub fn seen(&self, id: &ObjectId) -> Option<&ObjectState> {
        self.snapshot.seen.get(id)
    }

    /// An object that exists.
    pub fn object(&self, id: &ObjectId) -> Option<&LiveObject> {
        match self.seen(id)? {
            ObjectState::Exists(object) => Some(object),
            ObjectState::Absent | ObjectState::KindGone | ObjectState::Unknown(_) => None,
        }
    }

    /// Each reference with its object's name.
    pub fn ids(&self) -> impl Iterator<Item = (ObjectId, &ResourceRef)> {
        let home = self.snapshot.xr.namespace();
        self.refs.iter().map(move |one| (one.id(home), one))
    }

    /// What is observed: objects that are ours, or nobody's and composed before, by composition resource name. Of two with one name the one that
    /// the machine keeps comes first.
    pub fn observed(&self) -> BTreeMap<&str, Vec<(ObjectId, &LiveObject)>> {
        let uid = self.snapshot.xr.uid();
        let mut observed: BTreeMap<&str, Vec<(ObjectId, &LiveObject)>> = BTreeMap::new();
        for (id, _) in self.ids() {
            let Some(ObjectState::Exists(object)) = self.snapshot.seen.get(&id) else {
                continue;
            };
            if object.ownership(uid) == Ownership::Foreign {
                continue;
            }
            if let Some(name) = object.resource_name() {
                observed.entry(name).or_default().push((id, object));
            }
        }
        for same in observed.values_mut() {
            // Of two kinds the one that was composed last counts, of two objects of a kind the older one.
            let mut newest: BTreeMap<(String, String), Option<Timestamp>> = BTreeMap::new();
            for (id, object) in same.iter() {
                let of_kind = newest.entry((id.group.clone(), id.kind.clone())).or_default();
                *of_kind = (*of_kind).max(object.created());
            }
            let kind = |id: &ObjectId| {
                newest
                    .get(&(id.group.clone(), id.kind.clone()))
                    .copied()
                    .flatten()
            };
            same.sort_by(|(one, a), (other, b)| {
                let place = |id: &ObjectId, object: &LiveObject| {
                    (
                        object.is_deleting(),
                        Reverse(kind(id)),
                        object.created(),
                        id.clone(),
                    )
                };
                place(one, a).cmp(&place(other, b))
            });
        }
        observed
    }
}
