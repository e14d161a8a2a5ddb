//! One process of the bridge: its memory, its cache, and where it is in its pass.

use bridge_core::{
    external::Answer,
    managed::{Action, Asked, Call, Decision, Memory, MetadataChange, World},
};
use jiff::{SignedDuration, Timestamp};

use crate::etcd::Object;

/// A pass of more steps goes round in circles.
pub const MOST_STEPS: u32 = 50;

/// Where a process is.
#[derive(Debug, Clone)]
pub enum Phase {
    /// Nothing to do before then; `None`: before something changes.
    Resting(Option<Timestamp>),
    /// To decide what is next.
    Deciding,
    /// It has decided, and not done it.
    Decided(Box<World>, Action),
    /// It waits for the answer to a look, or to a call.
    Waiting(Box<Wait>),
    /// It has an answer that is to be persisted, upon what it takes for the newest version.
    Persisting(Box<Persist>),
}

/// A request that is under way.
#[derive(Debug, Clone)]
pub struct Wait {
    pub world: World,
    pub until: Timestamp,
    pub answer: Awaited,
}

/// What is waited for.
#[allow(clippy::large_enum_variant)] // Of a model: one lives at a time.
#[derive(Debug, Clone)]
pub enum Awaited {
    Look {
        asked: Box<Asked>,
        began: Timestamp,
        look: Result<bridge_core::external::Look, bridge_core::external::CallError>,
    },
    Call {
        call: Call,
        answer: Answer,
        dies: Option<Dies>,
    },
}

/// When a process dies over an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dies {
    BeforePersist,
    AfterPersist,
}

/// An answer that is to be persisted.
#[derive(Debug, Clone)]
pub struct Persist {
    pub world: World,
    pub call: Call,
    pub answer: Answer,
    pub newest: Option<Object>,
    pub dies: Option<Dies>,
}

/// A process.
#[derive(Debug, Clone)]
pub struct Bridge {
    pub memory: Memory,
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
    pub steps: u32,
    pub last: Option<Decision>,
    /// Of the object that the memory is about.
    pub uid: String,
    /// Progress was written when.
    pub told: Vec<bridge_core::managed::Event>,
}

impl Bridge {
    pub fn new(leads: bool) -> Self {
        Self {
            memory: Memory::default(),
            store: None,
            lags_until: None,
            stalled_until: None,
            leads,
            term: u64::from(leads),
            offset: SignedDuration::ZERO,
            phase: Phase::Resting(None),
            dirty: true,
            steps: 0,
            last: None,
            uid: String::new(),
            told: Vec::new(),
        }
    }

    /// The lease is its own now.
    pub fn take_the_lead(&mut self) {
        self.term += u64::from(!self.leads);
        self.leads = true;
        self.dirty = true;
    }

    /// It leads, and did so when its pass began.
    pub fn may_act(&self) -> bool {
        self.leads && self.memory.term == self.term
    }

    /// The process dies, and another takes its place.
    pub fn crash(&mut self) {
        *self = Self {
            leads: self.leads,
            term: self.term,
            offset: self.offset,
            told: std::mem::take(&mut self.told),
            ..Self::new(false)
        };
    }

    /// Takes in a version, unless it knows a newer one.
    pub fn learn_version(&mut self, object: Option<Object>) {
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
            Phase::Deciding | Phase::Decided(..) | Phase::Persisting(_) => Some(Timestamp::MIN),
            Phase::Waiting(wait) => Some(wait.until),
        };
        due.map(|due| self.stalled_until.map_or(due, |until| until.max(due)))
    }
}

/// A write that the API server carries out later.
#[derive(Debug, Clone)]
pub enum LateWrite {
    Metadata(Object, MetadataChange),
    Status(Object, bridge_core::managed::Status),
    Release(Box<bridge_core::managed::Managed>),
}
