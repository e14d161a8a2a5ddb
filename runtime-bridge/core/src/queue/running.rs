use std::collections::BTreeMap;

/// Passes in flight.
#[derive(Debug)]
pub(super) struct Running<G, L> {
    pub(super) total: usize,
    pub(super) kinds: BTreeMap<G, usize>,
    pub(super) lanes: BTreeMap<L, usize>,
    kinds_in_lanes: BTreeMap<(G, L), usize>,
}

impl<G, L> Default for Running<G, L> {
    fn default() -> Self {
        Self {
            total: 0,
            kinds: BTreeMap::new(),
            lanes: BTreeMap::new(),
            kinds_in_lanes: BTreeMap::new(),
        }
    }
}

impl<G: Ord + Clone, L: Ord + Clone> Running<G, L> {
    pub(super) fn begin(&mut self, kind: &G, lane: &L) {
        self.total += 1;
        *self.kinds.entry(kind.clone()).or_default() += 1;
        *self.lanes.entry(lane.clone()).or_default() += 1;
        *self
            .kinds_in_lanes
            .entry((kind.clone(), lane.clone()))
            .or_default() += 1;
    }

    pub(super) fn end(&mut self, kind: &G, lane: &L) {
        self.total = self.total.saturating_sub(1);
        decrement(&mut self.kinds, kind);
        decrement(&mut self.lanes, lane);
        decrement(&mut self.kinds_in_lanes, &(kind.clone(), lane.clone()));
    }

    pub(super) fn of_kind_in_lane(&self, kind: &G, lane: &L) -> usize {
        let both = (kind.clone(), lane.clone());
        self.kinds_in_lanes.get(&both).copied().unwrap_or(0)
    }
}

fn decrement<T: Ord>(counts: &mut BTreeMap<T, usize>, of: &T) {
    if let Some(count) = counts.get_mut(of) {
        *count -= 1;
        if *count == 0 {
            counts.remove(of);
        }
    }
}
