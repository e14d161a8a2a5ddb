use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use jiff::Timestamp;

use super::Priority;

/// Place in a lane: due since, order of coming, key.
type Place<K> = (Timestamp, u64, K);

/// The keys of one kind, by lane.
type Lanes<K, L> = Rotation<L, BTreeSet<Place<K>>>;

/// Keys whose turn has come: by priority, kind and lane.
#[derive(Debug)]
pub(super) struct Ready<K, G, L> {
    by_priority: BTreeMap<Priority, Rotation<G, Lanes<K, L>>>,
}

/// Things that are served one after the other.
#[derive(Debug)]
struct Rotation<T, V> {
    things: BTreeMap<T, V>,
    served: Option<T>,
}

impl<T, V> Default for Rotation<T, V> {
    fn default() -> Self {
        Self {
            things: BTreeMap::new(),
            served: None,
        }
    }
}

impl<T: Ord + Clone, V> Rotation<T, V> {
    /// All of them, the one that was served last at the end.
    fn in_turn(&self) -> impl Iterator<Item = T> {
        let after = match &self.served {
            Some(served) => (Bound::Excluded(served.clone()), Bound::Unbounded),
            None => (Bound::Unbounded, Bound::Unbounded),
        };
        let before = self
            .served
            .clone()
            .map(|served| (Bound::Unbounded, Bound::Included(served)));
        let first = self.things.range(after);
        let last = before.into_iter().flat_map(|before| self.things.range(before));
        first.chain(last).map(|(thing, _)| thing.clone())
    }
}

impl<K, G, L> Default for Ready<K, G, L> {
    fn default() -> Self {
        Self {
            by_priority: BTreeMap::new(),
        }
    }
}

impl<K: Ord + Clone, G: Ord + Clone, L: Ord + Clone> Ready<K, G, L> {
    pub(super) fn insert(&mut self, priority: Priority, kind: &G, lane: &L, place: Place<K>) {
        let kinds = self.by_priority.entry(priority).or_default();
        let lanes = kinds.things.entry(kind.clone()).or_default();
        lanes.things.entry(lane.clone()).or_default().insert(place);
    }

    pub(super) fn remove(&mut self, priority: Priority, kind: &G, lane: &L, place: &Place<K>) {
        let Some(kinds) = self.by_priority.get_mut(&priority) else {
            return;
        };
        let Some(lanes) = kinds.things.get_mut(kind) else {
            return;
        };
        let Some(places) = lanes.things.get_mut(lane) else {
            return;
        };
        places.remove(place);
        if places.is_empty() {
            lanes.things.remove(lane);
        }
        if lanes.things.is_empty() {
            kinds.things.remove(kind);
        }
    }

    /// The first of the lane whose turn it is, in the kind whose turn it is.
    pub(super) fn pop(
        &mut self,
        priority: Priority,
        kind_may: &impl Fn(&G) -> bool,
        lane_may: &impl Fn(&G, &L) -> bool,
    ) -> Option<K> {
        let kinds = self.by_priority.get(&priority)?;
        let (kind, lane, place) = kinds.in_turn().filter(kind_may).find_map(|kind| {
            let lanes = kinds.things.get(&kind)?;
            let lane = lanes.in_turn().find(|lane| lane_may(&kind, lane))?;
            let place = lanes.things.get(&lane)?.first()?.clone();
            Some((kind, lane, place))
        })?;
        self.remove(priority, &kind, &lane, &place);
        if let Some(kinds) = self.by_priority.get_mut(&priority) {
            if let Some(lanes) = kinds.things.get_mut(&kind) {
                lanes.served = Some(lane);
            }
            kinds.served = Some(kind);
        }
        Some(place.2)
    }
}
