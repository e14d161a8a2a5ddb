//! What a running bridge says of itself.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use bridge_engine::{
    engine::Engine,
    lease::{Leadership, LeadershipState},
    metrics::Metrics,
    object::{ApiType, Key},
    protection::GuardState,
    serve::{KindReport, KindStatus},
    state::{EngineState, KindState},
    watch::WatchState,
};
use bridge_plugin::ConnectionStatus;
use parking_lot::RwLock;
use prometheus_client::metrics::{family::Family, gauge::Gauge};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::{
    admin::{Introspect, Planned, Seen},
    plugins::{CallMetrics, Connected, PluginLink, Standing},
};

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
        let links = those_that_serve(self.plugins().iter().map(answers).collect());
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
        let compositions = compositions.map(|standing| (format!("compositions: {standing}"), Ok(())));
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
        }
    }
}

/// Whether a plugin answers.
fn answers(link: &PluginLink) -> (String, Result<(), String>) {
    let unknown = || format!("plugin at {}", link.endpoint);
    match link.standing() {
        Standing::Asked => (unknown(), Err("it has not answered yet".to_owned())),
        Standing::Failed(error) => (unknown(), Err(error.to_string())),
        Standing::Connected(connected) => {
            let state = connected.plugin.state();
            let state = state.borrow();
            let answers = match &state.link {
                ConnectionStatus::Up => Ok(()),
                ConnectionStatus::Down { since, why } => Err(format!("no answer since {since:.0}: {why}")),
            };
            (format!("plugin {}", state.served.info.name), answers)
        }
    }
}

/// One plugin that does not answer is shown, and takes no bridge out of service that serves another one.
fn those_that_serve(plugins: Vec<(String, Result<(), String>)>) -> Vec<(String, Result<(), String>)> {
    if plugins.iter().all(|(_, answers)| answers.is_err()) {
        return plugins;
    }
    let shown = |(plugin, answers): (String, Result<(), String>)| match answers {
        Ok(()) => (plugin, Ok(())),
        Err(why) => (format!("{plugin}: {why}; the others are served"), Ok(())),
    };
    plugins.into_iter().map(shown).collect()
}

/// Why a kind keeps the bridge from being ready. What is wrong with a definition is the leader's to mend: a standby is ready all the same.
fn unready(status: &KindStatus, leads: bool) -> Option<String> {
    match status {
        KindStatus::Starting => Some("starting".to_owned()),
        KindStatus::Waiting(why) if leads => Some(why.clone()),
        KindStatus::Waiting(_) | KindStatus::Served | KindStatus::Degraded(_) | KindStatus::Refused(_) => {
            None
        }
    }
}

/// A standby is ready, to take over, if it could, and if somebody leads: where nobody does, nothing is served.
fn elected(leadership: &LeadershipState) -> (String, Result<(), String>) {
    let nobody = !leadership.leads && leadership.holder.as_ref().is_some_and(String::is_empty);
    let lease = leadership.lease.as_deref().unwrap_or_default();
    let why = match &leadership.failure {
        None if nobody => Some(format!("nobody is seen to hold the lease {lease} yet")),
        failure => failure.clone(),
    };
    (describe(leadership), why.map_or(Ok(()), Err))
}

fn describe(leadership: &LeadershipState) -> String {
    let holder = leadership.holder.as_deref().filter(|holder| !holder.is_empty());
    match (leadership.leads, &leadership.lease) {
        (true, None) => "leader: this bridge, without an election".to_owned(),
        (true, Some(lease)) => format!("leader: this bridge, by the lease {lease}"),
        (false, _) => format!("leader: {}; standing by", holder.unwrap_or("none")),
    }
}

/// Nothing is served before it is watched. What is watched only for those that depend on it is shown, and makes nothing else wait.
fn watched(state: EngineState) -> Vec<(String, Result<(), String>)> {
    let synced = |state| match state {
        WatchState::Live | WatchState::Gone(_) => Ok(()),
        WatchState::Syncing(why) => Err(format!("syncing: {why}")),
        WatchState::Forbidden(why) => Err(format!("forbidden: {why}")),
    };
    // Without it, no kind is known to exist, and each seems rightly not watched.
    let definitions = (
        "watch CustomResourceDefinition".to_owned(),
        synced(state.definitions),
    );
    let kinds = state
        .kinds
        .into_iter()
        .map(|KindState { watch, served, .. }| match watch.state {
            // They can be read all the same.
            WatchState::Forbidden(why) if watch.kind == ApiType::secrets().kind => (
                format!("watch Secret: forbidden, read every few seconds instead: {why}"),
                Ok(()),
            ),
            state if served || watch.kind == ApiType::secrets().kind => {
                (format!("watch {}", watch.kind), synced(state))
            }
            // What depends on it says so by itself, and waits alone.
            state => match synced(state) {
                Ok(()) => (format!("watch {}", watch.kind), Ok(())),
                Err(why) => (
                    format!("watch {}: {why}; what needs it waits", watch.kind),
                    Ok(()),
                ),
            },
        });
    std::iter::once(definitions).chain(kinds).collect()
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

#[cfg(test)]
mod tests {
    use bridge_core::{queue::Counts, watch_plan::GroupKind};
    use bridge_engine::watch::KindWatch;

    use super::*;

    fn state(definitions: WatchState, kinds: [(&str, &str, WatchState); 2]) -> EngineState {
        let kinds = kinds.map(|(group, kind, state)| KindState {
            watch: KindWatch {
                kind: GroupKind::new(group, kind),
                version: "v1".to_owned(),
                definition: None,
                state,
                reasons: BTreeMap::new(),
                interruptions: 0,
                lists: 0,
                unreadable: BTreeMap::new(),
            },
            objects: 0,
            served: group == "example.org",
            queue: Counts::default(),
        });
        EngineState {
            server_version: String::new(),
            dispatching: true,
            definitions,
            discovery: None,
            kinds: kinds.into(),
            in_flight: Vec::new(),
            last_plan: Vec::new(),
        }
    }

    #[test]
    fn a_kind_that_is_not_served_is_shown_and_delays_nothing() {
        let no = WatchState::Forbidden("no".to_owned());
        let kinds = [
            ("apps", "Deployment", no),
            ("example.org", "Note", WatchState::Live),
        ];
        let checks = watched(state(WatchState::Live, kinds));
        let shown = "watch Deployment.apps: forbidden: no; what needs it waits".to_owned();
        assert_eq!(checks[1], (shown, Ok(())));
    }

    #[test]
    fn a_plugin_that_is_down_takes_no_bridge_out_of_service_that_serves_another() {
        let down = || ("plugin a".to_owned(), Err("no answer".to_owned()));
        let up = || ("plugin b".to_owned(), Ok(()));
        assert_eq!(those_that_serve(vec![down()]), [down()]);
        let shown = "plugin a: no answer; the others are served".to_owned();
        assert_eq!(those_that_serve(vec![down(), up()]), [(shown, Ok(())), up()]);
        assert_eq!(those_that_serve(Vec::new()), []);
    }

    #[test]
    fn a_leader_is_unready_while_a_kind_waits() {
        let waiting = KindStatus::Waiting("no CRD".to_owned());
        assert_eq!(unready(&waiting, true).as_deref(), Some("no CRD"));
        assert_eq!(unready(&waiting, false), None, "a standby could not mend it");
        assert!(unready(&KindStatus::Starting, false).is_some());
        let degraded = KindStatus::Degraded("changed".to_owned());
        for status in [degraded, KindStatus::Served, KindStatus::Refused(String::new())] {
            assert_eq!(unready(&status, true), None);
        }
    }

    #[test]
    fn a_standby_that_cannot_take_over_is_unready() {
        let mut standby = LeadershipState {
            leads: false,
            lease: Some("n/l".to_owned()),
            identity: Some("a".to_owned()),
            holder: Some("b".to_owned()),
            failure: None,
        };
        assert_eq!(elected(&standby), ("leader: b; standing by".to_owned(), Ok(())));
        standby.failure = Some("forbidden".to_owned());
        assert_eq!(elected(&standby).1, Err("forbidden".to_owned()));
    }

    #[test]
    fn a_bridge_is_unready_while_nobody_leads() {
        let mut beginning = LeadershipState {
            leads: false,
            lease: Some("n/l".to_owned()),
            identity: Some("a".to_owned()),
            holder: Some(String::new()),
            failure: None,
        };
        assert_eq!(
            elected(&beginning),
            (
                "leader: none; standing by".to_owned(),
                Err("nobody is seen to hold the lease n/l yet".to_owned())
            )
        );
        beginning.leads = true;
        beginning.holder = Some("a".to_owned());
        assert_eq!(elected(&beginning).1, Ok(()));
    }

    #[test]
    fn it_is_ready_when_all_is_watched_that_must_be() {
        let no = || WatchState::Forbidden("no".to_owned());
        let live = WatchState::Live;
        let unready = |state| {
            let checks = watched(state).into_iter();
            checks
                .filter_map(|(what, result)| Some((what, result.err()?)))
                .collect::<Vec<_>>()
        };
        let kinds = |secrets, notes| [("", "Secret", secrets), ("example.org", "Note", notes)];
        let none: Vec<(String, String)> = Vec::new();
        assert_eq!(
            unready(state(live.clone(), kinds(live.clone(), live.clone()))),
            none
        );
        let unknown = WatchState::Gone("the definitions are not known".to_owned());
        assert_eq!(
            unready(state(no(), kinds(live.clone(), unknown))),
            [(
                "watch CustomResourceDefinition".to_owned(),
                "forbidden: no".to_owned()
            )]
        );
        assert_eq!(unready(state(live.clone(), kinds(no(), live.clone()))), none);
        assert_eq!(
            unready(state(live.clone(), kinds(live, no()))),
            [("watch Note.example.org".to_owned(), "forbidden: no".to_owned())]
        );
    }
}
