use std::collections::BTreeMap;

/// Passes in flight.
#[derive(Debug)]
pub(super) struct Running<G, L> {
    pub(super) total: usize,
    pub(super) kinds: BTreeMap<G, usize>,
    pub(super) lanes: BTreeMap<L, usize>,
}

impl<G, L> Default for Running<G, L> {
    fn default() -> Self {
        Self {
            total: 0,
            kinds: BTreeMap::new(),
            lanes: BTreeMap::new(),
        }
    }
}

impl<G: Ord + Clone, L: Ord + Clone> Running<G, L> {
    pub(super) fn begin(&mut self, kind: &G, lane: &L) {
        self.total += 1;
        *self.kinds.entry(kind.clone()).or_default() += 1;
        *self.lanes.entry(lane.clone()).or_default() += 1;
    }

    pub(super) fn end(&mut self, kind: &G, lane: &L) {
        self.total = self.total.saturating_sub(1);
        decrement(&mut self.kinds, kind);
        decrement(&mut self.lanes, lane);
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
