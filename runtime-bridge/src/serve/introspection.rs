//! What a running bridge says of itself.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use bridge_engine::{
    engine::Engine,
    lease::{Leadership, LeadershipState},
    metrics::Metrics,
    object::Key,
    protection::GuardState,
    serve::{KindReport, KindStatus},
};
use bridge_function::Client;
use bridge_plugin::ConnectionStatus;
use parking_lot::RwLock;
use prometheus_client::metrics::{family::Family, gauge::Gauge};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::readiness::{answers, elected, those_that_serve, unready, watched};
use crate::{
    admin::{Introspect, Planned, Seen},
    plugins::{CallMetrics, Connected, PluginLink, Standing},
};

/// How compositions stand that are served.
pub(super) const SERVING: &str = "serving";

/// How many calls are reported for one object.
const CALLS: usize = 10;

/// Known to the admin endpoint from the first moment on.
pub struct Introspection {
    metrics: Arc<Metrics>,
    calls: Arc<CallMetrics>,
    leading: Family<Vec<(&'static str, String)>, Gauge>,
    plugins: OnceLock<Vec<PluginLink>>,
    leadership: OnceLock<Leadership>,
    running: RwLock<Option<ActiveInstance>>,
    /// Whether compositions are served, for people; empty: it is not known yet, or nobody asked for them.
    compositions: RwLock<String>,
    usage_guard: RwLock<Option<watch::Receiver<GuardState>>>,
    functions: RwLock<Option<Arc<Client>>>,
}

struct ActiveInstance {
    engine: Arc<Engine>,
    /// Whether all kinds are known.
    prepared: bool,
    kinds: BTreeMap<String, KindStatus>,
}

impl Introspection {
    /// Creates it before anything runs, and registers the metric of leadership.
    pub fn new(metrics: &Arc<Metrics>, calls: &Arc<CallMetrics>) -> Self {
        let leading = Family::default();
        metrics.register(|registry| {
            // Named as client-go names it.
            registry.register(
                "leader_election_master_status",
                "1 if this process leads, by the name of its lease",
                leading.clone(),
            );
        });
        Self {
            metrics: Arc::clone(metrics),
            calls: Arc::clone(calls),
            leading,
            plugins: OnceLock::new(),
            leadership: OnceLock::new(),
            running: RwLock::default(),
            compositions: RwLock::default(),
            usage_guard: RwLock::default(),
            functions: RwLock::default(),
        }
    }

    /// Sets the plugins that are configured. A second call has no effect.
    pub fn set_plugins(&self, plugins: Vec<PluginLink>) {
        let _ = self.plugins.set(plugins);
    }

    /// Whether this bridge may act. Once.
    pub fn set_leadership(&self, leadership: &Leadership) {
        let _ = self.leadership.set(leadership.clone());
    }

    fn leadership(&self) -> Option<LeadershipState> {
        self.leadership.get().map(Leadership::state)
    }

    /// Those that are configured, whether or not they answer.
    pub fn plugins(&self) -> &[PluginLink] {
        self.plugins.get().map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether compositions are served, for people. `false`: that was known.
    pub fn set_compositions(&self, standing: &str) -> bool {
        let mut known = self.compositions.write();
        let is_new = *known != standing;
        standing.clone_into(&mut known);
        is_new
    }

    /// What refuses deletions of what is in use; `None`: usages are not served.
    pub fn set_usage_guard(&self, guard: Option<watch::Receiver<GuardState>>) {
        *self.usage_guard.write() = guard;
    }

    /// Who calls functions; `None`: compositions are not served.
    pub fn set_functions(&self, client: Option<Arc<Client>>) {
        *self.functions.write() = client;
    }

    fn functions(&self) -> Option<Vec<Value>> {
        let client = self.functions.read().clone()?;
        let functions = client.functions().into_iter().map(|function| {
            let held = function
                .held
                .map(|(since, why)| json!({"since": since.to_string(), "why": why}));
            json!({
                "name": function.name,
                "endpoint": function.endpoint.as_ref().ok().map(ToString::to_string),
                "problem": function.endpoint.as_ref().err(),
                "held": held,
                "running": function.running,
                "waiting": function.waiting,
            })
        });
        Some(functions.collect())
    }

    fn usage_guard(&self) -> Option<String> {
        let guard = self.usage_guard.read();
        Some(match &*guard.as_ref()?.borrow() {
            GuardState::Proved => "in force".to_owned(),
            GuardState::NotProved { message } => format!("not proved: {message}"),
        })
    }

    /// Reports on this engine from now on.
    pub fn started(&self, engine: &Arc<Engine>) {
        *self.running.write() = Some(ActiveInstance {
            engine: Arc::clone(engine),
            prepared: false,
            kinds: BTreeMap::new(),
        });
    }

    /// Every kind has been named.
    pub fn prepared(&self) {
        if let Some(running) = self.running.write().as_mut() {
            running.prepared = true;
        }
    }

    /// Reports on no engine any more.
    pub fn ended(&self) {
        let ended = self.running.write().take();
        // Without the lock: an engine that ends may take a while, and the admin endpoint answers meanwhile.
        drop(ended);
    }
}

impl KindReport for Introspection {
    /// Reported in the log when it changes.
    fn kind(&self, kind: &str, status: KindStatus) {
        let before = {
            let mut running = self.running.write();
            let Some(running) = running.as_mut() else {
                return;
            };
            running.kinds.insert(kind.to_owned(), status.clone())
        };
        if before.as_ref() == Some(&status) {
            return;
        }
        match status {
            KindStatus::Starting => {}
            KindStatus::Served => tracing::info!(kind, "serving"),
            KindStatus::Degraded(why) => tracing::warn!(
                kind,
                why,
                "the kind is served, but its CRD is not as it should be, or cannot be read"
            ),
            KindStatus::Pending(why) => tracing::info!(kind, why, "the kind is not served yet"),
            KindStatus::Waiting(why) => tracing::warn!(kind, why, "the kind is not served yet: waiting"),
            KindStatus::Refused(why) => tracing::error!(
                kind,
                why,
                "failed to serve the kind: left out until what the plugins publish changes"
            ),
        }
    }

    fn retain(&self, wanted: &dyn Fn(&str) -> bool) {
        let removed: Vec<String> = match self.running.write().as_mut() {
            Some(running) => running
                .kinds
                .extract_if(.., |kind, _| !wanted(kind))
                .map(|(kind, _)| kind)
                .collect(),
            None => return,
        };
        for kind in removed {
            tracing::info!(kind, "the kind is no longer served");
        }
    }
}

impl Introspect for Introspection {
    fn liveness(&self) -> Result<(), &'static str> {
        self.running
            .read()
            .as_ref()
            .map_or(Ok(()), |running| running.engine.alive())
    }

    fn readiness(&self) -> Vec<(String, Result<(), String>)> {
        let running = self.running.read();
        let Some(running) = running.as_ref().filter(|running| running.prepared) else {
            return vec![("startup".into(), Err("not finished".into()))];
        };
        let leadership = self.leadership();
        let leads = leadership.as_ref().is_none_or(|leadership| leadership.leads);
        let kinds = running.kinds.iter().filter_map(|(kind, status)| {
            let why = unready(status, leads)?;
            Some((format!("kind {kind}"), Err(why)))
        });
        let watches = watched(running.engine.state());
        let election = leadership.iter().map(elected);
        // Somebody else's core is no reason to take this bridge out of service: its plugins' kinds are served.
        let compositions = Some(self.compositions.read().clone()).filter(|standing| !standing.is_empty());
        let composes = compositions.as_deref() == Some(SERVING);
        let compositions = compositions.map(|standing| (format!("compositions: {standing}"), Ok(())));
        let links = those_that_serve(self.plugins().iter().map(answers).collect(), composes);
        // Neither is its guard, as API servers reach a webhook only while its bridge is ready.
        let guard = self.usage_guard();
        let guard = guard.map(|standing| (format!("usage guard: {standing}"), Ok(())));
        let checks = links.into_iter().chain(kinds).chain(watches).chain(election);
        checks.chain(compositions).chain(guard).collect()
    }

    fn metrics(&self) -> String {
        if let Some(LeadershipState {
            leads,
            lease: Some(lease),
            ..
        }) = self.leadership()
        {
            self.leading
                .get_or_create(&vec![("name", lease)])
                .set(i64::from(leads));
        }
        match self.running.read().as_ref() {
            Some(running) => running.engine.encode_metrics(),
            None => self.metrics.encode(),
        }
    }

    fn state(&self) -> Value {
        let plugins: Vec<Value> = self.plugins().iter().map(plugin).collect();
        let running = self.running.read();
        let running = running.as_ref();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "leadership": self.leadership(),
            "plugins": plugins,
            "compositions": *self.compositions.read(),
            "usageGuard": self.usage_guard(),
            "functions": self.functions(),
            "kinds": running.map(|running| &running.kinds),
            "engine": running.map(|running| running.engine.state()),
        })
    }

    fn object(&self, key: &Key, uid: &str) -> Seen {
        let running = self.running.read();
        let due = running.as_ref().and_then(|running| running.engine.due(key));
        Seen {
            planned: due.map(|due| Planned {
                next: due.next.map(|next| next.at),
                purpose: due.next.map(|next| next.priority),
                running: due.running,
            }),
            calls: self.calls.recent.of(uid, CALLS),
            composition: running
                .as_ref()
                .and_then(|running| running.engine.report(key, uid)),
        }
    }
}

fn plugin(link: &PluginLink) -> Value {
    match link.standing() {
        Standing::Connected(connected) => connected_plugin(&connected),
        Standing::Failed(error) => {
            json!({ "endpoint": link.endpoint, "link": { "failed": error.to_string() } })
        }
        Standing::Asked => json!({ "endpoint": link.endpoint, "link": "asked" }),
    }
}

fn connected_plugin(connected: &Connected) -> Value {
    let state = connected.plugin.state();
    let state = state.borrow();
    let info = &state.served.info;
    json!({
        "name": info.name,
        "version": info.version,
        "instance": info.instance_id,
        "endpoint": connected.endpoint.to_string(),
        "link": match &state.link {
            ConnectionStatus::Up => json!("up"),
            ConnectionStatus::Down { since, why } => json!({ "down": { "since": since.to_string(), "why": why } }),
        },
        "kinds": state.served.kinds.iter().map(|kind| kind.resource_type.to_string()).collect::<Vec<_>>(),
    })
}
