use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Bound,
};

use jiff::Timestamp;

use super::Priority;

/// Place in a lane: due since, order of coming, key.
type QueuePosition<K> = (Timestamp, u64, K);

/// The keys of one kind, by lane.
type Flows<K, L> = Rotation<L, BTreeSet<QueuePosition<K>>>;

/// Keys whose turn has come: by priority, kind and lane.
#[derive(Debug)]
pub(super) struct Ready<K, G, L> {
    by_priority: BTreeMap<Priority, Rotation<G, Flows<K, L>>>,
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
    fn in_rotation(&self) -> impl Iterator<Item = T> {
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
    pub(super) fn insert(&mut self, priority: Priority, kind: &G, flow: &L, position: QueuePosition<K>) {
        let kinds = self.by_priority.entry(priority).or_default();
        let flows = kinds.things.entry(kind.clone()).or_default();
        flows.things.entry(flow.clone()).or_default().insert(position);
    }

    pub(super) fn remove(&mut self, priority: Priority, kind: &G, flow: &L, position: &QueuePosition<K>) {
        let Some(kinds) = self.by_priority.get_mut(&priority) else {
            return;
        };
        let Some(flows) = kinds.things.get_mut(kind) else {
            return;
        };
        let Some(places) = flows.things.get_mut(flow) else {
            return;
        };
        places.remove(position);
        if places.is_empty() {
            flows.things.remove(flow);
        }
        if flows.things.is_empty() {
            kinds.things.remove(kind);
        }
    }

    /// The first of the lane whose turn it is, in the kind whose turn it is.
    pub(super) fn pop(
        &mut self,
        priority: Priority,
        kind_may: &impl Fn(&G) -> bool,
        flow_may: &impl Fn(&G, &L) -> bool,
    ) -> Option<K> {
        let kinds = self.by_priority.get(&priority)?;
        let (kind, flow, position) = kinds.in_rotation().filter(kind_may).find_map(|kind| {
            let flows = kinds.things.get(&kind)?;
            let flow = flows.in_rotation().find(|flow| flow_may(&kind, flow))?;
            let position = flows.things.get(&flow)?.first()?.clone();
            Some((kind, flow, position))
        })?;
        self.remove(priority, &kind, &flow, &position);
        if let Some(kinds) = self.by_priority.get_mut(&priority) {
            if let Some(flows) = kinds.things.get_mut(&kind) {
                flows.served = Some(flow);
            }
            kinds.served = Some(kind);
        }
        Some(position.2)
    }
}
