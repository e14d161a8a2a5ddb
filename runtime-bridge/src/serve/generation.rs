//! One engine with its controllers, for as long as the plugins serve what they served at its start.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bridge_core::kind::{Kind, ResourceType};
use bridge_engine::{
    config::{ConfigOptions, ConfigResolver, LocalHost, cluster_config_api, config_api, secret_of},
    crd::{self, Found},
    engine::Engine,
    managed::{ManagedReconciler, Shared},
    ports::External,
};
use bridge_plugin::{Served, State};
use futures::{
    StreamExt,
    future::{BoxFuture, select_all},
    stream::FuturesUnordered,
};
use serde_json::Value;
use tokio::{sync::watch, time::interval};
use tokio_util::sync::CancellationToken;

use super::{
    ServeError,
    bridge::{Bridge, KindStatus},
    foundation::Foundation,
};
use crate::{
    definitions::{CrdMode, Definitions},
    plugins::{Connected, PluginExternal},
};

/// How long a CRD may take to be established.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);

/// Between two looks at CRDs that are not as they should be.
const LOOK_AGAIN: Duration = Duration::from_secs(15);

/// Why a generation ended.
pub enum Ended {
    /// By request.
    Stopped,
    /// This plugin serves something else now.
    PluginChanged(String),
}

/// One engine with its controllers.
pub struct Generation {
    engine: Arc<Engine>,
    shared: Arc<Shared>,
    gate: watch::Sender<bool>,
    mode: CrdMode,
    candidates: Vec<Candidate>,
    plugins: Vec<(watch::Receiver<State>, Arc<Served>)>,
}

/// A kind that is served once its CRD is as it should be.
struct Candidate {
    kind: Arc<Kind>,
    crd: Value,
    reconciler: Arc<ManagedReconciler>,
}

impl Generation {
    /// Starts an engine, and prepares a controller for each kind of each plugin.
    pub async fn start(foundation: &Foundation, bridge: &Bridge) -> Result<Self, ServeError> {
        let (shared, engine, gate) = foundation.engine().await?;
        bridge.started(&engine);
        let mut generation = Self {
            engine,
            shared,
            gate,
            mode: foundation.behaviour.crds,
            candidates: Vec::new(),
            plugins: Vec::new(),
        };
        for connected in bridge.plugins() {
            generation.add(connected, foundation, bridge).await;
        }
        bridge.prepared();
        generation.gate.send_replace(true);
        Ok(generation)
    }

    async fn add(&mut self, connected: &Connected, foundation: &Foundation, bridge: &Bridge) {
        let mut state = connected.plugin.state();
        let served = Arc::clone(&state.borrow_and_update().served);
        let definitions = Definitions::of(&served);
        for refused in definitions.refused {
            bridge.kind(&refused.kind.to_string(), KindStatus::Refused(refused.why));
        }
        for crd in &definitions.configs {
            if let Err(why) = self.ensure(crd).await {
                let name = crd
                    .pointer("/metadata/name")
                    .and_then(Value::as_str)
                    .unwrap_or_default();
                tracing::warn!(crd = name, why, "configs may not be readable");
            }
        }
        let external: Arc<dyn External> = Arc::new(PluginExternal(connected.plugin.clone()));
        let configs = self.configs(&served, &external, foundation);
        for (kind, crd) in definitions.kinds {
            bridge.kind(&kind.resource_type.to_string(), KindStatus::Starting);
            let reconciler = ManagedReconciler::new(
                &self.shared,
                Arc::clone(&kind),
                Arc::clone(&external),
                Arc::clone(&configs) as _,
                &served.info.version,
            );
            self.candidates.push(Candidate {
                kind,
                crd,
                reconciler,
            });
        }
        self.plugins.push((state, served));
    }

    /// Follows both config kinds of a plugin, so that a change of a config, or of its Secret, is the turn of those who use it.
    fn configs(
        &self,
        served: &Served,
        external: &Arc<dyn External>,
        foundation: &Foundation,
    ) -> Arc<ConfigResolver> {
        let plugin = &served.info.name;
        for api in [config_api(plugin), cluster_config_api(plugin)] {
            let references = Arc::new(|config: &_| secret_of(config).into_iter().collect());
            self.engine
                .follow(&Arc::new(api), references, &format!("configs of {plugin}"));
        }
        Arc::new(ConfigResolver::new(ConfigOptions {
            plugin: served.info.clone(),
            external: Arc::clone(external),
            objects: Arc::new(Arc::downgrade(&self.engine)),
            secrets: Arc::clone(&self.engine.secrets) as _,
            host: Arc::new(LocalHost),
            namespaced_host: foundation.behaviour.namespaced_host_credentials,
            clock: Arc::clone(&self.engine.clock),
        }))
    }

    /// Serves each kind as soon as its CRD is as it should be, until the generation ends.
    pub async fn run(&self, bridge: &Bridge, stop: &CancellationToken) -> Ended {
        let mut waiting: Vec<&Candidate> = self.candidates.iter().collect();
        let mut looks = interval(LOOK_AGAIN);
        let changed = self.changed();
        tokio::pin!(changed);
        loop {
            let look = async {
                looks.tick().await;
                self.look(&waiting, bridge).await
            };
            tokio::select! {
                () = stop.cancelled() => return Ended::Stopped,
                name = &mut changed => return Ended::PluginChanged(name),
                still = look, if !waiting.is_empty() => waiting = still,
            }
        }
    }

    /// One look at the CRDs of kinds that are not served yet. Returns those that still are not.
    async fn look<'a>(&self, waiting: &[&'a Candidate], bridge: &Bridge) -> Vec<&'a Candidate> {
        let mut looks: FuturesUnordered<_> = waiting
            .iter()
            .map(|candidate| async move { (*candidate, self.ensure(&candidate.crd).await) })
            .collect();
        let mut still = Vec::new();
        while let Some((candidate, ensured)) = looks.next().await {
            let name = candidate.kind.resource_type.to_string();
            match ensured {
                Ok(()) => {
                    self.engine.serve(
                        candidate
                            .reconciler
                            .controller(&reason(&candidate.kind.resource_type)),
                    );
                    bridge.kind(&name, KindStatus::Served);
                }
                Err(why) => {
                    bridge.kind(&name, KindStatus::Waiting(why));
                    still.push(candidate);
                }
            }
        }
        still
    }

    /// The cluster has this CRD, or why not.
    async fn ensure(&self, wanted: &Value) -> Result<(), String> {
        let client = &self.engine.clients.write;
        let wanted = std::slice::from_ref(wanted);
        match self.mode {
            CrdMode::Install => crd::install(client, wanted, ESTABLISHED_WITHIN)
                .await
                .map_err(|error| error.to_string()),
            CrdMode::Check => {
                let found = crd::check(client, wanted)
                    .await
                    .map_err(|error| error.to_string())?;
                found
                    .into_iter()
                    .try_for_each(|(name, found)| as_wanted(&name, found))
            }
        }
    }

    /// Ends when a plugin serves something else; with its name.
    async fn changed(&self) -> String {
        let plugins = self
            .plugins
            .iter()
            .map(|(state, served)| -> BoxFuture<'_, String> {
                let mut state = state.clone();
                Box::pin(async move {
                    // It ends only together with the plugin's supervision, which outlives the generation.
                    let _ = state
                        .wait_for(|state| essence(&state.served) != essence(served))
                        .await;
                    served.info.name.clone()
                })
            });
        select_all(plugins).await.0
    }

    /// Begins nothing more, and waits until what was begun has ended and is stored.
    pub async fn drain(self, limit: Duration) -> Result<(), ServeError> {
        let end = Instant::now() + limit;
        self.gate.send_replace(false);
        let settled = self.shared.drain(limit).await;
        let dropped = self
            .engine
            .drain(end.saturating_duration_since(Instant::now()))
            .await;
        if settled && dropped.is_empty() {
            return Ok(());
        }
        for key in &dropped {
            tracing::warn!(object = %key, "its pass was cut off");
        }
        Err(ServeError::NotDrained(dropped.len()))
    }
}

fn as_wanted(name: &str, found: Found) -> Result<(), String> {
    let apply = "apply what `runtime-bridge crds` prints, or run with --crds=install";
    match found {
        Found::Good => Ok(()),
        Found::Missing => Err(format!("the CRD {name} is not installed: {apply}")),
        Found::Different(mut at) => {
            at.truncate(3);
            Err(format!(
                "the CRD {name} is not the one that the plugin needs, it differs at {}: {apply}",
                at.join(", ")
            ))
        }
        Found::NotEstablished(why) => Err(format!("the CRD {name} is not established: {why}")),
    }
}

fn reason(kind: &ResourceType) -> String {
    format!("{} is served", kind.kind)
}

/// What of a plugin matters to its controllers: all but which process answers.
fn essence(served: &Served) -> Served {
    let mut essence = served.clone();
    essence.info.instance_id.clear();
    essence
}
