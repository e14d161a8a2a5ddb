//! The watches that stored objects need: a function of what is stored, and of nothing else.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bridge_core::watch_plan::GroupKind;

use super::{Subscription, Watches};
use crate::{
    composition_metrics::{RunningWatch, WatchPurpose},
    metrics::Metrics,
    object::ApiType,
    store::{Listener, NeededKind, Store},
};

const REASON: &str = "composed or required";

/// A kind that is watched because it is needed.
struct Held {
    api: Arc<ApiType>,
    _subscription: Subscription,
    _counted: RunningWatch,
}

/// Keeps watched what is needed, until it is dropped. What is not served yet is watched as soon as it is.
pub(crate) async fn watch_needed(watches: Arc<Watches>, store: Arc<Store>, metrics: Arc<Metrics>) {
    let changed = store.needs_changed();
    let mut served = watches.served_changes();
    // Changes are told to the dependants of what changed, by the store.
    let listener: Arc<Listener> = Arc::new(|_: &_| {});
    let mut held: BTreeMap<GroupKind, Held> = BTreeMap::new();
    loop {
        served.mark_unchanged();
        let needed = versions(store.needed());
        held.retain(|kind, _| needed.contains_key(kind));
        for (kind, all) in &needed {
            let resolved = all
                .iter()
                .find_map(|version| watches.resolve(&api_version(kind, version), kind.kind()).ok())
                // What was named in a version of then is read in another one, too.
                .or_else(|| {
                    let mut all = all.iter();
                    all.find_map(|version| watches.resolve_any(&api_version(kind, version), kind.kind()).ok())
                });
            let Some(resolved) = resolved.filter(|resolved| resolved.watchable) else {
                continue;
            };
            // A kind's own controller says in which version it is watched; else it stays the same as long as anything needs that.
            let known = held.get(kind).map(|known| Arc::clone(&known.api));
            let watched = watches
                .wanted_api_besides(kind, REASON)
                .or_else(|| known.filter(|api| all.contains(&api.version)))
                .filter(|api| watches.resolve(&api.api_version(), kind.kind()).is_ok());
            let api = watched.unwrap_or(resolved.api);
            let is_watched = watches.wanted_api(kind).as_ref() == Some(&api);
            if is_watched && held.get(kind).is_some_and(|known| known.api == api) {
                continue;
            }
            let watched = Held {
                _subscription: watches.subscribe(&api, REASON, &listener),
                _counted: metrics.compositions.shared_watch(WatchPurpose::Dependency),
                api,
            };
            held.insert(kind.clone(), watched);
        }
        tokio::select! {
            biased;
            () = changed.notified() => {}
            ended = served.changed() => {
                if ended.is_err() {
                    return;
                }
            }
        }
    }
}

fn api_version(kind: &GroupKind, version: &str) -> String {
    match kind.group() {
        "" => version.to_owned(),
        group => format!("{group}/{version}"),
    }
}

fn versions(needed: BTreeSet<NeededKind>) -> BTreeMap<GroupKind, Vec<String>> {
    let mut versions: BTreeMap<GroupKind, Vec<String>> = BTreeMap::new();
    for one in needed {
        versions.entry(one.kind).or_default().push(one.version);
    }
    versions
}
