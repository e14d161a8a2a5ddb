//! The usages that the store holds, and what they have to do with an object.

use std::{borrow::Borrow, collections::BTreeSet, sync::Arc};

use bridge_core::{
    composite::{LiveObject, ObjectId},
    protection::{Usage, UsageView},
    watch_plan::GroupKind,
};

use super::kinds::usage_kinds;
use crate::{
    object::{Key, Object},
    store::Store,
};

/// A usage controlled by more than so many in a row is a circle.
const DEPTH: usize = 16;

/// The usages that the store holds.
pub(crate) struct StoredUsages<'a> {
    store: &'a Store,
    kinds: [GroupKind; 3],
}

impl<'a> StoredUsages<'a> {
    pub(crate) fn new(store: &'a Store) -> Self {
        Self {
            store,
            kinds: usage_kinds().map(|api| api.kind.clone()),
        }
    }

    /// There is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.kinds.iter().all(|kind| self.store.count(kind) == 0)
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<UsageView> {
        let kinds = self.kinds.iter();
        kinds
            .flat_map(|kind| self.store.list(kind))
            .map(|object| view(&object))
            .collect()
    }

    /// Those that protect an object, in order of their titles.
    pub(crate) fn protecting(&self, object: &Object) -> Vec<UsageView> {
        let key = object.key();
        let id = ObjectId {
            group: key.kind().group().to_owned(),
            kind: key.kind().kind().to_owned(),
            namespace: key.namespace().map(ToOwned::to_owned),
            name: key.name().to_owned(),
        };
        // What it says otherwise does not matter, and may be nested too deeply to be read.
        self.protecting_live(&id, || LiveObject::new(object.only_metadata().to_value()))
    }

    /// Likewise of one that the store need not hold.
    pub(crate) fn protecting_live<T: Borrow<LiveObject>>(
        &self,
        id: &ObjectId,
        object: impl FnOnce() -> T,
    ) -> Vec<UsageView> {
        let about = self.about(&Key::new(id.group_kind(), id.namespace.as_deref(), &id.name));
        if about.is_empty() {
            return about;
        }
        let object = object();
        let mut protecting: Vec<UsageView> = about
            .into_iter()
            .filter(|usage| usage.protects(id, object.borrow()))
            .collect();
        protecting.sort_by(|a, b| a.title.cmp(&b.title));
        protecting
    }

    /// Those that name an object of this name, as the used or the using one.
    pub(crate) fn about(&self, key: &Key) -> Vec<UsageView> {
        let (referring, _) = self.store.first_referring_to(key, usize::MAX);
        referring
            .iter()
            .filter(|referring| self.kinds.contains(referring.kind()))
            .filter_map(|usage| self.store.get(usage))
            .map(|object| view(&object))
            .collect()
    }
}

fn view(object: &Arc<Object>) -> UsageView {
    UsageView::of(&Usage::new(object.to_value()))
}

/// Uids of what controls an object, of what controls that, and so on, and of their claims, as far as the store knows them.
pub(crate) fn ancestors(store: &Store, object: &Object) -> BTreeSet<String> {
    let mut ancestors = BTreeSet::new();
    let mut at = Some(Arc::new(object.clone()));
    for _ in 0..DEPTH {
        let Some(object) = at.take() else { break };
        ancestors.extend(claim_of(store, &object));
        let Some(controller) = object
            .owners()
            .iter()
            .find(|owner| owner.controller == Some(true))
        else {
            break;
        };
        ancestors.insert(controller.uid.clone());
        at = find(
            store,
            &controller.api_version,
            &controller.kind,
            object.namespace(),
            &controller.name,
        )
        .filter(|found| found.uid() == controller.uid);
    }
    ancestors
}

/// Likewise, of an object that was read.
pub(super) fn ancestors_of(store: &Store, id: &ObjectId, object: &LiveObject) -> BTreeSet<String> {
    let api_version = object.object()["apiVersion"].as_str().unwrap_or_default();
    let stored = find(store, api_version, &id.kind, id.namespace.as_deref(), &id.name);
    let stored = stored.filter(|stored| stored.uid() == object.uid());
    let Some(stored) = stored else {
        // Its kind is not watched: what controls it is known all the same.
        let controller = object
            .controller()
            .and_then(|controller| controller["uid"].as_str());
        return controller.map(ToOwned::to_owned).into_iter().collect();
    };
    ancestors(store, &stored)
}

/// Uid of the claim that a composite resource refers to.
fn claim_of(store: &Store, object: &Object) -> Option<String> {
    let reference = &object.spec_value()["claimRef"];
    let text = |field: &str| reference[field].as_str();
    let (api_version, kind, name) = (text("apiVersion")?, text("kind")?, text("name")?);
    let claim = find(store, api_version, kind, text("namespace"), name)?;
    Some(claim.uid().to_owned())
}

/// An object of a namespace, or a cluster-scoped one.
fn find(
    store: &Store,
    api_version: &str,
    kind: &str,
    namespace: Option<&str>,
    name: &str,
) -> Option<Arc<Object>> {
    let keys = keys(api_version, kind, namespace, name);
    keys.iter().find_map(|key| store.get(key))
}

/// The keys that an object may have, before anybody knows whether its kind is namespaced.
pub(super) fn keys(api_version: &str, kind: &str, namespace: Option<&str>, name: &str) -> Vec<Key> {
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let kind = GroupKind::new(group, kind);
    let mut keys = vec![Key::new(kind.clone(), None, name)];
    keys.extend(namespace.map(|namespace| Key::new(kind, Some(namespace), name)));
    keys
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{object::ApiType, protection::dependencies::edges};

    fn put(store: &Store, api: &Arc<ApiType>, text: &str) -> Arc<Object> {
        let object = Arc::new(Object::decode(api, text).unwrap());
        store.observe_read(Arc::clone(&object));
        object
    }

    /// It has not let the object go yet, which is to be seen in the object's metadata.
    #[test]
    fn a_usage_that_is_being_deleted_protects_what_cannot_be_read_otherwise() {
        let store = Arc::new(Store::default());
        let [usages, ..] = usage_kinds();
        let apps = Arc::new(ApiType {
            kind: GroupKind::new("example.org", "App"),
            version: "v1".to_owned(),
            plural: "apps".to_owned(),
            namespaced: true,
        });
        store.open(&usages.kind);
        store.open(&apps.kind);
        let _edges = store.register_edges(&usages.kind, edges());
        let app = |held_by: &str| {
            let annotations = json!({bridge_core::protection::names::HELD_BY: held_by});
            let deep = format!("{}1{}", r#"{"a":"#.repeat(200), "}".repeat(200));
            let text = format!(
                r#"{{"metadata": {{"name": "a", "namespace": "team", "uid": "a", "resourceVersion": "1", "annotations": {annotations}}}, "spec": {deep}}}"#
            );
            put(&store, &apps, &text)
        };
        let usage = json!({
            "metadata": {
                "name": "keep", "namespace": "team", "uid": "usage", "resourceVersion": "2",
                "deletionTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": {"of": {"apiVersion": "example.org/v1", "kind": "App", "resourceRef": {"name": "a"}}},
            "status": {},
        });
        put(&store, &usages, &usage.to_string());
        let protecting = |app: &Object| StoredUsages::new(&store).protecting(app).len();
        assert_eq!(protecting(&app("other,usage")), 1);
        assert_eq!(protecting(&app("other")), 0, "it was let go");
    }
}
