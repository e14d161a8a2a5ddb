//! A plugin as a source of kinds.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use bridge_core::{back_off::BackoffPolicy, kind::Kind, limits};
use bridge_engine::{
    config::{
        ConfigCheck, ConfigOptions, ConfigPolicy, ConfigResolver, ConfigUsage, LocalHost, keep_while_used,
    },
    engine::Engine,
    managed::{ManagedReconciler, Shared},
    ports::External,
    serve::{DesiredKind, KindSource, Wanted},
};
use bridge_plugin::{PluginState, Served};
use futures::future::{BoxFuture, pending};
use serde_json::Value;
use tokio::{
    sync::watch,
    time::{Instant, sleep_until},
};

use super::{ProcessContext, change_pace::ChangePace};
use crate::{
    definitions::Definitions,
    plugins::{Connected, Groups, PluginLink, Standing},
};

/// The kinds of one plugin, and its two config kinds, as it publishes them now; none before it is connected.
pub(super) struct PluginSource {
    link: PluginLink,
    parts: Parts,
    connected: Option<ConnectedSource>,
}

/// What kinds are served with.
#[derive(Clone)]
struct Parts {
    engine: Arc<Engine>,
    shared: Arc<Shared>,
    options: ConfigPolicy,
    host: Arc<LocalHost>,
    backoff: BackoffPolicy,
}

/// The kinds of a plugin that answers.
struct ConnectedSource {
    state: watch::Receiver<PluginState>,
    external: Arc<dyn External>,
    groups: Groups,
    parts: Parts,
    pace: ChangePace,
    /// What the plugin served when it was asked last.
    seen: Option<Arc<Served>>,
    /// As it was published then.
    published: Option<Published>,
    /// Of all CRDs that it ever had. Nobody removes one from the cluster.
    names: HashSet<String>,
    /// Keeps its configs, which are named after it, while they are used.
    usage: Option<(String, ConfigUsage)>,
}

struct Published {
    served: Served,
    configs: Arc<ConfigResolver>,
    kinds: Vec<Arc<DesiredKind>>,
    rejected: Vec<(String, String)>,
}

impl PluginSource {
    pub(super) fn new(
        link: &PluginLink,
        process: &ProcessContext,
        engine: &Arc<Engine>,
        shared: &Arc<Shared>,
    ) -> Self {
        Self {
            link: link.clone(),
            parts: Parts {
                engine: Arc::clone(engine),
                shared: Arc::clone(shared),
                options: process.behaviour.config_policy(),
                host: Arc::new(LocalHost::below(process.behaviour.host_credentials_dir.clone())),
                backoff: process.behaviour.backoffs.config_backoff,
            },
            connected: None,
        }
    }
}

impl KindSource for PluginSource {
    fn changed(&self) -> BoxFuture<'static, ()> {
        match &self.connected {
            Some(connected) => connected.changed(),
            None => Box::pin(self.link.clone().until_connected()),
        }
    }

    fn wanted(&mut self) -> Wanted {
        if let (None, Standing::Connected(connected)) = (&self.connected, self.link.standing()) {
            let groups = self.link.groups().clone();
            self.connected = Some(ConnectedSource::new(&connected, groups, self.parts.clone()));
        }
        self.connected
            .as_mut()
            .map_or_else(Wanted::default, ConnectedSource::wanted)
    }

    fn accepted(&mut self, kinds: &[Arc<DesiredKind>]) {
        if let Some(connected) = &mut self.connected {
            connected.accepted(kinds);
        }
    }
}

impl ConnectedSource {
    fn new(connected: &Connected, groups: Groups, parts: Parts) -> Self {
        let shared = parts.shared.for_plugin();
        let parts = Parts { shared, ..parts };
        Self {
            state: connected.plugin.state(),
            external: Arc::new(connected.plugin.clone()),
            groups,
            parts,
            pace: ChangePace::default(),
            seen: None,
            published: None,
            names: HashSet::new(),
            usage: None,
        }
    }

    fn configs(&self, served: &Served) -> Arc<ConfigResolver> {
        Arc::new(ConfigResolver::new(ConfigOptions {
            plugin: served.info.clone(),
            external: Arc::clone(&self.external),
            objects: Arc::new(Arc::downgrade(&self.parts.engine)),
            secrets: Arc::clone(&self.parts.engine.secrets) as _,
            host: Arc::clone(&self.parts.host) as _,
            policy: self.parts.options,
            backoff: self.parts.backoff,
            clock: Arc::clone(&self.parts.engine.clock),
        }))
    }

    /// Everything as it is now; what is as `former` had it is taken from there.
    fn publish(&self, served: Served, former: Option<Published>) -> Published {
        // Another version of the plugin: each controller writes it down, and a config may mean something else.
        let former = former.filter(|former| former.served.info == served.info);
        let configs = former
            .as_ref()
            .map_or_else(|| self.configs(&served), |former| Arc::clone(&former.configs));
        let known = former
            .as_ref()
            .into_iter()
            .flat_map(|former| &former.served.kinds);
        let known: HashMap<_, &Kind> = known.map(|kind| (&kind.resource_type, kind.as_ref())).collect();
        let kinds = former.as_ref().into_iter().flat_map(|former| &former.kinds);
        let kinds: HashMap<_, &Arc<DesiredKind>> = kinds.map(|kind| (kind.crd_name(), kind)).collect();
        let kept = |crd: &Value, kind: Option<&Kind>| {
            let same = kinds.get(crd["metadata"]["name"].as_str()?)?;
            let is_same = |kind: &Kind| known.get(&kind.resource_type) == Some(&kind);
            (same.crd == *crd && kind.is_none_or(is_same)).then(|| Arc::clone(same))
        };
        let definitions = Definitions::of(&served, &self.groups);
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
                let reconciler = ManagedReconciler::new(&self.parts.shared, kind, external, configs, version);
                let mut controller = reconciler.controller(&format!("{name} is served"));
                controller.owner = Some(source.as_str().into());
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

impl ConnectedSource {
    fn changed(&self) -> BoxFuture<'static, ()> {
        let other = until_other(self.state.clone(), self.seen.clone(), |state| &state.served);
        let not_before = self.pace.may_change_at();
        Box::pin(async move {
            other.await;
            if let Some(not_before) = not_before {
                sleep_until(not_before).await;
            }
        })
    }

    /// What it wants now; as long as it has changed too often, what it wanted last.
    fn wanted(&mut self) -> Wanted {
        let now = Instant::now();
        if let Some(published) = &self.published
            && self.pace.may_change_at().is_some_and(|at| now < at)
        {
            return published.wanted();
        }
        let seen = Arc::clone(&self.state.borrow_and_update().served);
        let served = essence(&seen);
        self.seen = Some(seen);
        let former = self.published.take();
        let published = match former {
            Some(former) if former.served == served => former,
            former => {
                if former.is_some() {
                    let next = self.pace.changed(now).map(|wait| wait.as_secs());
                    tracing::info!(
                        plugin = served.info.name,
                        version = served.info.version,
                        next_change_after_seconds = next,
                        "the plugin publishes something else"
                    );
                }
                let mut published = self.publish(served, former);
                published.admit(&mut self.names);
                published
            }
        };
        let wanted = published.wanted();
        self.published = Some(published);
        wanted
    }

    fn accepted(&mut self, kinds: &[Arc<DesiredKind>]) {
        let Some(published) = &self.published else { return };
        let plugin = &published.served.info.name;
        let check = Arc::clone(&published.configs) as Arc<dyn ConfigCheck>;
        let users = kinds
            .iter()
            .filter_map(|kind| Some(Arc::clone(&kind.controller.as_ref()?.api)));
        match &self.usage {
            Some((of, usage)) if of == plugin => usage.publish(users, &check),
            _ => {
                let usage = keep_while_used(&self.parts.engine, plugin, users, check);
                self.usage = Some((plugin.clone(), usage));
            }
        }
    }
}

impl Published {
    /// A plugin that publishes other kinds again and again fills the cluster with no more CRDs than this.
    fn admit(&mut self, names: &mut HashSet<String>) {
        let rejected = &mut self.rejected;
        self.kinds.retain(|kind| {
            let is_admitted = admit(names, kind.crd_name());
            if !is_admitted {
                rejected.push((kind.name.clone(), TOO_MANY_NAMES.to_owned()));
            }
            is_admitted
        });
    }

    fn wanted(&self) -> Wanted {
        Wanted {
            kinds: self.kinds.clone(),
            rejected: self.rejected.clone(),
        }
    }
}

const TOO_MANY_NAMES: &str = "the plugin has published more than 1024 kinds since the bridge began: only a restart of the bridge lets it serve others";

fn admit(names: &mut HashSet<String>, name: &str) -> bool {
    let is_admitted = names.contains(name) || names.len() < limits::DEFINITIONS;
    if is_admitted {
        names.insert(name.to_owned());
    }
    is_admitted
}

/// Until the plugin serves something that was not seen. Nothing is compared: a handshake that brings the same again is sorted out when it is taken
/// up, once, and not whenever somebody waits.
async fn until_other<S, T>(
    mut state: watch::Receiver<S>,
    seen: Option<Arc<T>>,
    served: impl Fn(&S) -> &Arc<T>,
) {
    let is_other = |state: &S| !seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, served(state)));
    if state.wait_for(is_other).await.is_err() {
        // The plugin is no longer supervised: then nothing changes.
        pending::<()>().await;
    }
}

/// What of a plugin matters to its controllers: all but which process answers.
fn essence(served: &Served) -> Served {
    let mut essence = served.clone();
    essence.info.instance_id.clear();
    essence
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn no_more_names_are_admitted_than_two_plugins_may_have_kinds() {
        let mut names = HashSet::new();
        let admitted = (0..10_000).filter(|n| admit(&mut names, &n.to_string())).count();
        assert_eq!(admitted, limits::DEFINITIONS);
        assert!(admit(&mut names, "0"), "a former one comes back");
        assert!(TOO_MANY_NAMES.contains(&limits::DEFINITIONS.to_string()));
    }

    /// What cannot be compared.
    struct Publication;

    #[test]
    fn what_was_seen_is_not_compared_again() {
        let first = Arc::new(Publication);
        let (state, changes) = watch::channel((Arc::clone(&first), "up"));
        let is_other = |seen: Option<&Arc<Publication>>| {
            let waits = until_other(changes.clone(), seen.cloned(), |(served, _)| served);
            waits.now_or_never().is_some()
        };
        assert!(is_other(None));
        for link in ["down", "up"] {
            state.send_replace((Arc::clone(&first), link));
            assert!(!is_other(Some(&first)));
        }
        state.send_replace((Arc::new(Publication), "up"));
        assert!(is_other(Some(&first)));
    }
}
