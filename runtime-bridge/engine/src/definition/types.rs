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

    /// Of this definition alone: another one may have taken the kind over.
    pub(super) fn remove(&self, kind: &GroupKind, definition_uid: &str) {
        self.0.send_if_modified(|types| {
            let is_it = types
                .get(kind)
                .is_some_and(|known| known.terms.definition_uid == definition_uid);
            is_it && types.remove(kind).is_some()
        });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn defined(uid: &str) -> DefinedType {
        let definition = json!({
            "apiVersion": "apiextensions.crossplane.io/v2",
            "metadata": {"name": "things.example.org", "uid": uid},
            "spec": {
                "group": "example.org", "names": {"kind": "Thing", "plural": "things"}, "scope": "Cluster",
                "versions": [{"name": "v1", "served": true, "referenceable": true, "schema": {}}],
            },
        });
        let definition = bridge_core::definition::Definition::read(&definition).unwrap();
        DefinedType {
            terms: Arc::new(Terms::of(&definition).unwrap()),
            crd: "crd".to_owned(),
        }
    }

    #[test]
    fn a_definition_takes_off_its_own_type_alone() {
        let types = DefinedTypes::default();
        let kind = GroupKind::new("example.org", "Thing");
        types.set(&kind, &defined("old"));
        types.set(&kind, &defined("new"));
        types.remove(&kind, "old");
        assert_eq!(types.get(&kind), Some(defined("new")));
        types.remove(&kind, "new");
        assert_eq!(types.get(&kind), None);
    }
}
