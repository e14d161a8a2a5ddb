//! All usages, by what they protect.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use bridge_core::{
    protection::guard::{UsageNote, UsedName},
    watch_plan::GroupKind,
};
use parking_lot::Mutex;

use crate::{
    engine::Engine,
    object::{ApiType, Key, Object},
    store::{Change, Listener},
    watch::{Subscription, Watches},
};

/// Why usages are watched, for people.
const REASON: &str = "the usage webhook answers from them";

/// Each usage stands under what it names, and once more under that without its namespace.
type ByUsed = HashMap<UsedName, BTreeMap<Key, UsageNote>>;

/// What the webhook answers from.
pub(super) struct UsageIndex {
    by_used: Arc<Mutex<ByUsed>>,
    watches: Arc<Watches>,
    kinds: [GroupKind; 3],
    _watched: Vec<Subscription>,
}

impl UsageIndex {
    /// Follows all kinds of usages until it is dropped.
    pub(super) fn watch(engine: &Engine) -> Self {
        let by_used: Arc<Mutex<ByUsed>> = Arc::default();
        let followed = Arc::clone(&by_used);
        let listener: Arc<Listener> = Arc::new(move |change: &_| follow(&mut followed.lock(), change));
        let apis = [
            api("protection.crossplane.io", "Usage", "usages", true),
            api("protection.crossplane.io", "ClusterUsage", "clusterusages", false),
            api("apiextensions.crossplane.io", "Usage", "usages", false),
        ];
        Self {
            by_used,
            watches: Arc::clone(&engine.watches),
            kinds: apis.each_ref().map(|api| api.kind.clone()),
            _watched: apis
                .iter()
                .map(|api| engine.subscribe(api, REASON, &listener))
                .collect(),
        }
    }

    /// All usages are known.
    pub(super) fn is_complete(&self) -> bool {
        self.kinds.iter().all(|kind| self.watches.is_complete(kind))
    }

    /// Those of an object. Of one that is in no namespace, those of all namespaces: its kind has no others.
    pub(super) fn of(&self, used: &UsedName) -> Vec<UsageNote> {
        let by_used = self.by_used.lock();
        by_used
            .get(used)
            .into_iter()
            .flat_map(|usages| usages.values().cloned())
            .collect()
    }
}

fn follow(by_used: &mut ByUsed, change: &Change) {
    let used = |object: &Object| UsedName::of(&object.to_value());
    for former in change.old.as_deref().and_then(used).into_iter().flat_map(places) {
        if let Some(usages) = by_used.get_mut(&former) {
            usages.remove(&change.key);
            if usages.is_empty() {
                by_used.remove(&former);
            }
        }
    }
    if let Some(new) = &change.new {
        let usage = new.to_value();
        let note = UsageNote::of(&usage);
        for used in UsedName::of(&usage).into_iter().flat_map(places) {
            by_used
                .entry(used)
                .or_default()
                .insert(change.key.clone(), note.clone());
        }
    }
}

fn places(used: UsedName) -> BTreeSet<UsedName> {
    [used.anywhere(), used].into()
}

fn api(group: &str, kind: &str, plural: &str, namespaced: bool) -> Arc<ApiType> {
    Arc::new(ApiType {
        kind: GroupKind::new(group, kind),
        version: "v1beta1".to_owned(),
        plural: plural.to_owned(),
        namespaced,
    })
}
