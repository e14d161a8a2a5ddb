//! A process of the bridge: it runs the real driver and machine, with a view of its own, and may die at any write.

mod actions;
mod snapshot;
mod writes;

use std::{collections::BTreeMap, time::Duration};

use bridge_core::{
    composite::{
        ChoiceProblem, CircuitCounts, Composite, CompositeMachine, CompositeMemory, InUse, RunOutcome,
        RunState, SecretVersions, Settings,
    },
    driver::{ApiFailureKind, Driver, Effect, End, Input, Leadership, Moment, Permit},
    function::{DesiredState, RunRequest, RunResponse},
    managed::Event,
};
use jiff::Timestamp;
use serde_json::Value;

pub use self::writes::Fault;
use self::writes::{Late, failure};
use super::api::{Api, parsed};

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
    /// What is composed can neither be read nor watched until then.
    pub unread_until: Option<Timestamp>,
    pub runs: usize,
    /// The API server refuses a status that has this field.
    pub refuses_status: Option<&'static str>,
    /// The API server refuses to create and to change what is composed.
    pub refuses_writes: bool,
    /// The API server refuses to delete what is composed.
    pub refuses_deletions: bool,
    /// A person edits the composite resource while the next run goes on.
    pub edit_during_run: Option<fn(&mut Value)>,
    /// A person is faster than the next deletion.
    pub before_deletion: Option<fn(&mut Api)>,
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
            unread_until: None,
            runs: 0,
            refuses_status: None,
            refuses_writes: false,
            refuses_deletions: false,
            edit_during_run: None,
            before_deletion: None,
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

    /// So often the watch of the composite resource shows nothing new, unless it is read.
    pub fn lag(&mut self, times: u32) {
        self.stale = self.api.xr.clone().map(|xr| (times, xr));
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
}

/// The composite resource as it is stored, with all that is composed.
pub fn composite(world: &World) -> Option<Composite> {
    world.api.xr.as_ref().map(parsed)
}
