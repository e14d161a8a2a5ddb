//! Where functions listen, from flags and from what the cluster says.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bridge_core::{
    function::{Endpoints, FunctionEndpoint, endpoints},
    watch_plan::GroupKind,
};
use bridge_engine::{
    engine::Engine,
    object::{ApiType, Object},
    store::Listener,
    watch::{Subscription, WatchState},
};
use serde_json::Value;
use tokio::{
    sync::Notify,
    time::{interval, timeout},
};

/// Why both kinds are watched, for people.
const REASON: &str = "it may say where a composition function listens";

/// What is not read by then is read later: functions that flags name are served meanwhile.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often it is looked whether both kinds are read, until then.
const LOOK: Duration = Duration::from_millis(20);

/// Flags, `Function`s and `FunctionRevision`s. Their kinds may not be installed.
pub struct EndpointSources<'a> {
    engine: &'a Engine,
    flags: &'a BTreeMap<String, FunctionEndpoint>,
    functions: Arc<ApiType>,
    revisions: Arc<ApiType>,
    changed: Arc<Notify>,
    _watched: [Subscription; 2],
}

impl<'a> EndpointSources<'a> {
    /// Watches both kinds until it is dropped.
    pub fn watch(engine: &'a Engine, flags: &'a BTreeMap<String, FunctionEndpoint>) -> Self {
        let changed = Arc::new(Notify::new());
        let notified = Arc::clone(&changed);
        let listener: Arc<Listener> = Arc::new(move |_: &_| notified.notify_one());
        let functions = package("Function", "functions");
        let revisions = package("FunctionRevision", "functionrevisions");
        let watched = [&functions, &revisions].map(|api| engine.subscribe(api, REASON, &listener));
        Self {
            engine,
            flags,
            functions,
            revisions,
            changed,
            _watched: watched,
        }
    }

    /// Until all objects of both kinds are known, or cannot be; for a while.
    pub async fn until_read(&self) {
        let is_read = |api: &ApiType| {
            let watches = &self.engine.watches;
            watches.is_complete(&api.kind) || matches!(watches.state(&api.kind), WatchState::Forbidden(_))
        };
        let all_read = async {
            let mut look = interval(LOOK);
            while !(is_read(&self.functions) && is_read(&self.revisions)) {
                look.tick().await;
            }
        };
        if timeout(PATIENCE, all_read).await.is_err() {
            tracing::warn!(
                "cannot read Functions and FunctionRevisions yet: only --function says where functions listen"
            );
        }
    }

    /// Until what the cluster says may have changed. Cancel safe.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// As they are now.
    pub fn endpoints(&self) -> Endpoints {
        let functions: Vec<Value> = self.functions().iter().map(|one| one.to_value()).collect();
        endpoints(self.flags, &functions, &self.revisions())
    }

    /// All `Function`s.
    pub fn functions(&self) -> Vec<Arc<Object>> {
        self.engine.store.list(&self.functions.kind)
    }

    /// All `FunctionRevision`s.
    pub fn revisions(&self) -> Vec<Value> {
        let revisions = self.engine.store.list(&self.revisions.kind);
        revisions.iter().map(|one| one.to_value()).collect()
    }
}

fn package(kind: &str, plural: &str) -> Arc<ApiType> {
    Arc::new(ApiType {
        kind: GroupKind::new("pkg.crossplane.io", kind),
        version: "v1".to_owned(),
        plural: plural.to_owned(),
        namespaced: false,
    })
}
