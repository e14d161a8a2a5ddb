//! One engine with its controllers, for as long as the plugins serve what they served at its start.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bridge_core::watch_plan::GroupKind;
use bridge_engine::{
    config::{ConfigOptions, ConfigResolver, LocalHost, keep_while_used},
    crd::{self, Found},
    engine::{Controller, Engine},
    lease::Leadership,
    managed::{ManagedReconciler, Shared},
    ports::External,
};
use bridge_plugin::{Served, State};
use futures::{
    StreamExt,
    future::{BoxFuture, select_all},
    stream,
};
use serde_json::Value;
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior, interval},
};
use tokio_util::sync::CancellationToken;

use super::{
    ServeError,
    bridge::{Bridge, KindStatus},
    foundation::Foundation,
};
use crate::{
    definitions::{CrdMode, Definitions},
    plugins::Connected,
};

/// How long a CRD may take to be established.
const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);

/// CRDs looked at, at once.
const LOOKS: usize = 8;

/// Between two looks at CRDs: those that are not as they should be, and whether the others are still there.
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
    leadership: Leadership,
    mode: CrdMode,
    candidates: Vec<Candidate>,
    plugins: Vec<(watch::Receiver<State>, Arc<Served>)>,
}

/// A CRD that the cluster is to have, and the controller that is then started. Config kinds have none.
struct Candidate {
    /// With its version.
    name: String,
    kind: GroupKind,
    plugin: String,
    crd: Value,
    controller: Option<Controller>,
    /// Its controller was started. Once is enough: it runs whenever there is a CRD.
    started: AtomicBool,
}

impl Candidate {
    fn new(name: String, plugin: &str, crd: Value, controller: Option<Controller>) -> Self {
        let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        Self {
            kind: GroupKind::new(text("/spec/group"), text("/spec/names/kind")),
            name,
            plugin: plugin.to_owned(),
            crd,
            controller,
            started: AtomicBool::new(false),
        }
    }

    /// The API server can serve only one of them.
    fn excludes(&self, other: &Self) -> bool {
        self.kind == other.kind || self.crd.pointer("/metadata/name") == other.crd.pointer("/metadata/name")
    }
}

impl Generation {
    /// Starts an engine, and prepares a controller for each kind of each plugin.
    pub fn start(foundation: &Foundation, bridge: &Bridge) -> Self {
        let (shared, engine, gate) = foundation.engine();
        bridge.started(&engine);
        let mut generation = Self {
            engine,
            shared,
            gate,
            leadership: foundation.leadership.clone(),
            mode: foundation.behaviour.crds,
            candidates: Vec::new(),
            plugins: Vec::new(),
        };
        for connected in bridge.plugins() {
            generation.add(connected, foundation, bridge);
        }
        bridge.prepared();
        generation
    }

    fn add(&mut self, connected: &Connected, foundation: &Foundation, bridge: &Bridge) {
        let mut state = connected.plugin.state();
        let served = Arc::clone(&state.borrow_and_update().served);
        let definitions = Definitions::of(&served);
        for refused in definitions.refused {
            bridge.kind(&refused.kind.to_string(), KindStatus::Refused(refused.why));
        }
        let external: Arc<dyn External> = Arc::new(connected.plugin.clone());
        let configs = self.configs(&served, &external, foundation);
        let plugin = &served.info.name;
        let config_kinds = definitions
            .configs
            .into_iter()
            .map(|(name, crd)| Candidate::new(name, plugin, crd, None));
        let managed_kinds = definitions.kinds.into_iter().map(|(kind, crd)| {
            let name = kind.resource_type.to_string();
            let (external, configs) = (Arc::clone(&external), Arc::clone(&configs) as _);
            let version = &served.info.version;
            let reconciler = ManagedReconciler::new(&self.shared, kind, external, configs, version);
            let controller = reconciler.controller(&format!("{name} is served"));
            Candidate::new(name, plugin, crd, Some(controller))
        });
        let mut users = Vec::new();
        for candidate in config_kinds.chain(managed_kinds) {
            if let Some(first) = self.candidates.iter().find(|first| first.excludes(&candidate)) {
                let why = format!("{} is served by {}, too", first.name, first.plugin);
                bridge.kind(
                    &format!("{} of {plugin}", candidate.name),
                    KindStatus::Refused(why),
                );
                continue;
            }
            bridge.kind(&candidate.name, KindStatus::Starting);
            users.extend(candidate.controller.clone());
            self.candidates.push(candidate);
        }
        keep_while_used(&self.engine, plugin, &users);
        self.plugins.push((state, served));
    }

    fn configs(
        &self,
        served: &Served,
        external: &Arc<dyn External>,
        foundation: &Foundation,
    ) -> Arc<ConfigResolver> {
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

    /// Serves each kind as soon as its CRD is as it should be, until the generation ends. Passes begin while we lead.
    pub async fn run(&self, bridge: &Bridge, stop: &CancellationToken) -> Ended {
        tokio::select! {
            // In a fixed order, so that a simulation repeats itself.
            biased;
            ended = self.serve(bridge, stop) => ended,
            ended = self.follow_leadership() => ended,
        }
    }

    async fn follow_leadership(&self) -> Ended {
        let mut leads = self.leadership.watch();
        loop {
            let now = *leads.borrow_and_update();
            self.gate.send_replace(now);
            if leads.changed().await.is_err() {
                // Nobody can tell any more: then it stays as it is.
                return pending().await;
            }
        }
    }

    async fn serve(&self, bridge: &Bridge, stop: &CancellationToken) -> Ended {
        let mut served: Vec<&Candidate> = Vec::new();
        let mut waiting: Vec<&Candidate> = self.candidates.iter().collect();
        let mut looks = interval(LOOK_AGAIN);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let changed = self.changed();
        tokio::pin!(changed);
        loop {
            let look = async {
                looks.tick().await;
                let lost = |candidate: &&Candidate| self.is_lost(candidate);
                let (lost, still): (Vec<&Candidate>, Vec<&Candidate>) =
                    served.iter().copied().partition(lost);
                for candidate in &lost {
                    bridge.kind(
                        &candidate.name,
                        KindStatus::Waiting("its CRD was deleted".to_owned()),
                    );
                }
                waiting.extend(lost);
                let (found, waiting) = self.look(&waiting, bridge).await;
                ([still, found].concat(), waiting)
            };
            tokio::select! {
                // In a fixed order, so that a simulation repeats itself.
                biased;
                () = stop.cancelled() => return Ended::Stopped,
                name = &mut changed => return Ended::PluginChanged(name),
                looked = look => (served, waiting) = looked,
            }
        }
    }

    fn is_lost(&self, candidate: &Candidate) -> bool {
        self.engine.watches.is_defined(&candidate.kind) == Some(false)
    }

    /// One look at the CRDs of kinds that are not served. Returns those that are now, and those that still are not.
    async fn look<'a>(
        &self,
        waiting: &[&'a Candidate],
        bridge: &Bridge,
    ) -> (Vec<&'a Candidate>, Vec<&'a Candidate>) {
        let ensure = |candidate: &'a Candidate| async move { (candidate, self.ensure(&candidate.crd).await) };
        let mut looks = stream::iter(waiting.iter().copied().map(ensure)).buffer_unordered(LOOKS);
        let (mut served, mut still) = (Vec::new(), Vec::new());
        while let Some((candidate, ensured)) = looks.next().await {
            match ensured {
                Ok(()) => {
                    if let Some(controller) = &candidate.controller
                        && !candidate.started.swap(true, Ordering::Relaxed)
                    {
                        self.engine.serve(controller.clone());
                    }
                    bridge.kind(&candidate.name, KindStatus::Served);
                    served.push(candidate);
                }
                Err(why) => {
                    bridge.kind(&candidate.name, KindStatus::Waiting(why));
                    still.push(candidate);
                }
            }
        }
        (served, still)
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
                    let other = |state: &State| essence(&state.served) != essence(served);
                    if state.wait_for(other).await.is_err() {
                        // Nobody looks after the plugin any more: then nothing changes.
                        pending::<()>().await;
                    }
                    served.info.name.clone()
                })
            });
        select_all(plugins).await.0
    }

    /// Begins nothing more, and waits until what was begun, by it or by former ones, has ended and is stored.
    pub async fn drain(self, limit: Duration) -> Result<(), ServeError> {
        let end = Instant::now() + limit;
        self.gate.send_replace(false);
        let left = self.shared.drain(limit).await;
        let dropped = self
            .engine
            .drain(end.saturating_duration_since(Instant::now()))
            .await;
        for key in &dropped {
            tracing::warn!(object = %key, "its pass was cut off");
        }
        match left.max(dropped.len()) {
            0 => Ok(()),
            left => Err(ServeError::NotDrained(left)),
        }
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

/// What of a plugin matters to its controllers: all but which process answers.
fn essence(served: &Served) -> Served {
    let mut essence = served.clone();
    essence.info.instance_id.clear();
    essence
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn candidate(kind: &str, plural: &str) -> Candidate {
        let crd = json!({
            "metadata": { "name": format!("{plural}.example.org") },
            "spec": { "group": "example.org", "names": { "kind": kind } },
        });
        Candidate::new(String::new(), "plugin", crd, None)
    }

    #[test]
    fn two_of_one_kind_or_of_one_name_cannot_both_be_served() {
        let notes = candidate("Note", "notes");
        assert!(notes.excludes(&candidate("Note", "scraps")));
        assert!(notes.excludes(&candidate("Scrap", "notes")));
        assert!(!notes.excludes(&candidate("Scrap", "scraps")));
    }
}
