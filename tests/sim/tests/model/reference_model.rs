//! The model world: an API server, a cloud, two processes of the bridge, and time.

use std::{sync::Arc, time::Duration};

use bridge_core::{
    external::{Config, Secrets},
    managed::{
        Blocker, Fresh, OwnershipClaims, Problem, ResolvedDesiredState, Settings, Snapshot, Suspension,
    },
};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    bridge::{Bridge, LateWrite, Phase},
    cloud::Cloud,
    etcd::{Etcd, Object},
    fault_outcome::{Outcomes, Well},
    invariants::Watcher,
    kinds::Subject,
    neighbor::Neighbor,
};

/// The process that leads at first.
pub const A: usize = 0;
/// The other.
pub const B: usize = 1;

/// A call whose effect is still to come.
#[derive(Debug, Clone)]
pub struct InFlightCall {
    pub at: Timestamp,
    pub call: bridge_core::managed::Call,
}

/// API requests that changed something, or tried to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Writes {
    pub metadata: u32,
    pub status: u32,
    pub release: u32,
    pub secret: u32,
}

impl Writes {
    /// Those that the design counts: the connection Secret apart.
    pub fn of_the_object(self) -> u32 {
        self.metadata + self.status + self.release
    }
}

/// How long things take.
#[derive(Debug, Clone, Copy)]
pub struct Tempo {
    pub look: Duration,
    pub call: Duration,
    /// Before the write of an answer is tried again.
    pub persist_again: Duration,
    /// Wakes are late by less than this.
    pub grain: Duration,
    /// Of backoffs.
    pub jitter: f64,
}

impl Tempo {
    /// Somewhat like life.
    pub const LIFELIKE: Self = Self {
        look: Duration::from_millis(50),
        call: Duration::from_millis(100),
        persist_again: Duration::from_millis(50),
        grain: Duration::from_millis(1),
        jitter: 0.5,
    };
    /// By whole seconds, so that what comes about in different ways is the same.
    pub const COARSE: Self = Self {
        look: Duration::ZERO,
        call: Duration::ZERO,
        persist_again: Duration::ZERO,
        grain: Duration::from_secs(1),
        jitter: 0.0,
    };
}

/// All there is.
#[derive(Debug, Clone)]
pub struct Model {
    pub now: Timestamp,
    pub subject: Subject,
    pub etcd: Etcd,
    pub cloud: Cloud,
    pub bridges: [Bridge; 2],
    /// Another object that is worked upon in turn.
    pub second: Option<Box<Neighbor>>,
    /// What each process knows of who has what.
    pub claims: [OwnershipClaims; 2],
    pub flights: Vec<InFlightCall>,
    pub late_writes: Vec<(Timestamp, LateWrite)>,
    pub tempo: Tempo,
    pub settings: Arc<Settings>,
    pub config: Result<Config, Problem>,
    pub suspension: Option<Suspension>,
    pub blocker: Option<Blocker>,
    pub conflicting_object: Option<String>,
    pub sensitive: Secrets,
    /// The connection Secret's data.
    pub secret: Secrets,
    /// Of the HMAC key.
    pub key: &'static str,
    /// The user's Secret cannot be read.
    pub secret_missing: bool,
    pub writes: Writes,
    pub watcher: Watcher,
    pub log: Vec<String>,
    /// Keeps the log.
    pub logs: bool,
    drawn: u64,
}

impl Model {
    pub fn new(subject: &Subject) -> Self {
        Self {
            now: "2026-11-21T12:00:00Z".parse().expect("a time"),
            subject: subject.clone(),
            etcd: Etcd::default(),
            cloud: Cloud::new(subject.clone()),
            bridges: [Bridge::new(true), Bridge::new(false)],
            second: None,
            claims: Default::default(),
            flights: Vec::new(),
            late_writes: Vec::new(),
            tempo: Tempo::LIFELIKE,
            settings: Arc::new(Settings {
                poll_jitter: Duration::ZERO,
                ..Settings::default()
            }),
            config: Ok(config("account-1")),
            suspension: None,
            blocker: None,
            conflicting_object: None,
            sensitive: Secrets::default(),
            secret: Secrets::default(),
            key: "key-1",
            secret_missing: false,
            writes: Writes::default(),
            watcher: Watcher::default(),
            log: Vec::new(),
            logs: true,
            drawn: 0,
        }
    }

    /// With an object that the user has made.
    pub fn started(subject: &Subject) -> Self {
        let mut model = Self::new(subject);
        model.create();
        model
    }

    /// The user makes the object; the answer is its uid.
    pub fn create(&mut self) -> String {
        self.etcd.create(&json!({"size": 1, "fixed": "a"}))
    }

    /// The user edits the spec.
    pub fn edit(&mut self, field: &str, value: Value) {
        self.etcd.edit(|object| {
            object.parameters.insert(field.to_owned(), value);
        });
    }

    /// The object; there must be one.
    pub fn object(&self) -> &Object {
        self.etcd.object.as_ref().expect("the object is there")
    }

    /// What a process knows of the world.
    pub fn gather(&mut self, b: usize, object: &Object) -> Snapshot {
        self.drawn += 1;
        let mut snapshot = Snapshot {
            kind: Arc::clone(&self.subject.kind),
            managed: object.managed.clone(),
            desired: self.desired(object),
            bare: object.parameters.clone(),
            config: self.config.clone().map(Arc::new),
            suspension: self
                .suspension
                .clone()
                .filter(|suspension| suspension.until > self.clock(b)),
            blocker: self.blocker.clone(),
            conflicting_object: self.conflicting_object.clone(),
            // The driver asks for the lease.
            may_act: false,
            marker: marker(&object.managed.uid),
            plugin_version: "1.0.0".to_owned(),
            settings: Arc::clone(&self.settings),
            fresh: Fresh {
                token: format!("token-{}", self.drawn),
                question: format!("question-{}", self.drawn),
                jitter: self.tempo.jitter,
            },
            now: self.clock(b),
        };
        if let Some(conflicting) = self.conflicting_object(b, &snapshot) {
            snapshot.conflicting_object = Some(conflicting);
        }
        snapshot
    }

    fn desired(&self, object: &Object) -> Result<Arc<ResolvedDesiredState>, Problem> {
        if self.secret_missing {
            return Err(Problem {
                reason: "SecretNotFound".to_owned(),
                message: "the Secret is not there".to_owned(),
            });
        }
        let digest = Value::Object(object.parameters.clone()).to_string();
        let sensitive_digest = if self.sensitive.0.is_empty() {
            String::new()
        } else {
            let bytes: Vec<u8> = self.sensitive.0.values().flatten().copied().collect();
            let sum = bytes.iter().fold(7_u64, |sum, byte| {
                sum.wrapping_mul(31).wrapping_add(u64::from(*byte))
            });
            format!("{}:{sum}", self.key)
        };
        Ok(Arc::new(ResolvedDesiredState {
            parameters: object.parameters.clone(),
            digest,
            sensitive: self.sensitive.clone(),
            sensitive_digest,
        }))
    }

    /// What a process takes for the time.
    pub fn clock(&self, b: usize) -> Timestamp {
        self.now + self.bridges[b].offset
    }

    /// Time goes on until then; what is due happens.
    pub fn advance_to(&mut self, until: Timestamp) {
        loop {
            let flight = self.flights.iter().map(|flight| flight.at).min();
            let write = self.late_writes.iter().map(|(at, _)| *at).min();
            let next = flight.into_iter().chain(write).min();
            let Some(next) = next.filter(|next| *next <= until) else {
                break;
            };
            self.now = self.now.max(next);
            self.fly();
            self.write_late();
        }
        self.now = self.now.max(until);
        self.cloud.settle(self.now);
        self.check();
    }

    /// Time goes on by this much.
    pub fn advance(&mut self, by: Duration) {
        self.advance_to(self.now + by);
    }

    fn fly(&mut self) {
        let now = self.now;
        let due: Vec<InFlightCall> = self.flights.extract_if(.., |flight| flight.at <= now).collect();
        for flight in due {
            let outcome = self.cloud.call(&flight.call, now);
            self.watcher.late_update |= flight.call.verb == bridge_core::external::Verb::Update;
            self.note(|| format!("LATE EFFECT of {}: {:?}", verb(&flight.call), outcome.result));
            self.watch_effect(&flight.call);
        }
    }

    fn write_late(&mut self) {
        let now = self.now;
        let due: Vec<LateWrite> = self
            .late_writes
            .extract_if(.., |(at, _)| *at <= now)
            .map(|(_, write)| write)
            .collect();
        for write in due {
            if self.is_beside(&write) {
                self.beside(|model| model.carry_out(&write));
            } else {
                self.carry_out(&write);
            }
        }
    }

    fn carry_out(&mut self, write: &LateWrite) {
        let landed = match write {
            LateWrite::Metadata(base, change) => {
                self.watch_write(base, change);
                self.etcd.put_metadata(base, change).map(|_| ())
            }
            LateWrite::Status(base, status) => {
                self.watch_status(base, status);
                self.etcd.put_status(base, status).map(|_| ())
            }
            LateWrite::Release(base) => self.etcd.release(base, self.now),
        };
        self.note(|| format!("LATE WRITE: {landed:?}"));
        self.wake_all();
    }

    /// The first moment of the model's grain that is not before this.
    pub fn by_grain(&self, time: Timestamp) -> Timestamp {
        let grain = i64::try_from(self.tempo.grain.as_millis()).unwrap_or(i64::MAX);
        let rest = time.as_millisecond().rem_euclid(grain);
        let up = if rest == 0 { 0 } else { grain - rest };
        time + Duration::from_millis(up.unsigned_abs())
    }

    /// A process wrote: the other's watch tells it.
    pub fn wake_other(&mut self, b: usize) {
        self.bridges[1 - b].dirty = true;
    }

    /// Something changed in the API server: every watch tells.
    pub fn wake_all(&mut self) {
        for bridge in &mut self.bridges {
            bridge.dirty = true;
        }
    }

    /// A process works until it rests. Time goes on only while it waits for answers.
    pub fn pass_with(&mut self, b: usize, fates: &mut dyn Outcomes) {
        self.bridges[b].dirty = true;
        for _ in 0..200 {
            if let Phase::Waiting(wait) = &self.bridges[b].phase {
                self.advance_to(wait.until);
            }
            self.step(b, fates);
            if matches!(self.bridges[b].phase, Phase::Resting(_)) {
                return;
            }
        }
        panic!("the pass does not end\n{}", self.log.join("\n"));
    }

    /// Likewise, and everything goes well.
    pub fn pass(&mut self, b: usize) {
        self.pass_with(b, &mut Well);
    }

    /// Goes on, pass after pass as they fall due, until the leader has nothing to do for a while.
    pub fn rest(&mut self) {
        self.rest_with(&mut Well);
    }

    /// Likewise, with fates.
    pub fn rest_with(&mut self, fates: &mut dyn Outcomes) {
        let b = usize::from(!self.bridges[A].leads);
        for _ in 0..400 {
            self.pass_with(b, fates);
            if self.quiet(b) {
                return;
            }
            if let Phase::Resting(Some(wake)) = self.bridges[b].phase {
                let wake = wake - self.bridges[b].offset;
                self.advance_to(wake.max(self.now));
            }
        }
        panic!("it does not come to rest\n{}", self.log.join("\n"));
    }

    /// Nothing changed since its last pass, and the next is a drift poll, if any, or a try whether what is in the way outside still is.
    pub fn quiet(&self, b: usize) -> bool {
        let outside = self.config.is_err() || self.secret_missing;
        // Drift polls of two objects need not fall together.
        let soon = if self.second.is_some() { 25 } else { 50 };
        let far = self.clock(b) + Duration::from_secs(if outside { 1 } else { soon });
        match self.bridges[b].phase {
            Phase::Resting(_) if !self.bridges[b].leads => true,
            Phase::Resting(wake) if self.bridges[b].lags_until.is_none() => {
                !self.bridges[b].dirty && wake.is_none_or(|wake| wake >= far)
            }
            _ => false,
        }
    }

    /// For the log, which is shown when something is wrong.
    pub fn note(&mut self, text: impl FnOnce() -> String) {
        if !self.logs {
            return;
        }
        let line = format!("{} {}", &self.now.to_string()[11..], text());
        self.log.push(line);
    }
}

/// A config that works.
pub fn config(identity: &str) -> Config {
    Config {
        id: "config-1".to_owned(),
        revision: format!("1 of {identity}"),
        settings_digest: "settings-1".to_owned(),
        identity: identity.to_owned(),
        settings: None,
        credentials: Secrets::default(),
        credentials_expire: None,
    }
}

/// Ours on external resources.
pub fn marker(uid: &str) -> String {
    format!("m-{uid}")
}

/// For the log.
pub fn verb(call: &bridge_core::managed::Call) -> String {
    format!(
        "{:?} {:?} token {:?} attempt {} handle {:?}",
        call.verb, call.target.external_name, call.token, call.attempt, call.handle
    )
}
