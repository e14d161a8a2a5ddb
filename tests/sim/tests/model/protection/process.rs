//! A process of the bridge: it runs the real driver and machine, with a view of its own, and may die at any write.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bridge_core::{
    composite::{ObjectState, WriteFailure, WriteFailureKind},
    driver::{ApiFailure, ApiFailureKind, Driver, Effect, End, Input, Leadership, Moment, Permit},
    protection::{Action, MarkWrite, Performed, Replay, Subject, Usage, UsageMachine, UsageMemory, names},
};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::api::{Api, Id, Refusal, id, live};

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
    /// It is refused.
    Refused,
}

impl Fault {
    pub const ALL: [Self; 5] = [
        Self::DiesBefore,
        Self::DiesAfter,
        Self::AnswerLost,
        Self::LandsLate,
        Self::Refused,
    ];
}

/// A write of an object of a version.
#[derive(Debug, Clone)]
enum Write {
    Put(&'static str, Value),
    Mark(Value),
    Delete,
}

/// The world around processes, and the one that runs now.
pub struct World {
    pub api: Api,
    pub now: Timestamp,
    term: u64,
    memories: BTreeMap<String, UsageMemory>,
    /// What the process knows: what the API server held when it looked last, and its own writes.
    pub(super) view: Api,
    /// Fault at the n-th write of the whole life, from 0.
    pub faults: BTreeMap<usize, Fault>,
    attempts: usize,
    late: Vec<(Timestamp, Id, [String; 2], Write)>,
    dead: bool,
    /// What the API server held after each write and step.
    pub history: Vec<Api>,
    /// So often the watches of these kinds show what they held then, unless it is read.
    stale: Option<(u32, Vec<&'static str>, Api)>,
    /// Why the guard is not proved.
    pub unguarded: Option<String>,
    /// Kinds that cannot be read, whatever the watches show.
    pub unreadable: Vec<&'static str>,
}

impl World {
    pub fn new() -> Self {
        Self {
            api: Api::guarded(),
            now: "2026-01-01T00:00:00Z".parse().unwrap(),
            term: 1,
            memories: BTreeMap::new(),
            view: Api::default(),
            faults: BTreeMap::new(),
            attempts: 0,
            late: Vec::new(),
            dead: false,
            history: Vec::new(),
            stale: None,
            unguarded: None,
            unreadable: Vec::new(),
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
        self.memories.clear();
        self.dead = false;
    }

    /// Another process begins to lead, whose watches of these kinds show what was stored `ago` changes ago.
    pub fn restart_stale(&mut self, ago: usize, kinds: &[&'static str]) {
        self.restart();
        let then = self.history.len().checked_sub(ago);
        let then = then.map(|then| self.history[then].clone()).unwrap_or_default();
        self.stale = Some((6, kinds.to_vec(), then));
    }

    /// Notes down what is stored now.
    pub fn note(&mut self) {
        let mut stored = self.api.clone();
        stored.writes.clear();
        stored.violations.clear();
        self.history.push(stored);
    }

    /// What the watches show before a reconcile.
    fn watch(&mut self) {
        self.view = self.api.clone();
        if let Some((times, kinds, then)) = self.stale.take() {
            self.view.objects.retain(|id, _| !kinds.contains(&id.0));
            let shown = then.objects.iter().filter(|(id, _)| kinds.contains(&id.0));
            self.view
                .objects
                .extend(shown.map(|(id, object)| (id.clone(), object.clone())));
            self.stale = times.checked_sub(1).map(|times| (times, kinds, then));
        }
    }

    pub fn advance(&mut self, by: Duration) {
        self.now += by;
        let (due, later): (Vec<_>, Vec<_>) = std::mem::take(&mut self.late)
            .into_iter()
            .partition(|(at, ..)| *at <= self.now);
        self.late = later;
        for (_, of, [uid, version], write) in due {
            // What is no longer good is refused by its guard.
            drop(self.carry_out((&of, &uid, &version), &write));
        }
    }

    /// Reconciles until there is nothing to do but to wait for hours.
    pub fn settle(&mut self) -> Result<(), String> {
        self.settle_until(self.now + Duration::from_hours(1000))
    }

    /// Likewise, but not longer than this.
    pub fn settle_until(&mut self, last: Timestamp) -> Result<(), String> {
        for _ in 0..400 {
            if self.now >= last {
                return Ok(());
            }
            let was_stale = self.stale.is_some();
            self.watch();
            let keys: Vec<Id> = self
                .view
                .objects
                .keys()
                .filter(|id| id.0 == "Usage")
                .cloned()
                .collect();
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
            let time = self.time();
            if self.api.others_act(&time) {
                self.note();
                self.advance(Duration::from_millis(50));
                continue;
            }
            wakes.extend(self.late.iter().map(|(at, ..)| *at));
            match wakes.into_iter().min() {
                None if was_stale => {}
                None => return Ok(()),
                Some(at) => {
                    let pause = at.duration_since(self.now).unsigned_abs();
                    if pause > Duration::from_mins(30) || at > last {
                        return Ok(());
                    }
                    self.advance(if at <= self.now {
                        Duration::from_millis(1)
                    } else {
                        pause
                    });
                }
            }
        }
        Err(format!("it does not come to rest: {:?}", self.api.writes))
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

    fn reconcile(&mut self, key: &Id) -> End {
        let Some(first) = self
            .view
            .objects
            .get(key)
            .map(|usage| usage["metadata"]["uid"].clone())
        else {
            return End::Gone;
        };
        let memory_key = first.to_string();
        let mut memory = self.memories.remove(&memory_key).unwrap_or_default();
        let mut driver: Driver<UsageMachine, Value> = Driver::begin(&mut memory, &self.moment());
        let end = loop {
            let input = match driver.effect() {
                Effect::End(end) => break end.clone(),
                Effect::CollectCached => {
                    let usage = self.view.objects.get(key).cloned();
                    let usage = usage.filter(|usage| usage["metadata"]["uid"] == first);
                    Input::Cached(usage.map(|usage| {
                        let snapshot = Box::new(self.snapshot(&usage));
                        (usage, snapshot)
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
                    Input::Live(match self.view.objects.get(key) {
                        Some(usage) => Ok((usage.clone(), Usage::new(usage.clone()))),
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

    /// An object is read past the caches.
    fn read(&mut self, key: &Id) {
        let held = self.api.objects.get(key).cloned();
        let stale = self.stale.as_mut().map(|(_, _, then)| then);
        for shown in stale.into_iter().chain([&mut self.view]) {
            shown.objects.remove(key);
            shown
                .objects
                .extend(held.clone().map(|object| (key.clone(), object)));
        }
    }

    fn perform(&mut self, key: &Id, object: &Value, action: &Action) -> Input<UsageMachine, Value> {
        let of = Usage::new(object.clone());
        let version = (key, of.uid(), of.resource_version());
        let put = |what, change: &dyn Fn(&mut Value)| {
            let mut object = object.clone();
            change(&mut object);
            Write::Put(what, object)
        };
        let written = match action {
            Action::Observe(subject) => {
                let state = self.observe(&of, *subject);
                return Input::Performed(Performed::Observed(state));
            }
            Action::VerifyResourceVersion => {
                self.read(key);
                return match self.view.objects.get(key) {
                    Some(usage) if usage["metadata"]["uid"] == of.uid() => {
                        Input::Performed(Performed::Version(version_of(usage)))
                    }
                    _ => Input::Failed(failure(ApiFailureKind::NotFound)),
                };
            }
            Action::Mark(write) => return Input::Performed(Performed::Written(self.mark(write))),
            Action::Replay(replay) => return Input::Performed(Performed::Written(self.replay(replay))),
            Action::Write(write) => self.attempt(
                version,
                put("write", &|usage| {
                    usage["metadata"]["finalizers"] = json!(write.finalizers);
                    usage["metadata"]["annotations"] = json!(write.annotations);
                    usage["metadata"]["ownerReferences"] = json!(write.owners);
                    usage["spec"] = write.spec.clone();
                }),
            ),
            Action::WriteStatus(write) => {
                self.check_ready(&of, &write.status);
                self.attempt(
                    version,
                    put("status", &|usage| usage["status"] = write.status.clone()),
                )
            }
            Action::RemoveFinalizer => self.attempt(
                version,
                put("release", &|usage| {
                    if let Some(finalizers) = usage["metadata"]["finalizers"].as_array_mut() {
                        finalizers.retain(|one| one != names::FINALIZER);
                    }
                }),
            ),
        };
        match (action, written) {
            (Action::RemoveFinalizer, Ok(left)) => {
                Input::Performed(Performed::FinalizerRemoved(left.is_none()))
            }
            (Action::WriteStatus(_), Ok(stored)) => {
                let stored = stored.unwrap_or_default();
                Input::Performed(Performed::StatusWritten {
                    version: version_of(&stored),
                    stored: stored["status"].clone(),
                })
            }
            (_, Ok(stored)) => Input::Performed(Performed::Version(version_of(&stored.unwrap_or_default()))),
            (_, Err(kind)) => Input::Failed(failure(match kind {
                WriteFailureKind::Conflict => ApiFailureKind::Conflict,
                WriteFailureKind::Rejected => ApiFailureKind::Rejected,
                _ => ApiFailureKind::Transient,
            })),
        }
    }

    /// Ready is said only of what is protected.
    fn check_ready(&mut self, usage: &Usage, status: &Value) {
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let says_so = conditions
            .clone()
            .any(|one| one["type"] == "Ready" && one["status"] == "True");
        if says_so && self.unguarded.is_some() {
            let title = usage.title();
            self.api
                .violations
                .push(format!("{title} is ready, and nothing refuses deletions"));
        }
    }

    fn observe(&mut self, usage: &Usage, subject: Subject) -> ObjectState {
        let Some(of) = self.subject(usage, subject) else {
            return ObjectState::Absent;
        };
        if self.unreadable.contains(&of.0) {
            return ObjectState::Unknown("as the test wants".to_owned());
        }
        self.read(&of);
        self.state(&of)
    }

    pub(super) fn state(&self, of: &Id) -> ObjectState {
        match self.view.objects.get(of) {
            Some(object) => ObjectState::Exists(Arc::new(live(object))),
            None => ObjectState::Absent,
        }
    }

    fn mark(&mut self, write: &MarkWrite) -> Result<(), WriteFailure> {
        let of = id("Db", &write.reference.name);
        let written = self.attempt(
            (&of, &write.uid, &write.resource_version),
            Write::Mark(write.mark.patch()),
        );
        written.map(drop).map_err(write_failure)
    }

    fn replay(&mut self, replay: &Replay) -> Result<(), WriteFailure> {
        let of = id("Db", &replay.reference.name);
        let written = self.attempt((&of, &replay.uid, &replay.resource_version), Write::Delete);
        written.map(drop).map_err(write_failure)
    }

    fn carry_out(&mut self, version: (&Id, &str, &str), write: &Write) -> Result<Option<Value>, Refusal> {
        let (now, time) = (self.now, self.time());
        match write {
            Write::Put(what, new) => {
                let new = new.clone();
                self.api.write(what, version, now, |object| *object = new)
            }
            Write::Mark(patch) => {
                let what = if patch["metadata"]["labels"][names::IN_USE] == "true" {
                    "mark"
                } else {
                    "leave"
                };
                self.api.write(what, version, now, |object| merge(object, patch))
            }
            Write::Delete => {
                self.api.delete_by_bridge(version, &time)?;
                Ok(self.api.objects.get(version.0).cloned())
            }
        }
    }

    /// Tries a write that may go wrong.
    fn attempt(
        &mut self,
        version: (&Id, &str, &str),
        write: Write,
    ) -> Result<Option<Value>, WriteFailureKind> {
        let fault = self.faults.get(&self.attempts).copied();
        self.attempts += 1;
        match fault {
            None => {
                let written = self.carry_out(version, &write).map_err(|refusal| match refusal {
                    Refusal::Conflict | Refusal::NotFound => WriteFailureKind::Conflict,
                    Refusal::Denied => WriteFailureKind::Rejected,
                })?;
                match &written {
                    Some(object) => drop(self.view.objects.insert(version.0.clone(), object.clone())),
                    None => drop(self.view.objects.remove(version.0)),
                }
                self.note();
                return Ok(written);
            }
            Some(Fault::Refused) => return Err(WriteFailureKind::Rejected),
            Some(Fault::LandsLate) => {
                let landing = self.now + Duration::from_secs(30);
                let guard = [version.1.to_owned(), version.2.to_owned()];
                self.late.push((landing, version.0.clone(), guard, write));
            }
            Some(Fault::DiesBefore) => {}
            Some(Fault::AnswerLost | Fault::DiesAfter) => drop(self.carry_out(version, &write)),
        }
        self.dead = matches!(fault, Some(Fault::DiesBefore | Fault::DiesAfter));
        Err(WriteFailureKind::Unknown)
    }
}

fn merge(object: &mut Value, patch: &Value) {
    match (object, patch) {
        (Value::Object(object), Value::Object(patch)) => {
            for (name, value) in patch {
                if value.is_null() {
                    object.remove(name);
                } else {
                    merge(object.entry(name.clone()).or_insert(json!({})), value);
                }
            }
        }
        (object, Value::Object(patch)) => {
            *object = json!({});
            merge(object, &Value::Object(patch.clone()));
        }
        (object, patch) => *object = patch.clone(),
    }
}

fn write_failure(kind: WriteFailureKind) -> WriteFailure {
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

fn version_of(object: &Value) -> String {
    object["metadata"]["resourceVersion"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}
