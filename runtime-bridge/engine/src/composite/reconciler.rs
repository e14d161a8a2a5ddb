//! What the reconciles of one kind of composite resources have to hand.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bridge_core::{
    composite::{CompositeMemory, Settings},
    definition::Terms,
    driver::Leadership as Right,
    function::Functions,
};
use jiff::Timestamp;
use parking_lot::{Mutex, RwLock};

use super::{revisions::Library, runs::Runs};
use crate::{
    clock::Clock,
    dispatch::Dispatcher,
    engine::Engine,
    event::EventRecorder,
    lease::Leadership,
    object::ApiType,
    secret::SecretReader,
    shell::{Detached, Memories},
    store::Store,
    watch::Watches,
    write::Writer,
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

/// Reconciles the composite resources of one kind.
pub struct CompositeReconciler {
    pub(super) shared: Arc<CompositeShared>,
    terms: RwLock<Arc<Terms>>,
    pub(super) api: Arc<ApiType>,
    pub(super) memories: Memories<CompositeMemory>,
    pub(super) runs: Runs,
    stopped: AtomicBool,
}

impl CompositeReconciler {
    /// Of one kind, as its definition has it. Another scope or version is another reconciler; other terms can be [set](Self::set_terms).
    pub fn new(shared: &Arc<CompositeShared>, terms: Arc<Terms>, api: Arc<ApiType>) -> Arc<Self> {
        Arc::new(Self {
            shared: Arc::clone(shared),
            terms: RwLock::new(terms),
            api,
            memories: Memories::default(),
            runs: Runs::default(),
            stopped: AtomicBool::new(false),
        })
    }

    /// What its definition says now.
    pub fn terms(&self) -> Arc<Terms> {
        Arc::clone(&self.terms.read())
    }

    /// Its definition was changed: what is decided from now on goes by these.
    pub fn set_terms(&self, terms: Arc<Terms>) {
        *self.terms.write() = terms;
    }

    pub(super) fn right(&self) -> Right {
        self.shared.right(self.stopped.load(Ordering::SeqCst))
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.runs.end_all();
    }

    pub(super) fn forget(&self, uid: &str) {
        self.runs.end(uid);
    }
}
