//! A process of the bridge: it runs the real driver and machine, with a view of its own, and may die at any write.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use bridge_core::{
    claim::{
        Additions, Bond, Claim, ClaimMachine, ClaimMemory, Snapshot, bound_elsewhere, candidates, is_taken,
    },
    composite::{LiveObject, ObjectState, Selected, Settings},
    definition::{ClaimTerms, Machinery, Scope, Terms},
    driver::{ApiFailure, ApiFailureKind, Driver, Effect, End, Input, Leadership, Moment, Permit},
    watch_plan::GroupKind,
};
use jiff::Timestamp;
use serde_json::Value;

use super::api::{Api, live};

/// What goes wrong at one write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The process dies, and the write is not sent.
    DiesBefore,
    /// The write is carried out, and the process dies.
    DiesAfter,
    /// The write is carried out, and its answer is lost.
    AnswerLost,
    /// The write is carried out half a minute later, if it is still good then; the process knows nothing of it.
    LandsLate,
    /// The process dies, and its write is carried out half a minute later.
    DiesAndLandsLate,
    /// It is refused.
    Refused,
}

impl Fault {
    pub const ALL: [Self; 6] = [
        Self::DiesBefore,
        Self::DiesAfter,
        Self::AnswerLost,
        Self::LandsLate,
        Self::DiesAndLandsLate,
        Self::Refused,
    ];
}

/// A write that the API server carries out later.
#[derive(Debug, Clone)]
pub(super) enum Late {
    Create(String, Value),
    Apply([String; 3], bool, Value, String),
    Delete([String; 3], String),
}

/// The world around processes, and the one that runs now.
pub struct World {
    pub api: Api,
    pub now: Timestamp,
    pub(super) term: u64,
    pub(super) term_began: Timestamp,
    pub(super) memories: BTreeMap<String, ClaimMemory>,
    /// What the process knows: what the API server held when it looked last, and its own writes.
    pub(super) view: Api,
    /// Fault at the n-th write of the whole life, from 0.
    pub faults: BTreeMap<usize, Fault>,
    pub(super) attempts: usize,
    pub(super) late: Vec<(Timestamp, Late)>,
    pub(super) dead: bool,
    /// What the API server held after each write and step of a person.
    pub(super) history: Vec<Api>,
    /// So often watches show claims as they were then, unless they are read.
    pub(super) stale: Option<(u32, BTreeMap<String, Value>)>,
    pub terms: Terms,
    /// So often watches show no composite resource, unless it is read.
    pub hides_composites: u32,
    /// A person creates this as soon as the name is free.
    pub then_create: Option<(&'static str, Value)>,
    /// How long the composite resource takes for each of its steps.
    pub composes_within: Duration,
    /// What uses each composite resource.
    pub used_by: Option<&'static str>,
    /// Why usages cannot be listed.
    pub unlisted: Option<&'static str>,
    /// The API server refuses each status of a claim.
    pub refuses_status: bool,
}

impl World {
    pub fn new() -> Self {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        Self {
            api: Api::default(),
            now,
            term: 1,
            term_began: now - Duration::from_hours(1),
            memories: BTreeMap::new(),
            view: Api::default(),
            faults: BTreeMap::new(),
            attempts: 0,
            late: Vec::new(),
            dead: false,
            history: Vec::new(),
            stale: None,
            terms: terms(),
            hides_composites: 0,
            then_create: None,
            composes_within: Duration::from_millis(50),
            used_by: None,
            unlisted: None,
            refuses_status: false,
        }
    }

    pub fn time(&self) -> String {
        self.now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// How many writes were tried.
    pub fn attempts(&self) -> usize {
        self.attempts
    }

    /// Another process begins to lead, and remembers nothing.
    pub fn restart(&mut self) {
        self.term += 1;
        self.term_began = self.now;
        self.memories.clear();
        self.dead = false;
    }

    /// Another process begins to lead, whose cache shows claims at first as they were `ago` changes ago.
    pub fn restart_stale(&mut self, ago: usize) {
        self.restart();
        self.show_stale(ago);
    }

    /// Watches show claims for a while as they were `ago` changes ago.
    pub fn show_stale(&mut self, ago: usize) {
        let then = self.history.len().checked_sub(ago);
        self.stale = then.map(|then| (6, self.history[then].claims.clone()));
    }

    /// How many changes were noted down.
    pub fn changes(&self) -> usize {
        self.history.len()
    }

    /// Notes down what is stored now.
    pub fn note(&mut self) {
        let stored = self.stored();
        self.history.push(stored);
    }

    fn stored(&mut self) -> Api {
        let writes = std::mem::take(&mut self.api.writes);
        let violations = std::mem::take(&mut self.api.violations);
        let stored = self.api.clone();
        (self.api.writes, self.api.violations) = (writes, violations);
        stored
    }

    /// What the watches show before a reconcile.
    fn watch(&mut self) {
        self.view = self.stored();
        if let Some(times) = self.hides_composites.checked_sub(1) {
            self.hides_composites = times;
            self.view.xrs.clear();
        }
        if let Some((times, stale)) = self.stale.take() {
            self.view.claims.clone_from(&stale);
            self.stale = times.checked_sub(1).map(|times| (times, stale));
        }
    }

    pub fn advance(&mut self, by: Duration) {
        self.now += by;
        let (due, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.late)
            .into_iter()
            .partition(|(at, _)| *at <= self.now);
        self.late = later;
        let time = self.time();
        for (_, late) in due {
            // What is no longer good is refused by its guard.
            let _ = match late {
                Late::Create(name, body) => self.api.create(&name, &body, &time).map(drop),
                Late::Apply([name, uid, version], convert, body, by) => self
                    .api
                    .apply((&name, &uid, &version), convert, &body, &by)
                    .map(drop),
                Late::Delete([name, uid, version], by) => {
                    self.api.delete((&name, &uid, &version), &by, &time).map(drop)
                }
            };
        }
    }

    /// Reconciles until there is nothing to do but to wait for hours.
    pub fn settle(&mut self) -> Result<(), String> {
        self.settle_until(self.now + Duration::from_hours(1000))
    }

    /// Likewise, but not longer than this.
    pub fn settle_until(&mut self, last: Timestamp) -> Result<(), String> {
        let mut composes: Option<Timestamp> = None;
        for _ in 0..600 {
            if self.now >= last {
                return Ok(());
            }
            if let Some((name, spec)) = self
                .then_create
                .take_if(|(name, _)| !self.api.claims.contains_key(*name))
            {
                let time = self.time();
                self.api.create_claim(name, &spec, &time);
            }
            let was_stale = self.stale.is_some();
            self.watch();
            let keys: BTreeSet<String> = self.view.claims.keys().cloned().collect();
            let mut wakes = Vec::new();
            for key in keys {
                match self.reconcile(&key) {
                    End::Gone => {}
                    End::Rest(rest) => wakes.extend(rest.wake),
                    End::Retry { at, .. } => wakes.push(at),
                }
                if self.dead {
                    break;
                }
            }
            if self.dead {
                self.restart();
                self.advance(Duration::from_secs(1));
                continue;
            }
            if composes.is_some_and(|at| at <= self.now) {
                composes = None;
                self.api.compose();
                continue;
            }
            if composes.is_none() && self.api.clone().compose() {
                composes = Some(self.now + self.composes_within);
            }
            wakes.extend(composes);
            wakes.extend(self.late.iter().map(|(at, _)| *at));
            match wakes.into_iter().min() {
                // What the watches have not shown yet would wake it.
                None if was_stale || self.is_free_to_create() => {}
                None => return Ok(()),
                Some(at) => {
                    let pause = at.duration_since(self.now).unsigned_abs();
                    if pause > Duration::from_mins(30) || at > last {
                        return Ok(());
                    }
                    let is_past = at <= self.now;
                    self.advance(if is_past { Duration::from_millis(1) } else { pause });
                }
            }
        }
        Err("it does not come to rest".to_owned())
    }

    fn is_free_to_create(&self) -> bool {
        let next = self.then_create.as_ref();
        next.is_some_and(|(name, _)| !self.api.claims.contains_key(*name))
    }

    fn moment(&self) -> Moment {
        Moment {
            now: self.now,
            leadership: Leadership {
                leads: true,
                term: self.term,
                draining: false,
            },
            jitter: 0.5,
        }
    }

    fn reconcile(&mut self, key: &str) -> End {
        let first = self.view.claims[key]["metadata"]["uid"].clone();
        let memory_key = format!("{key}/{first}");
        let mut memory = self.memories.remove(&memory_key).unwrap_or_default();
        let mut driver: Driver<ClaimMachine, Value> = Driver::begin(&mut memory, &self.moment());
        let end = loop {
            let input = match driver.effect() {
                Effect::End(end) => break end.clone(),
                Effect::CollectCached => {
                    let claim = self.view.claims.get(key).cloned();
                    let claim = claim.filter(|claim| claim["metadata"]["uid"] == first);
                    Input::Cached(claim.map(|claim| {
                        let snapshot = Box::new(self.snapshot(&claim));
                        (claim, snapshot)
                    }))
                }
                Effect::Collect { snapshot, .. } => Input::Collected(Box::new(self.additions(snapshot))),
                Effect::AcquirePermit => Input::Permit(Permit::AtOnce),
                Effect::Begin { .. } => Input::Proceed,
                Effect::Perform { object, action } => {
                    let (object, action) = (object.clone(), action.clone());
                    self.perform(key, &object, &action)
                }
                Effect::ReadLive => {
                    self.read(key);
                    Input::Live(match self.view.claims.get(key) {
                        Some(claim) => Ok((claim.clone(), Claim::new(claim.clone()))),
                        None => Err(failure(ApiFailureKind::NotFound)),
                    })
                }
                effect => panic!("{effect:?}"),
            };
            if self.dead {
                break End::Gone;
            }
            driver.resume(&mut memory, &self.moment(), input);
            memory.take_events();
        };
        if !self.dead {
            self.memories.insert(memory_key, memory);
        }
        end
    }

    /// A claim is read past the cache.
    pub(super) fn read(&mut self, key: &str) {
        self.stale = None;
        match self.api.claims.get(key) {
            Some(claim) => drop(self.view.claims.insert(key.to_owned(), claim.clone())),
            None => drop(self.view.claims.remove(key)),
        }
    }

    fn snapshot(&self, claim: &Value) -> Snapshot {
        Snapshot {
            claim: Claim::new(claim.clone()),
            terms: Arc::new(self.terms.clone()),
            name: String::new(),
            xr: ObjectState::Absent,
            choice: Some(Selected {
                composition: "shops".to_owned(),
                revision: "shops-1".to_owned(),
                revision_selector: None,
                changes: Vec::new(),
            }),
            secrets: None,
            in_use: None,
            unknown_usages: None,
            is_unwatched: false,
            term_began: self.term_began,
            may_act: false,
            settings: Arc::new(Settings::default()),
            now: self.now,
        }
    }

    fn additions(&self, snapshot: &Snapshot) -> Additions {
        let mut found = (String::new(), ObjectState::Absent);
        for name in candidates(&snapshot.claim) {
            let state = state(&self.view, &name);
            let taken = is_taken(&snapshot.claim, &name, &state);
            found = (name, state);
            if !taken {
                break;
            }
        }
        if !matches!(&found.1, ObjectState::Exists(xr) if Bond::of(&snapshot.claim, xr) == Bond::Ours) {
            let all: Vec<LiveObject> = self.view.xrs.values().map(live).collect();
            if let Some(name) = bound_elsewhere(&snapshot.claim, &all) {
                found = (name.clone(), state(&self.view, &name));
            }
        }
        Additions {
            name: found.0,
            xr: found.1,
            secrets: None,
            in_use: self.used_by.map(str::to_owned),
            unknown_usages: self.unlisted.map(str::to_owned),
            is_unwatched: false,
            now: self.now,
        }
    }
}

pub(super) fn failure(kind: ApiFailureKind) -> ApiFailure {
    ApiFailure {
        kind,
        retry_after: Duration::ZERO,
        message: "as the test wants".to_owned(),
    }
}

pub(super) fn state(api: &Api, name: &str) -> ObjectState {
    match api.xrs.get(name) {
        Some(xr) => ObjectState::Exists(Arc::new(live(xr))),
        None => ObjectState::Absent,
    }
}

fn terms() -> Terms {
    Terms {
        definition: "xshops.example.org".to_owned(),
        definition_uid: "definition".to_owned(),
        kind: GroupKind::new("example.org", "XShop"),
        plural: "xshops".to_owned(),
        version: "v1".to_owned(),
        served: vec!["v1".to_owned()],
        scope: Scope::LegacyCluster,
        machinery: Machinery::Spec,
        claim: Some(ClaimTerms {
            kind: GroupKind::new("example.org", "Shop"),
            plural: "shops".to_owned(),
            default_delete_policy: None,
        }),
        connection_keys: BTreeSet::new(),
        default_composition: None,
        enforced_composition: None,
        default_revision_selector: None,
        default_update_policy: None,
    }
}
