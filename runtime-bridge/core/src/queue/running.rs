use std::{collections::BTreeMap, sync::Arc};

/// Passes in flight.
#[derive(Debug)]
pub(super) struct RunningCounts<G, L> {
    pub(super) total: usize,
    pub(super) kinds: BTreeMap<G, usize>,
    pub(super) flows: BTreeMap<L, usize>,
    /// By whose their kinds were when they began.
    pub(super) owners: BTreeMap<Option<Arc<str>>, usize>,
    kinds_in_flows: BTreeMap<(G, L), usize>,
}

impl<G, L> Default for RunningCounts<G, L> {
    fn default() -> Self {
        Self {
            total: 0,
            kinds: BTreeMap::new(),
            flows: BTreeMap::new(),
            owners: BTreeMap::new(),
            kinds_in_flows: BTreeMap::new(),
        }
    }
}

impl<G: Ord + Clone, L: Ord + Clone> RunningCounts<G, L> {
    pub(super) fn begin(&mut self, kind: &G, flow: &L, owner: Option<&Arc<str>>) {
        self.total += 1;
        *self.kinds.entry(kind.clone()).or_default() += 1;
        *self.flows.entry(flow.clone()).or_default() += 1;
        *self.owners.entry(owner.cloned()).or_default() += 1;
        *self
            .kinds_in_flows
            .entry((kind.clone(), flow.clone()))
            .or_default() += 1;
    }

    pub(super) fn end(&mut self, kind: &G, flow: &L, owner: Option<&Arc<str>>) {
        self.total = self.total.saturating_sub(1);
        decrement(&mut self.kinds, kind);
        decrement(&mut self.flows, flow);
        decrement(&mut self.owners, &owner.cloned());
        decrement(&mut self.kinds_in_flows, &(kind.clone(), flow.clone()));
    }

    pub(super) fn of_kind_in_flow(&self, kind: &G, flow: &L) -> usize {
        let both = (kind.clone(), flow.clone());
        self.kinds_in_flows.get(&both).copied().unwrap_or(0)
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
