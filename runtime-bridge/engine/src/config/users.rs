//! Who uses the configs of a plugin: the kinds that it publishes, and those whose definitions note it.
//!
//! A kind that a plugin withdraws still has its objects, which can be neither observed nor deleted without their config when it comes back. So
//! its definition counts for as long as the cluster has it, also after a restart.

use std::{collections::BTreeMap, sync::Arc};

use bridge_core::{
    queue::{Priority, Wake},
    watch_plan::GroupKind,
};
use futures::{StreamExt, stream};
use parking_lot::Mutex;

use super::reference::{self, cluster_config_api, config_api};
use crate::{
    api_error::ApiError,
    clock::Clock,
    dispatch::Dispatcher,
    engine::Engine,
    object::{ApiType, Key, Object},
    store::{Change, Edge, Listener, RegisteredEdges, Store},
    watch::{Subscription, WatchState, Watches},
    write::Writer,
};

/// Kinds that the API server is asked for at once.
pub(super) const ASKED_AT_ONCE: usize = 8;

/// The kinds whose objects may refer to configs of one plugin.
pub(super) struct ConfigUsers {
    plugin: String,
    store: Arc<Store>,
    watches: Arc<Watches>,
    dispatcher: Arc<Dispatcher>,
    clock: Arc<dyn Clock>,
    table: Mutex<UserTable>,
}

#[derive(Default)]
struct UserTable {
    published: BTreeMap<GroupKind, Arc<ApiType>>,
    users: BTreeMap<GroupKind, User>,
}

/// A kind that is watched for its references.
struct User {
    api: Arc<ApiType>,
    _subscription: Subscription,
    // A kind that is served has a rule of its own, which is registered later, and then counts.
    _edges: RegisteredEdges,
}

impl ConfigUsers {
    pub(super) fn new(engine: &Engine, plugin: &str) -> Self {
        Self {
            plugin: plugin.to_owned(),
            store: Arc::clone(&engine.store),
            watches: Arc::clone(&engine.watches),
            dispatcher: Arc::clone(&engine.dispatcher),
            clock: Arc::clone(&engine.clock),
            table: Mutex::default(),
        }
    }

    /// These are published now. Kinds that were before, and are still, are not touched.
    pub(super) fn publish(&self, published: impl Iterator<Item = Arc<ApiType>>) {
        self.table.lock().published = published.map(|api| (api.kind.clone(), api)).collect();
        self.refresh();
    }

    /// Follows the definitions in the cluster, until it is dropped.
    pub(super) async fn follow_definitions(self: Arc<Self>) {
        let mut changes = self.watches.served_changes();
        loop {
            self.refresh();
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Watches what is published or defined now, and nothing else.
    pub(super) fn refresh(&self) {
        let mut table = self.table.lock();
        let UserTable { published, users } = &mut *table;
        let defined = self.watches.kinds_of_plugin(&self.plugin);
        let mut ended = Vec::new();
        if let Some(defined) = &defined {
            let is_user = |kind: &GroupKind| published.contains_key(kind) || defined.contains_key(kind);
            ended.extend(
                users
                    .extract_if(.., |kind, _| !is_user(kind))
                    .map(|(_, user)| user),
            );
        }
        let mut wanted = published.clone();
        for (kind, apis) in defined.unwrap_or_default() {
            if wanted.contains_key(&kind) || self.configs().iter().any(|config| config.kind == kind) {
                continue;
            }
            let known = users.get(&kind).filter(|user| apis.contains(&user.api));
            let api = known.map(|user| &user.api).or(apis.first());
            wanted.extend(api.map(|api| (kind, Arc::clone(api))));
        }
        for (kind, api) in wanted {
            if users.get(&kind).is_some_and(|user| user.api == api) {
                continue;
            }
            // The former one after it, so that nothing goes unwatched in between.
            ended.extend(users.insert(kind, self.user(api)));
        }
        drop(table);
        if !ended.is_empty() {
            drop(ended);
            self.wake_configs();
        }
    }

    fn user(&self, api: Arc<ApiType>) -> User {
        let plugin = self.plugin.clone();
        let uses = Edge::references(Arc::new(move |object: &Object| {
            reference::config_of(&plugin, object).into_iter().collect()
        }));
        let edges = self.store.register_edges(&api.kind, Arc::new([uses]));
        let reason = format!("uses configs of {}", self.plugin);
        let listener = self.listener();
        User {
            _subscription: self.watches.subscribe(&api, &reason, &listener),
            _edges: edges,
            api,
        }
    }

    /// It is a config's turn when a user comes, goes, or turns to another one.
    fn listener(&self) -> Arc<Listener> {
        let (dispatcher, clock) = (Arc::clone(&self.dispatcher), Arc::clone(&self.clock));
        let plugin = self.plugin.clone();
        Arc::new(move |change: &Change| {
            let used = |object: &Option<Arc<Object>>| reference::config_of(&plugin, object.as_deref()?).ok();
            let (before, after) = (used(&change.old), used(&change.new));
            if before != after {
                let wake = Wake {
                    at: clock.now(),
                    priority: Priority::UserChange,
                };
                for config in before.iter().chain(&after) {
                    dispatcher.enqueue(config, wake);
                }
            }
        })
    }

    fn configs(&self) -> [ApiType; 2] {
        [config_api(&self.plugin), cluster_config_api(&self.plugin)]
    }

    /// What counted as a user does not any more.
    pub(super) fn wake_configs(&self) {
        let wake = Wake {
            at: self.clock.now(),
            priority: Priority::DriftPoll,
        };
        for config in self.configs().iter().flat_map(|api| self.store.list(&api.kind)) {
            self.dispatcher.enqueue(&config.key(), wake);
        }
    }

    pub(super) fn apis(&self) -> Vec<Arc<ApiType>> {
        let table = self.table.lock();
        table.users.values().map(|user| Arc::clone(&user.api)).collect()
    }

    pub(super) fn count(&self) -> usize {
        self.table.lock().users.len()
    }

    /// There are no more users than the store knows.
    pub(super) fn are_complete(&self) -> bool {
        self.refresh();
        self.watches.definitions_state() == WatchState::Live
            && self.apis().iter().all(|api| self.watches.is_complete(&api.kind))
    }

    /// Whether anything refers to the config, by the API server itself.
    pub(super) async fn any_live(&self, writer: &Writer, config: &Key) -> Result<bool, ApiError> {
        let asked = self.apis().into_iter().map(|api| async move {
            let refers = |object: &Object| {
                reference::config_of(&self.plugin, object).is_ok_and(|used| used == *config)
            };
            match writer.any_live(&api, refers).await {
                // There is no such kind, and so nothing of it.
                Err(ApiError::NotServed(_)) if self.watches.is_defined(&api.kind) == Some(false) => Ok(false),
                found => found,
            }
        });
        let mut answers = stream::iter(asked).buffer_unordered(ASKED_AT_ONCE);
        while let Some(answer) = answers.next().await {
            if answer? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
