use std::{collections::BTreeMap, sync::Arc};

use bridge_core::watch_plan::GroupKind;

use crate::object::Object;

/// Objects of kinds whose watch has ended, and on which others depended then: their identity, as it was last. The next list, or a write of ours, says
/// which of them are gone.
#[derive(Debug, Default)]
pub(super) struct Forgotten {
    by_uid: BTreeMap<GroupKind, BTreeMap<Box<str>, Arc<Object>>>,
}

impl Forgotten {
    pub(super) fn add(&mut self, object: &Object) {
        let of_kind = self.by_uid.entry(object.api.kind.clone()).or_default();
        of_kind.insert(object.uid().into(), Arc::new(object.identity()));
    }

    pub(super) fn of_kind(&self, kind: &GroupKind) -> impl Iterator<Item = &Arc<Object>> {
        self.by_uid.get(kind).into_iter().flat_map(BTreeMap::values)
    }

    /// It is known again, or known to be gone.
    pub(super) fn take(&mut self, kind: &GroupKind, uid: &str) -> Option<Arc<Object>> {
        let of_kind = self.by_uid.get_mut(kind)?;
        let object = of_kind.remove(uid);
        if of_kind.is_empty() {
            self.by_uid.remove(kind);
        }
        object
    }
}
