//! Collects what a decision is made from.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    sync::Arc,
};

use bridge_core::{
    composite::{
        Additions, Composite, ContentDigest, InUse, LiveObject, Lookup, ObjectId, ObjectState, Reservation,
        ResourceRef, RunState, Snapshot, names, requires, secrets_that_count,
    },
    function::{ResourceSelector, SchemaSelector},
    protection::{Mark, UsageView},
    watch_plan::GroupKind,
};
use futures::{StreamExt, stream};

use super::{find::Finder, reconciler::CompositeReconciler, views::Views};
use crate::{
    object::{Key, Object},
    protection::{StoredUsages, ancestors, unknown_usages},
    random,
    watch::WatchState,
};

/// Reads under way at once for one composite resource.
const READS: usize = 16;

impl CompositeReconciler {
    /// What is known of a composite resource without asking anybody.
    pub(super) fn collect_cached(&self, object: &Object, views: &Views) -> Snapshot {
        let shared = &self.shared;
        let xr = Composite::parse(object.to_value(), self.terms().scope);
        let run = self.runs.state(object.uid(), self.right().term);
        views.keep(&run);
        let awaited = self.runs.awaits(object.uid());
        let function_news =
            awaited.is_some_and(|(function, met)| shared.function_news.is_beyond(&function, met));
        let namespaced = self.namespaced(&run);
        let reserved = self.reserved(&run);
        Snapshot {
            choice: self.choose(&xr),
            seen: BTreeMap::new(),
            strays: self.strays(&xr),
            required: BTreeMap::new(),
            secrets: BTreeMap::new(),
            secrets_watched: false,
            unlisted_secrets: None,
            connection_keys: self.connection_keys(),
            in_use: InUse::default(),
            is_unwatched: false,
            run,
            function_news,
            namespaced,
            reserved,
            term_began: shared.remembers_since(&self.api.kind),
            may_act: false,
            settings: Arc::clone(&shared.settings),
            jitter: random::fraction(),
            now: shared.clock.now(),
            xr,
        }
    }

    /// What is known of it and of what it refers to, for whoever shows it: nothing is read for that, and nothing is decided by it.
    pub(super) fn peek(&self, object: &Object) -> Snapshot {
        let mut snapshot = self.collect_cached(object, &Views::default());
        let finder = Finder::in_any_version(&self.shared);
        let home = snapshot.xr.namespace();
        let refs = snapshot.strays.iter().chain(&snapshot.xr.refs);
        let seen = refs.map(|one| (one.id(home), finder.see_cached(one, home)));
        snapshot.seen = seen.collect();
        snapshot
    }

    /// What may have to be read.
    pub(super) async fn collect(&self, snapshot: &Snapshot, views: &Views) -> Additions {
        let finder = Finder::new(&self.shared);
        let of_composed = Finder::in_any_version(&self.shared).with_views(views);
        let (finder, of_composed) = (&finder, &of_composed);
        let home = snapshot.xr.namespace();
        let mut refs: BTreeMap<ObjectId, ResourceRef> = BTreeMap::new();
        for one in snapshot.strays.iter().chain(&snapshot.xr.refs) {
            refs.insert(one.id(home), one.clone());
        }
        let user = Key::new(self.api.kind.clone(), home, snapshot.xr.name());
        self.await_kinds(&user, snapshot, refs.values());
        let seen: BTreeMap<ObjectId, ObjectState> = stream::iter(refs)
            .map(|(id, reference)| async move { (id, of_composed.see(&reference, home).await) })
            .buffer_unordered(READS)
            .collect()
            .await;
        // All that the last run has looked up, what the composition itself requires included.
        let selectors: Vec<ResourceSelector> = if let RunState::Ended { basis, .. } = &snapshot.run {
            let looked = basis.required.keys();
            looked
                .filter_map(|lookup| match lookup {
                    Lookup::Resources(selector) => Some(selector.clone()),
                    Lookup::Schema(_) | Lookup::Secret { .. } => None,
                })
                .collect()
        } else {
            let stored = requires::decode(snapshot.xr.annotation(names::REQUIRES));
            stored.steps.selectors().cloned().collect()
        };
        let pipeline = snapshot
            .choice
            .as_ref()
            .ok()
            .and_then(|chosen| chosen.pipeline.as_ref().ok());
        let secrets = secrets_that_count(
            &snapshot.xr,
            &seen,
            pipeline.map(|pipeline| &**pipeline),
            &selectors,
        );
        let watch = self.shared.secrets.state();
        let secrets = self.see_secrets(&user, secrets);
        // What a list brings is not told once the list is complete.
        let are_listed = !secrets.is_empty() && matches!(watch, WatchState::Syncing(_));
        let mut is_unwatched = snapshot
            .xr
            .refs
            .iter()
            .any(|one| !of_composed.is_watched_in_any_version(&one.api_version, &one.kind));
        is_unwatched |= are_listed;
        is_unwatched |= selectors
            .iter()
            .any(|selector| !finder.is_watched_in_any_version(&selector.api_version, &selector.kind));
        // Only where another run may begin for it.
        let counts = matches!(snapshot.run, RunState::Ended { .. })
            && !snapshot.xr.is_deleting()
            && !snapshot.xr.is_paused();
        let found = |selector: ResourceSelector| async move {
            let found = if counts {
                finder.found_now(&selector).await
            } else {
                finder.found_cached(&selector)
            };
            (Lookup::Resources(selector), found.map(|found| found.digest()))
        };
        let mut required: BTreeMap<Lookup, Result<ContentDigest, String>> = stream::iter(selectors)
            .map(found)
            .buffer_unordered(READS)
            .collect()
            .await;
        // To take down, no schema is needed.
        let run = if snapshot.xr.is_deleting() {
            &RunState::None
        } else {
            &snapshot.run
        };
        for (selector, found) in self.schemas(&user, run).await {
            is_unwatched |= found.is_err();
            required.insert(Lookup::Schema(selector), found);
        }
        Additions {
            in_use: self.in_use(snapshot, &seen),
            seen,
            secrets_watched: watch == WatchState::Live,
            unlisted_secrets: match watch {
                WatchState::Syncing(why) => Some(why),
                _ => None,
            },
            secrets,
            required,
            is_unwatched,
            now: self.shared.clock.now(),
        }
    }

    /// Before they are read: what is served in between is known then. To take down, no kind is waited for.
    fn await_kinds<'r>(&self, user: &Key, snapshot: &Snapshot, refs: impl Iterator<Item = &'r ResourceRef>) {
        let finder = Finder::in_any_version(&self.shared);
        let is_gone = |one: &&ResourceRef| {
            matches!(
                finder.api(&one.api_version, &one.kind),
                Err(ObjectState::KindGone)
            )
        };
        let refs = refs.filter(|_| !snapshot.xr.is_deleting()).filter(is_gone);
        let kinds = refs.map(|one| (one.api_version.clone(), one.kind.clone()));
        self.shared.awaited_kinds.set(user, kinds.collect());
    }

    /// The schemas that the last run was shown, as they are now.
    async fn schemas(
        &self,
        user: &Key,
        run: &RunState,
    ) -> BTreeMap<SchemaSelector, Result<ContentDigest, String>> {
        let RunState::Ended { basis, .. } = run else {
            return BTreeMap::new();
        };
        let selectors = basis.required.keys().filter_map(|lookup| match lookup {
            Lookup::Schema(selector) => Some(selector.clone()),
            Lookup::Resources(_) | Lookup::Secret { .. } => None,
        });
        let selectors: BTreeSet<SchemaSelector> = selectors.collect();
        let schemas = &self.shared.schemas;
        // Before they are read: what changes in between is known then.
        schemas.set_user(user, selectors.clone());
        let mut found = BTreeMap::new();
        for selector in selectors {
            let schema = schemas.get(&selector).await;
            found.insert(selector, schema.map(|schema| schema.digest));
        }
        found
    }

    /// The usages that name an object that was seen.
    fn in_use(&self, snapshot: &Snapshot, seen: &BTreeMap<ObjectId, ObjectState>) -> InUse {
        let store = &self.shared.store;
        let stored = StoredUsages::new(store);
        // First: a list that is completed in between brings usages that are then found.
        let unknown = unknown_usages(&self.shared.watches, false);
        let forbidden = if unknown.is_none() {
            self.forbidden_usages(seen)
        } else {
            Vec::new()
        };
        if stored.is_empty() {
            return InUse {
                unknown,
                usages: forbidden,
                ..InUse::default()
            };
        }
        let keys = seen
            .keys()
            .map(|id| Key::new(id.group_kind(), id.namespace.as_deref(), &id.name));
        let usages: BTreeMap<String, UsageView> = keys
            .flat_map(|key| stored.about(&key))
            .map(|usage| (usage.uid.clone(), usage))
            .collect();
        let name = snapshot.xr.name();
        let xr = store.get(&Key::new(self.api.kind.clone(), snapshot.xr.namespace(), name));
        InUse {
            usages: usages.into_values().chain(forbidden).collect(),
            unknown,
            ancestors: xr.map(|xr| ancestors(store, &xr)).unwrap_or_default(),
        }
    }

    /// Those that the bridge has no right to list, as for a moment after a start: labels stand for them. Asked after it was known that no others are unknown.
    fn forbidden_usages(&self, seen: &BTreeMap<ObjectId, ObjectState>) -> Vec<UsageView> {
        let marked = seen.iter().filter_map(|(id, seen)| match seen {
            ObjectState::Exists(object) if Mark::of(object).label => Some((id, object)),
            _ => None,
        });
        let marked: Vec<_> = marked.collect();
        // Who asks for a kind has it looked up and followed: only what is marked does.
        let why = (!marked.is_empty()).then(|| unknown_usages(&self.shared.watches, true));
        let Some(why) = why.flatten() else {
            return Vec::new();
        };
        let usage = |(id, object): (&ObjectId, &Arc<LiveObject>)| UsageView::unlisted(id, object, &why);
        marked.into_iter().map(usage).collect()
    }

    /// Whether the kinds that the last run desires are namespaced, as far as they are served.
    fn namespaced(&self, run: &RunState) -> BTreeMap<GroupKind, bool> {
        let RunState::Ended { outcome, .. } = run else {
            return BTreeMap::new();
        };
        let Ok(desired) = &outcome.result else {
            return BTreeMap::new();
        };
        let finder = Finder::new(&self.shared);
        let mut namespaced = BTreeMap::new();
        for resource in desired.resources.values() {
            let text = |name: &str| resource.object[name].as_str().unwrap_or_default();
            let (api_version, kind) = (text("apiVersion"), text("kind"));
            if let Ok(api) = finder.api(api_version, kind) {
                namespaced.insert(api.kind.clone(), api.namespaced);
            }
        }
        namespaced
    }

    /// Who has an external name that the last run desires, and is still being deleted; of all kinds that are watched.
    fn reserved(&self, run: &RunState) -> BTreeMap<(GroupKind, String), Vec<Reservation>> {
        let RunState::Ended { outcome, .. } = run else {
            return BTreeMap::new();
        };
        let Ok(desired) = &outcome.result else {
            return BTreeMap::new();
        };
        let finder = Finder::new(&self.shared);
        let store = &self.shared.store;
        let mut reserved = BTreeMap::new();
        for resource in desired.resources.values() {
            let object = &resource.object;
            let text = |name: &str| object[name].as_str().unwrap_or_default();
            let Some(name) = object["metadata"]["annotations"][names::EXTERNAL_NAME].as_str() else {
                continue;
            };
            let Ok(api) = finder.api(text("apiVersion"), text("kind")) else {
                continue;
            };
            let keys = store.with_external_name(&api.kind, name);
            let held = keys.iter().filter_map(|key| store.get(key));
            let held: Vec<Reservation> = held
                .filter(|object| object.is_deleting())
                .map(|object| reservation(&object))
                .collect();
            if !held.is_empty() {
                reserved.insert((api.kind.clone(), name.to_owned()), held);
            }
        }
        reserved
    }

    /// What names it as its controller and is not among its references, of all kinds that are watched.
    fn strays(&self, xr: &Composite) -> Vec<ResourceRef> {
        let home = xr.namespace();
        let owned = self.shared.store.controlled_by(xr.uid());
        // What was not composed is none, such as a connection Secret; nor is what lives elsewhere than the composite resource.
        let is_composed = |object: &Arc<Object>| {
            // Of Secrets no annotations are kept. A connection Secret has no such label.
            let mark = if object.api.is_metadata_only() {
                object.label(names::COMPOSITE)
            } else {
                object.annotation(names::RESOURCE_NAME)
            };
            mark.is_some() && home.is_none_or(|home| object.namespace() == Some(home))
        };
        let strays = owned.into_iter().filter(is_composed).map(|object| ResourceRef {
            api_version: object.api.api_version(),
            kind: object.api.kind.kind().to_owned(),
            namespace: object
                .namespace()
                .filter(|_| home.is_none())
                .map(ToOwned::to_owned),
            name: object.name().to_owned(),
        });
        let named: HashSet<ObjectId> = xr.ids().collect();
        strays.filter(|stray| !named.contains(&stray.id(home))).collect()
    }
}

fn reservation(object: &Object) -> Reservation {
    let kind = &object.api.kind;
    Reservation {
        id: ObjectId {
            group: kind.group().to_owned(),
            kind: kind.kind().to_owned(),
            namespace: object.namespace().map(ToOwned::to_owned),
            name: object.name().to_owned(),
        },
        uid: object.uid().to_owned(),
        since: object.meta.deletion_timestamp.as_ref().map(|time| time.0),
    }
}
