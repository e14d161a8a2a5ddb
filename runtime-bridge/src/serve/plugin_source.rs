//! A plugin as a source of kinds.

use std::sync::Arc;

use bridge_core::{back_off::BackoffPolicy, kind::Kind};
use bridge_engine::{
    config::{ConfigOptions, ConfigResolver, ConfigUsage, LocalHost, keep_while_used},
    engine::{Controller, Engine},
    managed::{ManagedReconciler, Shared},
    ports::External,
    serve::{DesiredKind, KindSource, Wanted},
};
use bridge_plugin::{PluginState, Served};
use futures::future::{BoxFuture, pending};
use serde_json::Value;
use tokio::sync::watch;

use super::ProcessContext;
use crate::{definitions::Definitions, plugins::Connected};

/// The kinds of one plugin, and its two config kinds, as it publishes them now.
pub(super) struct PluginSource {
    state: watch::Receiver<PluginState>,
    external: Arc<dyn External>,
    engine: Arc<Engine>,
    shared: Arc<Shared>,
    namespaced_host: bool,
    backoff: BackoffPolicy,
    /// As it was when it was asked last.
    published: Option<Published>,
    /// Keeps its configs while they are used: by which kinds.
    usage: Option<(Vec<Arc<DesiredKind>>, ConfigUsage)>,
}

struct Published {
    served: Served,
    configs: Arc<ConfigResolver>,
    kinds: Vec<Arc<DesiredKind>>,
    rejected: Vec<(String, String)>,
}

impl PluginSource {
    pub(super) fn new(
        connected: &Connected,
        process: &ProcessContext,
        engine: &Arc<Engine>,
        shared: &Arc<Shared>,
    ) -> Self {
        Self {
            state: connected.plugin.state(),
            external: Arc::new(connected.plugin.clone()),
            engine: Arc::clone(engine),
            shared: Arc::clone(shared),
            namespaced_host: process.behaviour.namespaced_host_credentials,
            backoff: process.behaviour.backoffs.config_backoff,
            published: None,
            usage: None,
        }
    }

    fn configs(&self, served: &Served) -> Arc<ConfigResolver> {
        Arc::new(ConfigResolver::new(ConfigOptions {
            plugin: served.info.clone(),
            external: Arc::clone(&self.external),
            objects: Arc::new(Arc::downgrade(&self.engine)),
            secrets: Arc::clone(&self.engine.secrets) as _,
            host: Arc::new(LocalHost),
            namespaced_host: self.namespaced_host,
            backoff: self.backoff,
            clock: Arc::clone(&self.engine.clock),
        }))
    }

    /// Everything as it is now; what is as `former` had it is taken from there.
    fn publish(&self, served: Served, former: Option<Published>) -> Published {
        // Another version of the plugin: each controller writes it down, and a config may mean something else.
        let former = former.filter(|former| former.served.info == served.info);
        let configs = former
            .as_ref()
            .map_or_else(|| self.configs(&served), |former| Arc::clone(&former.configs));
        let kept = |crd: &Value, kind: Option<&Kind>| {
            let former = former.as_ref()?;
            let same = former.kinds.iter().find(|same| same.crd == *crd)?;
            let is_same = |kind: &Kind| former.served.kinds.iter().any(|known| **known == *kind);
            kind.is_none_or(is_same).then(|| Arc::clone(same))
        };
        let definitions = Definitions::of(&served);
        let source = &served.info.name;
        let mut kinds = Vec::new();
        for (name, crd) in definitions.configs {
            kinds.push(kept(&crd, None).unwrap_or_else(|| {
                Arc::new(DesiredKind {
                    name,
                    source: source.clone(),
                    crd,
                    controller: None,
                })
            }));
        }
        for (kind, crd) in definitions.kinds {
            kinds.push(kept(&crd, Some(kind.as_ref())).unwrap_or_else(|| {
                let name = kind.resource_type.to_string();
                let (external, configs) = (Arc::clone(&self.external), Arc::clone(&configs) as _);
                let version = &served.info.version;
                let reconciler = ManagedReconciler::new(&self.shared, kind, external, configs, version);
                let controller = reconciler.controller(&format!("{name} is served"));
                Arc::new(DesiredKind {
                    name,
                    source: source.clone(),
                    crd,
                    controller: Some(controller),
                })
            }));
        }
        let rejected = definitions.refused.into_iter();
        let rejected = rejected.map(|refused| (refused.kind.to_string(), refused.why));
        Published {
            rejected: rejected.collect(),
            served,
            configs,
            kinds,
        }
    }
}

impl KindSource for PluginSource {
    fn changed(&self) -> BoxFuture<'static, ()> {
        let mut state = self.state.clone();
        let known = self.published.as_ref().map(|published| published.served.clone());
        Box::pin(async move {
            let other = |state: &PluginState| known.as_ref() != Some(&essence(&state.served));
            if state.wait_for(other).await.is_err() {
                // The plugin is no longer supervised: then nothing changes.
                pending::<()>().await;
            }
        })
    }

    fn wanted(&mut self) -> Wanted {
        let served = essence(&self.state.borrow_and_update().served);
        let former = self.published.take();
        let published = match former {
            Some(former) if former.served == served => former,
            former => {
                if former.is_some() {
                    tracing::info!(
                        plugin = served.info.name,
                        version = served.info.version,
                        "the plugin publishes something else"
                    );
                }
                self.publish(served, former)
            }
        };
        let wanted = Wanted {
            kinds: published.kinds.clone(),
            rejected: published.rejected.clone(),
        };
        self.published = Some(published);
        wanted
    }

    fn accepted(&mut self, kinds: &[Arc<DesiredKind>]) {
        let Some(published) = &self.published else { return };
        let same = |(users, _): &(Vec<Arc<DesiredKind>>, ConfigUsage)| {
            users.len() == kinds.len()
                && users
                    .iter()
                    .zip(kinds)
                    .all(|(one, other)| Arc::ptr_eq(one, other))
        };
        if self.usage.as_ref().is_some_and(same) {
            return;
        }
        let users: Vec<Controller> = kinds.iter().filter_map(|kind| kind.controller.clone()).collect();
        // The new one first, so that nothing goes unwatched in between.
        let usage = keep_while_used(&self.engine, &published.served.info.name, &users);
        self.usage = Some((kinds.to_vec(), usage));
    }
}

/// What of a plugin matters to its controllers: all but which process answers.
fn essence(served: &Served) -> Served {
    let mut essence = served.clone();
    essence.info.instance_id.clear();
    essence
}
