//! Who depends on what, the other way round: from what is depended on to those that do.

use std::sync::Arc;

use bridge_core::watch_plan::GroupKind;
use tokio::sync::Notify;

use super::{
    LabelSelection,
    edge::{NeededKind, Outgoing},
    index::Index,
};
use crate::object::Key;

/// Objects that select others: by the kind of those, and one label of the selection if it names any.
type Selectors = Index<(GroupKind, Option<(String, String)>)>;

/// The indexes that span kinds.
#[derive(Default)]
pub(super) struct Dependencies {
    pub(super) referrers: Index<Key>,
    pub(super) selectors: Selectors,
    /// Which objects need a kind to be watched.
    pub(super) needed: Index<NeededKind>,
    /// Other kinds are needed than before.
    pub(super) needs_changed: Arc<Notify>,
}

impl Dependencies {
    pub(super) fn index(&mut self, outgoing: &Outgoing, key: &Key) {
        for (_, reference) in &outgoing.references {
            self.referrers.insert(reference.clone(), key);
        }
        for (_, selection) in &outgoing.selections {
            self.selectors.insert(selected(selection), key);
        }
        for needed in &outgoing.needs {
            if !self.needed.contains(needed) {
                self.needs_changed.notify_one();
            }
            self.needed.insert(needed.clone(), key);
        }
    }

    pub(super) fn unindex(&mut self, outgoing: &Outgoing, key: &Key) {
        for (_, reference) in &outgoing.references {
            self.referrers.remove(reference, key);
        }
        for (_, selection) in &outgoing.selections {
            self.selectors.remove(&selected(selection), key);
        }
        for needed in &outgoing.needs {
            self.needed.remove(needed, key);
            if !self.needed.contains(needed) {
                self.needs_changed.notify_one();
            }
        }
    }
}

/// Under which a selection is found: any of its labels will do.
fn selected(selection: &LabelSelection) -> (GroupKind, Option<(String, String)>) {
    let label = selection.labels.iter().next();
    let label = label.map(|(name, value)| (name.clone(), value.clone()));
    (selection.kind.clone(), label)
}

#[cfg(test)]
#[path = "dependencies_tests.rs"]
mod tests;
