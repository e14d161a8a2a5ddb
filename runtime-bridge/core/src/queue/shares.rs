//! Which part of the passes, or of whatever else is scarce, each owner has: one half is divided evenly among all owners, and each keeps its part whatever others do; the other half
//! is for whoever comes first. The kinds of nobody count as those of one owner more.

use std::{collections::BTreeMap, sync::Arc};

/// Whose kinds are.
#[derive(Debug)]
pub struct Owners<G> {
    of: BTreeMap<G, Arc<str>>,
    /// Owner -> how many kinds it has.
    kinds: BTreeMap<Arc<str>, usize>,
}

impl<G> Default for Owners<G> {
    fn default() -> Self {
        Self {
            of: BTreeMap::new(),
            kinds: BTreeMap::new(),
        }
    }
}

impl<G: Ord + Clone> Owners<G> {
    /// Whose a kind is from now on.
    pub fn set(&mut self, kind: &G, owner: Option<Arc<str>>) {
        if let Some(former) = self.of.remove(kind)
            && let Some(count) = self.kinds.get_mut(&former)
        {
            *count -= 1;
            if *count == 0 {
                self.kinds.remove(&former);
            }
        }
        if let Some(owner) = owner {
            *self.kinds.entry(Arc::clone(&owner)).or_default() += 1;
            self.of.insert(kind.clone(), owner);
        }
    }

    /// Whose it is.
    pub fn of(&self, kind: &G) -> Option<&Arc<str>> {
        self.of.get(kind)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.kinds.len()
    }
}

/// What is taken now, by owner.
pub type Running = BTreeMap<Option<Arc<str>>, usize>;

/// The parts of one moment.
#[derive(Debug)]
pub struct Shares {
    /// What each owner has for itself.
    own: usize,
    /// What one owner may have, nobody aside.
    most: usize,
    /// Nobody has taken all of what is for whoever comes first.
    is_any_left: bool,
}

impl Shares {
    /// Of so many passes in all, and so many at most of one owner.
    pub fn of(total: usize, most: usize, owners: usize, running: &Running) -> Self {
        let all = owners + 1;
        let own = total / 2 / all;
        let common = total - own * all;
        let taken: usize = running.values().map(|running| running.saturating_sub(own)).sum();
        Self {
            own,
            most,
            is_any_left: taken < common,
        }
    }

    /// Whether the owner may take one more.
    pub fn may_begin(&self, owner: Option<&Arc<str>>, running: &Running) -> bool {
        let has = running.get(&owner.cloned()).copied().unwrap_or(0);
        (owner.is_none() || has < self.most) && (has < self.own || self.is_any_left)
    }
}
