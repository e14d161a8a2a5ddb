//! A process of the bridge: it runs the real driver and machine, with a view of its own, and may die at any write.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bridge_core::{
    composite::{
        Action, Additions, Basis, ChoiceProblem, Chosen, CircuitCounts, Composite, CompositeMachine,
        CompositeMemory, InUse, LiveObject, Next, ObjectId, ObjectState, Performed, Pipeline, PipelineSpec,
        Reservation, ResourceRef, RunInput, RunOutcome, RunState, SecretVersions, Selected, Settings,
        Snapshot, WriteFailure, WriteFailureKind, names,
    },
    driver::{ApiFailure, ApiFailureKind, Driver, Effect, End, Input, Leadership, Moment, Permit},
    function::{DesiredState, RunRequest, RunResponse},
    managed::Event,
    watch_plan::GroupKind,
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::api::{Api, Refusal, parsed};

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
    Create(ObjectId, Value),
    Apply(ObjectId, String, String, Value),
    Delete(ObjectId, String, String),
}

pub type Function = fn(&RunRequest) -> DesiredState;

/// The world around processes, and the one that runs now.
#[allow(
    clippy::struct_excessive_bools,
    reason = "switches that tests turn one by one"
)]
pub struct World {
    pub api: Api,
    pub now: Timestamp,
    function: Function,
    term: u64,
    term_began: Timestamp,
    memory: CompositeMemory,
    run: RunState,
    /// What the run that goes on will end with.
    pending: Option<RunOutcome>,
    /// What the process knows: what the API server held when it looked last, and its own writes.
    view: Api,
    /// Fault at the n-th write of the whole life, from 0.
    pub faults: BTreeMap<usize, Fault>,
    attempts: usize,
    late: Vec<(Timestamp, Late)>,
    dead: bool,
    /// What the API server held after each write and step of a person.
    history: Vec<Api>,
    /// So often watches show the composite resource as it was then, unless it is read.
    stale: Option<(u32, Value)>,
    /// The watches of composed objects show nothing until then.
    stuck_until: Option<Timestamp>,
    pub runs: usize,
    /// The API server refuses a status that has this field.
    pub refuses_status: Option<&'static str>,
    /// The API server refuses to create and to change what is composed.
    pub refuses_writes: bool,
    /// The API server refuses to delete what is composed.
    pub refuses_deletions: bool,
    /// A person edits the composite resource while the next run goes on.
    pub edit_during_run: Option<fn(&mut Value)>,
    /// What is in use, as the watches show it.
    pub in_use: fn(&Api) -> InUse,
    pub settings: Settings,
    /// Secrets that its functions are shown.
    pub secrets: SecretVersions,
    /// Nothing can be composed by.
    pub no_choice: Option<ChoiceProblem>,
    /// How long a run takes while time is [let pass](Self::tick).
    pub run_takes: Duration,
    pub circuit: CircuitCounts,
    /// It holds the lease.
    pub leads: bool,
    /// It is about to stop.
    pub draining: bool,
    /// What its function answers beside what it desires.
    pub answer: fn(&mut RunResponse),
    /// All that were recorded.
    pub events: Vec<Event>,
}

enum Outcome {
    Done,
    Unknown,
    Refused,
    Dead,
}

impl World {
    pub fn new(function: Function) -> Self {
        let now: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        Self {
            api: Api::default(),
            now,
            function,
            term: 1,
            term_began: now - Duration::from_hours(1),
            memory: CompositeMemory::default(),
            run: RunState::None,
            pending: None,
            view: Api::default(),
            faults: BTreeMap::new(),
            attempts: 0,
            late: Vec::new(),
            dead: false,
            history: Vec::new(),
            stale: None,
            stuck_until: None,
            runs: 0,
            refuses_status: None,
            refuses_writes: false,
            refuses_deletions: false,
            edit_during_run: None,
            in_use: |_| InUse::default(),
            settings: Settings::default(),
            secrets: SecretVersions::new(),
            no_choice: None,
            run_takes: Duration::from_millis(20),
            circuit: CircuitCounts::default(),
            leads: true,
            draining: false,
            answer: |_| {},
            events: Vec::new(),
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
        self.memory = CompositeMemory::default();
        self.run = RunState::None;
        self.pending = None;
        self.dead = false;
    }

    /// Another process begins to lead, whose cache shows the composite resource at first as it was `ago` changes ago.
    pub fn restart_stale(&mut self, ago: usize) {
        self.restart();
        let now = self.history.len();
        self.stale = now
            .checked_sub(ago)
            .and_then(|then| Some((6, self.history[then].xr.clone()?)));
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
        let objects = match self.stuck_until {
            Some(until) if self.now < until => Some(std::mem::take(&mut self.view.objects)),
            _ => None,
        };
        self.look();
        if let Some(objects) = objects {
            self.view.objects = objects;
        }
        if let Some((times, stale)) = self.stale.take() {
            self.view.xr = Some(stale.clone());
            self.stale = times.checked_sub(1).map(|times| (times, stale));
        }
    }

    /// The watches of composed objects lose their connection for so long, having shown nothing.
    pub fn stick(&mut self, pause: Duration) {
        self.view.objects.clear();
        self.stuck_until = Some(self.now + pause);
    }

    /// Everything is read.
    fn look(&mut self) {
        self.view = self.stored();
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
                Late::Create(id, body) => self.api.create(&id, &body, &time).map(drop),
                Late::Apply(id, uid, version, body) => self.api.apply(&id, &uid, &version, &body).map(drop),
                Late::Delete(id, uid, version) => self.api.delete(&id, &uid, &version, &time).map(drop),
            };
        }
    }

    /// Reconciles once, and lets time pass: the run that goes on ends only once it took as long as runs take.
    pub fn tick(&mut self, by: Duration) {
        self.watch();
        self.reconcile();
        self.advance(by);
        if let RunState::Going { since, .. } = self.run
            && since + self.run_takes <= self.now
        {
            self.end_run();
        }
    }

    /// Reconciles until there is nothing to do but to wait for hours.
    pub fn settle(&mut self) -> Result<(), String> {
        self.settle_until(self.now + Duration::from_hours(1000))
    }

    /// So long passes, whatever there is to do.
    pub fn live_on(&mut self, time: Duration) {
        let end = self.now + time;
        self.settle_until(end).unwrap();
        if self.now < end {
            self.advance(end.duration_since(self.now).unsigned_abs());
        }
    }

    /// Likewise, but not longer than this.
    pub fn settle_until(&mut self, last: Timestamp) -> Result<(), String> {
        for _ in 0..400 {
            if self.now >= last {
                return Ok(());
            }
            self.watch();
            if self.api.xr.is_none() && self.late.is_empty() {
                return Ok(());
            }
            let end = self.reconcile();
            if self.dead {
                self.restart();
                self.advance(Duration::from_secs(1));
                continue;
            }
            if let RunState::Going { .. } = self.run {
                self.advance(Duration::from_millis(20));
                if let Some(edit) = self.edit_during_run.take() {
                    self.api.edit_xr(edit);
                }
                self.end_run();
                continue;
            }
            let wake = match end {
                End::Gone => None,
                End::Rest(rest) => rest.wake,
                End::Retry { at, .. } => Some(at),
            };
            let late = self.late.iter().map(|(at, _)| *at).min();
            let stuck = self.stuck_until.filter(|until| *until > self.now);
            match wake.into_iter().chain(late).chain(stuck).min() {
                // What the watches have not shown yet would wake it.
                None if self.stale.is_some() => {}
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

    fn moment(&self) -> Moment {
        Moment {
            now: self.now,
            leadership: Leadership {
                leads: self.leads,
                term: self.term,
                draining: self.draining,
            },
            jitter: 0.5,
        }
    }

    fn reconcile(&mut self) -> End {
        let mut memory = std::mem::take(&mut self.memory);
        let mut driver: Driver<CompositeMachine, Value> = Driver::begin(&mut memory, &self.moment());
        let end = loop {
            let input = match driver.effect() {
                Effect::End(end) => break end.clone(),
                Effect::CollectCached => Input::Cached(self.view.xr.clone().map(|xr| {
                    let snapshot = Box::new(self.snapshot(&xr));
                    (xr, snapshot)
                })),
                Effect::Collect { snapshot, .. } => Input::Collected(Box::new(self.additions(snapshot))),
                Effect::AcquirePermit => Input::Permit(Permit::AtOnce),
                Effect::Begin { .. } => Input::Proceed,
                Effect::Perform { object, action } => {
                    let (object, action) = (object.clone(), action.clone());
                    self.perform(&object, &action)
                }
                Effect::ReadLive => {
                    self.stale = None;
                    self.view.xr.clone_from(&self.api.xr);
                    Input::Live(match &self.view.xr {
                        Some(xr) => Ok((xr.clone(), parsed(xr))),
                        None => Err(failure(ApiFailureKind::NotFound)),
                    })
                }
                effect => panic!("{effect:?}"),
            };
            if self.dead {
                break End::Gone;
            }
            driver.resume(&mut memory, &self.moment(), input);
            self.events.extend(memory.take_events());
            let counts = memory.take_circuit_counts();
            self.circuit.allowed += counts.allowed;
            self.circuit.half_open_allowed += counts.half_open_allowed;
            self.circuit.opened += counts.opened;
            self.circuit.closed += counts.closed;
        };
        self.memory = memory;
        end
    }

    fn snapshot(&self, xr: &Value) -> Snapshot {
        let xr = parsed(xr);
        let owned = self.view.objects.iter().filter(|(id, object)| {
            let object = LiveObject {
                object: (*object).clone(),
            };
            object.resource_name().is_some()
                && object.controller().is_some_and(|owner| owner["uid"] == xr.uid())
                && !xr.refs.iter().any(|one| one.id(xr.namespace()) == **id)
        });
        let strays = owned
            .map(|(id, object)| ResourceRef {
                api_version: object["apiVersion"].as_str().unwrap().to_owned(),
                kind: id.kind.clone(),
                namespace: None,
                name: id.name.clone(),
            })
            .collect();
        Snapshot {
            choice: self.no_choice.clone().map_or_else(|| Ok(chosen()), Err),
            seen: BTreeMap::new(),
            strays,
            required: BTreeMap::new(),
            secrets: BTreeMap::new(),
            secrets_watched: true,
            unlisted_secrets: None,
            connection_keys: Arc::default(),
            in_use: InUse::default(),
            is_unwatched: false,
            run: self.run.clone(),
            namespaced: BTreeMap::from([
                (GroupKind::new("", "ConfigMap"), true),
                (GroupKind::new("", "Secret"), true),
                (GroupKind::new("protection.crossplane.io", "Usage"), true),
            ]),
            reserved: self.reserved(),
            term_began: self.term_began,
            may_act: false,
            settings: Arc::new(self.settings.clone()),
            jitter: 0.5,
            now: self.now,
            xr,
        }
    }

    /// Whatever is desired: the machine asks for what it desires alone.
    fn reserved(&self) -> BTreeMap<(GroupKind, String), Vec<Reservation>> {
        let mut reserved: BTreeMap<_, Vec<Reservation>> = BTreeMap::new();
        for (id, object) in &self.view.objects {
            let object = LiveObject {
                object: object.clone(),
            };
            if let Some(name) = object
                .annotation(names::EXTERNAL_NAME)
                .filter(|_| object.is_deleting())
            {
                let holders = reserved.entry((id.group_kind(), name.to_owned())).or_default();
                holders.push(Reservation {
                    id: id.clone(),
                    uid: object.uid().to_owned(),
                    since: object.deletion_time(),
                });
            }
        }
        reserved
    }

    fn additions(&self, snapshot: &Snapshot) -> Additions {
        let home = snapshot.xr.namespace();
        let refs = snapshot.xr.refs.iter().chain(&snapshot.strays);
        Additions {
            seen: refs
                .map(|one| (one.id(home), state(&self.view, &one.id(home))))
                .collect(),
            required: BTreeMap::new(),
            secrets: self.secrets.clone(),
            secrets_watched: true,
            unlisted_secrets: None,
            in_use: (self.in_use)(&self.view),
            is_unwatched: false,
            now: self.now,
        }
    }

    fn end_run(&mut self) {
        let RunState::Going { basis, since } = &self.run else {
            return;
        };
        let (basis, since): (Basis, Timestamp) = (basis.clone(), *since);
        let Some(outcome) = self.pending.take() else {
            self.run = RunState::None;
            return;
        };
        self.run = RunState::Ended {
            basis,
            outcome: Arc::new(outcome),
            took: self.now.duration_since(since).unsigned_abs(),
            at: self.now,
        };
    }

    fn run_pipeline(&mut self, start: &bridge_core::composite::RunStart) -> RunOutcome {
        self.runs += 1;
        let mut pipeline = Pipeline::begin(RunInput {
            observed: Arc::clone(&start.observed),
            steps: PipelineSpec::clone(&start.pipeline),
            seeds: start.seeds.clone(),
            ..RunInput::default()
        });
        loop {
            match pipeline.next() {
                Next::Need(_) => pipeline.found(BTreeMap::new()),
                Next::Call { request, .. } => {
                    let desired = (self.function)(&request);
                    let mut response = RunResponse {
                        desired,
                        ..RunResponse::default()
                    };
                    (self.answer)(&mut response);
                    pipeline.answered(Ok(response));
                }
                Next::End(outcome) => return *outcome,
            }
        }
    }

    fn perform(&mut self, xr: &Value, action: &Action) -> Input<CompositeMachine, Value> {
        let of = parsed(xr);
        let version = (of.uid(), of.resource_version());
        let performed = match action {
            Action::Observe(refs) => {
                let home = of.namespace();
                let ids: Vec<ObjectId> = refs.iter().map(|one| one.id(home)).collect();
                for id in &ids {
                    match self.api.objects.get(id) {
                        Some(object) => drop(self.view.objects.insert(id.clone(), object.clone())),
                        None => drop(self.view.objects.remove(id)),
                    }
                }
                let seen = ids.into_iter().map(|id| {
                    let state = state(&self.view, &id);
                    (id, state)
                });
                Performed::Observed(seen.collect())
            }
            Action::VerifyResourceVersion => {
                self.stale = None;
                self.view.xr.clone_from(&self.api.xr);
                match &self.view.xr {
                    Some(xr) if parsed(xr).uid() == of.uid() => {
                        Performed::Version(parsed(xr).resource_version().to_owned())
                    }
                    _ => return Input::Failed(failure(ApiFailureKind::NotFound)),
                }
            }
            Action::Run(start) => {
                self.pending = Some(self.run_pipeline(start));
                self.run = RunState::Going {
                    basis: start.basis.clone(),
                    since: self.now,
                };
                Performed::RunBegan
            }
            Action::Write(write) => {
                let change = |xr: &mut Value| {
                    xr["metadata"]["finalizers"] = json!(write.finalizers);
                    xr["metadata"]["labels"] = json!(write.labels);
                    xr["metadata"]["annotations"] = json!(write.annotations);
                    xr["spec"] = write.spec.clone();
                };
                return match self.write_xr("write", version, change) {
                    Ok(Some(xr)) => {
                        Input::Performed(Performed::Version(parsed(&xr).resource_version().to_owned()))
                    }
                    Ok(None) => Input::Performed(Performed::Version(String::new())),
                    Err(failure) => Input::Failed(failure),
                };
            }
            Action::WriteStatus(write) => {
                if let Some(field) = self.refuses_status
                    && !write.status[field].is_null()
                {
                    return Input::Failed(failure(ApiFailureKind::Rejected));
                }
                let change = |xr: &mut Value| xr["status"] = write.status.clone();
                return match self.write_xr("status", version, change) {
                    Ok(xr) => {
                        let xr = parsed(&xr.unwrap_or_default());
                        Input::Performed(Performed::StatusWritten {
                            version: xr.resource_version().to_owned(),
                            stored: xr.status().clone(),
                        })
                    }
                    Err(failure) => Input::Failed(failure),
                };
            }
            Action::RemoveFinalizer => {
                let change = |xr: &mut Value| {
                    if let Some(finalizers) = xr["metadata"]["finalizers"].as_array_mut() {
                        finalizers.retain(|one| one != names::FINALIZER);
                    }
                };
                return match self.write_xr("release", version, change) {
                    Ok(xr) => Input::Performed(Performed::FinalizerRemoved(xr.is_none())),
                    Err(failure) => Input::Failed(failure),
                };
            }
            Action::Create(all) => {
                let all = all.clone();
                Performed::Written(all.iter().map(|one| self.create(one)).collect())
            }
            Action::Apply(all) => {
                let all = all.clone();
                Performed::Written(all.iter().map(|one| self.apply(one)).collect())
            }
            Action::Delete(all) => {
                let all = all.clone();
                Performed::Deleted(all.iter().map(|one| self.delete(one)).collect())
            }
            Action::Publish(_) | Action::DeleteSecret(_) => panic!("there are no connection Secrets here"),
            Action::Release(all) => {
                let (all, owner) = (all.clone(), of.uid().to_owned());
                Performed::Released(all.iter().map(|one| self.release(one, &owner)).collect())
            }
        };
        Input::Performed(performed)
    }

    /// The fault of this write, if it has one.
    fn fault(&mut self) -> Option<Fault> {
        let fault = self.faults.get(&self.attempts).copied();
        self.attempts += 1;
        fault
    }

    /// Tries a write that may go wrong. `late`: what lands later.
    fn attempt(
        &mut self,
        late: Option<Late>,
        write: impl FnOnce(&mut Self) -> Result<(), Refusal>,
    ) -> Result<Outcome, Refusal> {
        if self.dead {
            return Ok(Outcome::Dead);
        }
        let landing = self.now + Duration::from_secs(30);
        match (self.fault(), late) {
            (None, _) => {
                write(self)?;
                self.note();
                Ok(Outcome::Done)
            }
            (Some(Fault::Refused), _) => Ok(Outcome::Refused),
            (Some(Fault::LandsLate), Some(late)) => {
                self.late.push((landing, late));
                Ok(Outcome::Unknown)
            }
            (Some(Fault::DiesAndLandsLate), Some(late)) => {
                self.late.push((landing, late));
                self.dead = true;
                Ok(Outcome::Dead)
            }
            (Some(Fault::AnswerLost | Fault::LandsLate), _) => {
                let _ = write(self);
                Ok(Outcome::Unknown)
            }
            (Some(Fault::DiesAfter | Fault::DiesAndLandsLate), _) => {
                let _ = write(self);
                self.dead = true;
                Ok(Outcome::Dead)
            }
            (Some(Fault::DiesBefore), _) => {
                self.dead = true;
                Ok(Outcome::Dead)
            }
        }
    }

    fn write_xr(
        &mut self,
        what: &str,
        version: (&str, &str),
        change: impl FnOnce(&mut Value),
    ) -> Result<Option<Value>, ApiFailure> {
        let mut written = None;
        let outcome = self.attempt(None, |world| {
            written = world.api.put_xr(what, version, change)?;
            Ok(())
        });
        match outcome {
            Ok(Outcome::Done) => {
                self.view.xr.clone_from(&written);
                Ok(written)
            }
            Ok(Outcome::Unknown | Outcome::Dead) => Err(failure(ApiFailureKind::Transient)),
            Ok(Outcome::Refused) => Err(failure(ApiFailureKind::Rejected)),
            Err(Refusal::NotFound) => Err(failure(ApiFailureKind::NotFound)),
            Err(_) => Err(failure(ApiFailureKind::Conflict)),
        }
    }

    fn create(
        &mut self,
        resource: &bridge_core::composite::ComposedResource,
    ) -> Result<LiveObject, WriteFailure> {
        let (id, body, time) = (resource.id.clone(), resource.created(), self.time());
        let listed = self.api.xr.as_ref().is_some_and(|xr| {
            parsed(xr)
                .refs
                .iter()
                .any(|one| one.id(parsed(xr).namespace()) == id)
        });
        if !listed {
            self.api.violations.push(format!(
                "a create of {id} was sent before its reference was stored"
            ));
        }
        let mut created = None;
        if self.refuses_writes {
            return Err(write_failure(&Ok(Outcome::Refused)));
        }
        let late = Late::Create(id.clone(), body.clone());
        let outcome = self.attempt(Some(late), |world| {
            created = Some(world.api.create(&id, &body, &time)?);
            Ok(())
        });
        self.written(&id, outcome, created)
    }

    fn apply(&mut self, change: &bridge_core::composite::Change) -> Result<LiveObject, WriteFailure> {
        let (id, body) = (change.resource.id.clone(), change.resource.applied());
        let (uid, version) = (change.uid.clone(), change.resource_version.clone());
        if self.refuses_writes {
            return Err(write_failure(&Ok(Outcome::Refused)));
        }
        let mut applied = None;
        let late = Late::Apply(id.clone(), uid.clone(), version.clone(), body.clone());
        let outcome = self.attempt(Some(late), |world| {
            applied = Some(world.api.apply(&id, &uid, &version, &body)?);
            Ok(())
        });
        self.written(&id, outcome, applied)
    }

    fn written(
        &mut self,
        id: &ObjectId,
        outcome: Result<Outcome, Refusal>,
        object: Option<Value>,
    ) -> Result<LiveObject, WriteFailure> {
        match outcome {
            Ok(Outcome::Done) => {
                let object = object.unwrap();
                self.view.objects.insert(id.clone(), object.clone());
                Ok(LiveObject { object })
            }
            other => Err(write_failure(&other)),
        }
    }

    fn release(
        &mut self,
        release: &bridge_core::composite::Deletion,
        owner: &str,
    ) -> Result<(), WriteFailure> {
        let (id, uid, version) = (&release.id, &release.uid, &release.resource_version);
        let outcome = self.attempt(None, |world| world.api.release(id, uid, version, owner));
        match outcome {
            Ok(Outcome::Done) => {
                self.view.objects.insert(id.clone(), self.api.objects[id].clone());
                Ok(())
            }
            other => Err(write_failure(&other)),
        }
    }

    fn delete(&mut self, deletion: &bridge_core::composite::Deletion) -> Result<bool, WriteFailure> {
        if self.refuses_deletions {
            return Err(write_failure(&Ok(Outcome::Refused)));
        }
        let time = self.time();
        let (id, uid, version) = (&deletion.id, &deletion.uid, &deletion.resource_version);
        let mut gone = false;
        let late = Late::Delete(id.clone(), uid.clone(), version.clone());
        let outcome = self.attempt(Some(late), |world| {
            gone = world.api.delete(id, uid, version, &time)?;
            Ok(())
        });
        match outcome {
            Ok(Outcome::Done) => {
                match self.api.objects.get(id) {
                    Some(object) => drop(self.view.objects.insert(id.clone(), object.clone())),
                    None => drop(self.view.objects.remove(id)),
                }
                Ok(gone)
            }
            Err(Refusal::NotFound) => {
                self.view.objects.remove(id);
                Ok(true)
            }
            other => Err(write_failure(&other)),
        }
    }
}

fn write_failure(outcome: &Result<Outcome, Refusal>) -> WriteFailure {
    let kind = match outcome {
        Ok(Outcome::Refused) => WriteFailureKind::Rejected,
        Ok(_) => WriteFailureKind::Unknown,
        Err(Refusal::AlreadyExists) => WriteFailureKind::AlreadyExists,
        Err(Refusal::Conflict | Refusal::NotFound) => WriteFailureKind::Conflict,
    };
    WriteFailure {
        kind,
        message: "as the test wants".to_owned(),
    }
}

fn failure(kind: ApiFailureKind) -> ApiFailure {
    ApiFailure {
        kind,
        retry_after: Duration::ZERO,
        message: "as the test wants".to_owned(),
    }
}

fn state(api: &Api, id: &ObjectId) -> ObjectState {
    match api.objects.get(id) {
        Some(object) => ObjectState::Exists(Box::new(LiveObject {
            object: object.clone(),
        })),
        None => ObjectState::Absent,
    }
}

fn chosen() -> Chosen {
    let pipeline = json!([{"step": "compose", "functionRef": {"name": "function"}}]);
    Chosen {
        selected: Selected {
            composition: "app".to_owned(),
            revision: "app-1".to_owned(),
            revision_selector: None,
            changes: Vec::new(),
        },
        secrets_namespace: None,
        revision_uid: "revision".to_owned(),
        pipeline: PipelineSpec::parse(&pipeline)
            .map(Arc::new)
            .map_err(|error| error.to_string()),
    }
}

/// The composite resource as it is stored, with all that is composed.
pub fn composite(world: &World) -> Option<Composite> {
    world.api.xr.as_ref().map(parsed)
}
