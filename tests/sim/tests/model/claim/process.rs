//! A process of the bridge: it runs the real driver and machine, with a view of its own, and may die at any write.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use bridge_core::{
    claim::{
        Action, Additions, Claim, ClaimMachine, ClaimMemory, CompositeDeletion, Performed, Snapshot,
        candidates, is_taken, names,
    },
    composite::{LiveObject, ObjectState, Selected, Settings, WriteFailure, WriteFailureKind},
    definition::{ClaimTerms, Machinery, Scope, Terms},
    driver::{ApiFailure, ApiFailureKind, Driver, Effect, End, Input, Leadership, Moment, Permit},
    watch_plan::GroupKind,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::api::{Api, Refusal, live};

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
enum Late {
    Create(String, Value),
    Apply([String; 3], bool, Value, String),
    Delete([String; 3], String),
}

/// The world around processes, and the one that runs now.
pub struct World {
    pub api: Api,
    pub now: Timestamp,
    term: u64,
    term_began: Timestamp,
    memories: BTreeMap<String, ClaimMemory>,
    /// What the process knows: what the API server held when it looked last, and its own writes.
    view: Api,
    /// Fault at the n-th write of the whole life, from 0.
    pub faults: BTreeMap<usize, Fault>,
    attempts: usize,
    late: Vec<(Timestamp, Late)>,
    dead: bool,
    /// What the API server held after each write and step of a person.
    history: Vec<Api>,
    /// So often watches show claims as they were then, unless they are read.
    stale: Option<(u32, BTreeMap<String, Value>)>,
    pub terms: Terms,
    /// So often watches show no composite resource, unless it is read.
    pub hides_composites: u32,
    /// A person creates this as soon as the name is free.
    pub then_create: Option<(&'static str, Value)>,
    /// How long the composite resource takes for each of its steps.
    pub composes_within: Duration,
}

enum Outcome {
    Done,
    Unknown,
    Refused,
    Dead,
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
    fn read(&mut self, key: &str) {
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
        Additions {
            name: found.0,
            xr: found.1,
            secrets: None,
            is_unwatched: false,
            now: self.now,
        }
    }

    fn perform(&mut self, key: &str, object: &Value, action: &Action) -> Input<ClaimMachine, Value> {
        let of = Claim::new(object.clone());
        let version = (of.name(), of.uid(), of.resource_version());
        let performed = match action {
            Action::Observe(name) => {
                self.hides_composites = 0;
                match self.api.xrs.get(name) {
                    Some(xr) => drop(self.view.xrs.insert(name.clone(), xr.clone())),
                    None => drop(self.view.xrs.remove(name)),
                }
                Performed::Observed(state(&self.view, name))
            }
            Action::VerifyResourceVersion => {
                self.read(key);
                match self.view.claims.get(key) {
                    Some(claim) if claim["metadata"]["uid"] == of.uid() => {
                        Performed::Version(version_of(claim))
                    }
                    _ => return Input::Failed(failure(ApiFailureKind::NotFound)),
                }
            }
            Action::Write(write) => {
                let change = |claim: &mut Value| {
                    claim["metadata"]["finalizers"] = json!(write.finalizers);
                    claim["metadata"]["annotations"] = json!(write.annotations);
                    claim["spec"] = write.spec.clone();
                };
                return match self.write_claim("write", version, change) {
                    Ok(claim) => Input::Performed(Performed::Version(version_of(&claim.unwrap_or_default()))),
                    Err(failure) => Input::Failed(failure),
                };
            }
            Action::WriteStatus(write) => {
                let change = |claim: &mut Value| claim["status"] = write.status.clone();
                return match self.write_claim("status", version, change) {
                    Ok(claim) => {
                        let claim = claim.unwrap_or_default();
                        Input::Performed(Performed::StatusWritten {
                            version: version_of(&claim),
                            stored: claim["status"].clone(),
                        })
                    }
                    Err(failure) => Input::Failed(failure),
                };
            }
            Action::RemoveFinalizer => {
                let change = |claim: &mut Value| {
                    if let Some(finalizers) = claim["metadata"]["finalizers"].as_array_mut() {
                        finalizers.retain(|one| one != names::FINALIZER);
                    }
                };
                return match self.write_claim("release", version, change) {
                    Ok(claim) => Input::Performed(Performed::FinalizerRemoved(claim.is_none())),
                    Err(failure) => Input::Failed(failure),
                };
            }
            Action::Create(name, body) => {
                let body = body.created(name);
                let named = self.api.claims.values().any(|claim| {
                    claim["metadata"]["uid"] == of.uid()
                        && claim["spec"]["resourceRef"]["name"] == name.as_str()
                });
                if !named {
                    self.api
                        .violations
                        .push(format!("a create of {name} was sent before its claim named it"));
                }
                let late = Late::Create(name.clone(), body.clone());
                let time = self.time();
                let outcome =
                    self.attempt(Some(late), |world| world.api.create(name, &body, &time).map(Some));
                Performed::Written(self.written(name, outcome))
            }
            Action::Apply(change) => {
                let (body, by) = (change.body.applied(), of.uid().to_owned());
                let guard = [&change.name, &change.uid, &change.resource_version].map(Clone::clone);
                let late = Late::Apply(guard, change.convert, body.clone(), by.clone());
                let place = (&*change.name, &*change.uid, &*change.resource_version);
                let outcome = self.attempt(Some(late), |world| {
                    world.api.apply(place, change.convert, &body, &by).map(Some)
                });
                Performed::Written(self.written(&change.name, outcome))
            }
            Action::Delete(deletion) => Performed::Deleted(self.delete(&of, deletion)),
            Action::Propagate(..) => panic!("nothing is propagated"),
        };
        Input::Performed(performed)
    }

    fn delete(&mut self, of: &Claim, deletion: &CompositeDeletion) -> Result<bool, WriteFailure> {
        let (by, time) = (of.uid().to_owned(), self.time());
        let guard = [&deletion.name, &deletion.uid, &deletion.resource_version].map(Clone::clone);
        let place = (&*deletion.name, &*deletion.uid, &*deletion.resource_version);
        let outcome = self.attempt(Some(Late::Delete(guard, by.clone())), |world| {
            world.api.delete(place, &by, &time)?;
            Ok(world.api.xrs.get(&deletion.name).cloned())
        });
        if let Err(Refusal::NotFound) = outcome {
            self.view.xrs.remove(&deletion.name);
            return Ok(true);
        }
        self.written(&deletion.name, outcome)?;
        Ok(!self.api.xrs.contains_key(&deletion.name))
    }

    /// Tries a write that may go wrong. `late`: what lands later.
    fn attempt(
        &mut self,
        late: Option<Late>,
        write: impl FnOnce(&mut Self) -> Result<Option<Value>, Refusal>,
    ) -> Result<(Outcome, Option<Value>), Refusal> {
        if self.dead {
            return Ok((Outcome::Dead, None));
        }
        let landing = self.now + Duration::from_secs(30);
        let fault = self.faults.get(&self.attempts).copied();
        self.attempts += 1;
        match (fault, late) {
            (None, _) => {
                let written = write(self)?;
                self.note();
                return Ok((Outcome::Done, written));
            }
            (Some(Fault::Refused), _) => return Ok((Outcome::Refused, None)),
            (Some(Fault::LandsLate | Fault::DiesAndLandsLate), Some(late)) => self.late.push((landing, late)),
            (Some(Fault::DiesBefore), _) => {}
            (Some(Fault::AnswerLost | Fault::LandsLate | Fault::DiesAfter | Fault::DiesAndLandsLate), _) => {
                drop(write(self));
            }
        }
        let dies = matches!(
            fault,
            Some(Fault::DiesBefore | Fault::DiesAfter | Fault::DiesAndLandsLate)
        );
        self.dead = dies;
        Ok((if dies { Outcome::Dead } else { Outcome::Unknown }, None))
    }

    fn write_claim(
        &mut self,
        what: &str,
        version: (&str, &str, &str),
        change: impl FnOnce(&mut Value),
    ) -> Result<Option<Value>, ApiFailure> {
        let outcome = self.attempt(None, |world| world.api.put_claim(what, version, change));
        match outcome {
            Ok((Outcome::Done, written)) => {
                match &written {
                    Some(claim) => drop(self.view.claims.insert(version.0.to_owned(), claim.clone())),
                    None => drop(self.view.claims.remove(version.0)),
                }
                Ok(written)
            }
            Ok((Outcome::Unknown | Outcome::Dead, _)) => Err(failure(ApiFailureKind::Transient)),
            Ok((Outcome::Refused, _)) => Err(failure(ApiFailureKind::Rejected)),
            Err(Refusal::NotFound) => Err(failure(ApiFailureKind::NotFound)),
            Err(_) => Err(failure(ApiFailureKind::Conflict)),
        }
    }

    fn written(
        &mut self,
        name: &str,
        outcome: Result<(Outcome, Option<Value>), Refusal>,
    ) -> Result<LiveObject, WriteFailure> {
        let kind = match outcome {
            Ok((Outcome::Done, xr)) => {
                match &xr {
                    Some(xr) => drop(self.view.xrs.insert(name.to_owned(), xr.clone())),
                    None => drop(self.view.xrs.remove(name)),
                }
                return Ok(live(&xr.unwrap_or_default()));
            }
            Ok((Outcome::Refused, _)) => WriteFailureKind::Rejected,
            Ok(_) => WriteFailureKind::Unknown,
            Err(Refusal::AlreadyExists) => WriteFailureKind::AlreadyExists,
            Err(Refusal::Conflict | Refusal::NotFound) => WriteFailureKind::Conflict,
        };
        Err(WriteFailure {
            kind,
            message: "as the test wants".to_owned(),
        })
    }
}

fn version_of(claim: &Value) -> String {
    let version = claim["metadata"]["resourceVersion"].as_str();
    version.unwrap_or_default().to_owned()
}

fn failure(kind: ApiFailureKind) -> ApiFailure {
    ApiFailure {
        kind,
        retry_after: Duration::ZERO,
        message: "as the test wants".to_owned(),
    }
}

fn state(api: &Api, name: &str) -> ObjectState {
    match api.xrs.get(name) {
        Some(xr) => ObjectState::Exists(Box::new(live(xr))),
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
