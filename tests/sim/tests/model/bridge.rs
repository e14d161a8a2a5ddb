//! One process of the bridge: its memory, its cache, and where it is in its pass.

use bridge_core::{
    driver::{Effect, Leadership},
    managed::{Action, ManagedMachine, MetadataChange, Performed, ReconcileMemory},
};
use jiff::{SignedDuration, Timestamp};

use crate::etcd::Object;

/// A reconcile of the object, run by the driver that the engine runs too.
pub type Driver = bridge_core::driver::Driver<ManagedMachine, Object>;

/// What a driver is given.
pub type Input = bridge_core::driver::Input<ManagedMachine, Object>;

/// Where a process is.
#[derive(Debug)]
pub enum Phase {
    /// Nothing to do before then; `None`: before something changes.
    Resting(Option<Timestamp>),
    /// In the middle of a reconcile.
    Running(Box<Driver>),
    /// It waits for the answer to an observation, or to a call.
    Waiting(Box<Wait>),
}

/// A request that is under way.
#[derive(Debug, Clone)]
pub struct Wait {
    pub driver: Driver,
    pub until: Timestamp,
    pub answer: Performed,
}

/// When a process dies over an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dies {
    BeforePersist,
    AfterPersist,
}

/// Where a process is, as tests ask for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Stage<'a> {
    Resting(Option<Timestamp>),
    Deciding,
    Decided(&'a Action),
    Waiting(Timestamp),
    Persisting,
}

impl Clone for Phase {
    fn clone(&self) -> Self {
        match self {
            Self::Resting(wake) => Self::Resting(*wake),
            Self::Running(driver) => Self::Running(driver.clone()),
            Self::Waiting(wait) => Self::Waiting(wait.clone()),
        }
    }
}

/// A process.
#[derive(Debug, Clone)]
pub struct Bridge {
    pub memory: ReconcileMemory,
    /// The newest version that its watch, or its own requests, brought.
    pub store: Option<Object>,
    /// Its watch brings nothing before then.
    pub lags_until: Option<Timestamp>,
    /// It does nothing before then.
    pub stalled_until: Option<Timestamp>,
    /// It may begin calls.
    pub leads: bool,
    /// How many times it has begun to lead.
    pub term: u64,
    /// Its clock, against the true time.
    pub offset: SignedDuration,
    pub phase: Phase,
    /// Something changed since its pass began.
    pub dirty: bool,
    /// It dies over the answer that it waits for, or has.
    pub dies: Option<Dies>,
    /// Of the object that the memory is about.
    pub uid: String,
    /// Progress was written when.
    pub reported: Vec<bridge_core::managed::Event>,
}

impl Bridge {
    pub fn new(leads: bool) -> Self {
        Self {
            memory: ReconcileMemory::default(),
            store: None,
            lags_until: None,
            stalled_until: None,
            leads,
            term: u64::from(leads),
            offset: SignedDuration::ZERO,
            phase: Phase::Resting(None),
            dirty: true,
            dies: None,
            uid: String::new(),
            reported: Vec::new(),
        }
    }

    /// The lease is its own now.
    pub fn take_the_lead(&mut self) {
        self.term += u64::from(!self.leads);
        self.leads = true;
        self.dirty = true;
    }

    /// Its right to act, now.
    pub fn leadership(&self) -> Leadership {
        Leadership {
            leads: self.leads,
            term: self.term,
            draining: false,
        }
    }

    /// Where it is.
    pub fn stage(&self) -> Stage<'_> {
        match &self.phase {
            Phase::Resting(wake) => Stage::Resting(*wake),
            Phase::Waiting(wait) => Stage::Waiting(wait.until),
            Phase::Running(driver) => match driver.effect() {
                Effect::Begin { action, .. } => Stage::Decided(action),
                _ if driver.answer().is_some() => Stage::Persisting,
                _ => Stage::Deciding,
            },
        }
    }

    /// The process dies, and another takes its place.
    pub fn crash(&mut self) {
        *self = Self {
            leads: self.leads,
            term: self.term,
            offset: self.offset,
            reported: std::mem::take(&mut self.reported),
            ..Self::new(false)
        };
    }

    /// Takes in a version, unless it knows a newer one.
    pub fn record_resource_version(&mut self, object: Option<Object>) {
        let revision = |object: &Object| {
            let number = object.managed.resource_version.strip_prefix("rv-");
            number.and_then(|number| number.parse::<u64>().ok()).unwrap_or(0)
        };
        match (&self.store, &object) {
            (Some(known), Some(new)) if revision(known) > revision(new) => {}
            _ => self.store = object,
        }
    }

    /// When, in true time, it has something to do; `None`: not before something changes.
    pub fn due(&self) -> Option<Timestamp> {
        let due = match &self.phase {
            // It would only say that there is nothing to do.
            Phase::Resting(_) if !self.leads => None,
            // What a watch is late with, it brings in the end.
            Phase::Resting(wake) => {
                let wake = wake.map(|wake| wake - self.offset);
                match self.lags_until {
                    Some(until) => Some(wake.map_or(until, |wake| wake.min(until))),
                    None if self.dirty => Some(Timestamp::MIN),
                    None => wake,
                }
            }
            Phase::Running(_) => Some(Timestamp::MIN),
            Phase::Waiting(wait) => Some(wait.until),
        };
        due.map(|due| self.stalled_until.map_or(due, |until| until.max(due)))
    }
}

/// A write that the API server carries out later.
#[allow(clippy::large_enum_variant)] // Of a model: few live at a time.
#[derive(Debug, Clone)]
pub enum LateWrite {
    Metadata(Object, MetadataChange),
    Status(Object, bridge_core::managed::Status),
    Release(Box<bridge_core::managed::Managed>),
}
