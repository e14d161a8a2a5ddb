//! What the controllers of all composite resources of a process share.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bridge_core::{composite::Settings, driver::Leadership as Right, function::Functions};
use jiff::Timestamp;
use parking_lot::Mutex;

use super::library::Library;
use crate::{
    clock::Clock, dispatch::Dispatcher, engine::Engine, event::EventRecorder, lease::Leadership,
    secret::SecretReader, shell::Detached, store::Store, watch::Watches, write::Writer,
};

/// How composite resources are reconciled.
pub struct CompositeOptions {
    /// Limits and waits.
    pub settings: Settings,
    /// The right to act.
    pub leadership: Leadership,
    /// Reconciles that nothing cuts off.
    pub detached: Detached,
}

/// What the controllers of all composite resources of a process share.
pub struct CompositeShared {
    pub(super) store: Arc<Store>,
    pub(super) watches: Arc<Watches>,
    pub(super) dispatcher: Arc<Dispatcher>,
    pub(super) writer: Writer,
    pub(super) events: Arc<EventRecorder>,
    pub(super) secrets: Arc<SecretReader>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) library: Library,
    pub(super) functions: Arc<dyn Functions>,
    pub(super) settings: Arc<Settings>,
    pub(super) leadership: Leadership,
    pub(super) detached: Detached,
    draining: AtomicBool,
    /// The term of leading, and when it began by the clock.
    term: Mutex<(u64, Timestamp)>,
}

impl CompositeShared {
    /// For an engine. `functions`: how functions are called.
    pub fn new(engine: &Engine, functions: Arc<dyn Functions>, options: CompositeOptions) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::clone(&engine.store),
            watches: Arc::clone(&engine.watches),
            dispatcher: Arc::clone(&engine.dispatcher),
            writer: engine.writer.clone(),
            events: Arc::clone(&engine.events),
            secrets: Arc::clone(&engine.secrets),
            clock: Arc::clone(&engine.clock),
            library: Library::default(),
            functions,
            settings: Arc::new(options.settings),
            leadership: options.leadership,
            detached: options.detached,
            draining: AtomicBool::new(false),
            term: Mutex::new((0, engine.clock.now())),
        })
    }

    /// Begins nothing more.
    pub fn stop_acting(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    /// This process leads, and is not stopping.
    pub(crate) fn may_act(&self) -> bool {
        let right = self.right(false);
        right.leads && !right.draining
    }

    /// The right to act, now.
    pub(super) fn right(&self, stopped: bool) -> Right {
        Right {
            leads: self.leadership.leads(),
            term: self.leadership.term(),
            draining: stopped || self.draining.load(Ordering::SeqCst),
        }
    }

    /// When this process began to lead, as far as it has noticed: never earlier than it did.
    pub(super) fn term_began(&self) -> Timestamp {
        let now = self.clock.now();
        let term = self.leadership.term();
        let mut known = self.term.lock();
        if known.0 != term {
            *known = (term, now);
        }
        known.1
    }
}
