use std::{collections::BTreeMap, sync::Arc};

use bridge_core::{definition::Terms, watch_plan::GroupKind};
use tokio::sync::watch;

/// A type whose composite resources are served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinedType {
    /// What its definition says.
    pub terms: Arc<Terms>,
    /// Uid of its CRD: the same type of another CRD is another one.
    pub crd: String,
}

/// The types that are served, by kind. Clones are the same table: definitions set it, whoever serves something for each type follows it.
#[derive(Debug, Clone, Default)]
pub struct DefinedTypes(Arc<watch::Sender<BTreeMap<GroupKind, DefinedType>>>);

impl DefinedTypes {
    /// One of them.
    pub fn get(&self, kind: &GroupKind) -> Option<DefinedType> {
        self.0.borrow().get(kind).cloned()
    }

    /// All of them now, and whenever one comes, goes or is changed.
    pub fn subscribe(&self) -> watch::Receiver<BTreeMap<GroupKind, DefinedType>> {
        self.0.subscribe()
    }

    pub(super) fn set(&self, kind: &GroupKind, defined: &DefinedType) {
        self.0.send_if_modified(|types| {
            let former = types.insert(kind.clone(), defined.clone());
            former.as_ref() != Some(defined)
        });
    }

    pub(super) fn remove(&self, kind: &GroupKind) {
        self.0.send_if_modified(|types| types.remove(kind).is_some());
    }
}
