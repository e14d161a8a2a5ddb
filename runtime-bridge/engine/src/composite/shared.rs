//! What the controllers of all composite resources of a process share.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bridge_core::{
    composite::Settings,
    driver::{ApiFailure, ApiFailureKind, Leadership as Right},
    function::Functions,
    watch_plan::GroupKind,
};
use jiff::Timestamp;
use parking_lot::Mutex;
use tokio_util::task::AbortOnDropHandle;

use super::{
    awaited_kinds::AwaitedKinds, function_news::FunctionNews, library::Library, schemas::Schemas,
    secret_users::SecretUsers,
};
use crate::{
    api_error::ApiError,
    clock::Clock,
    dispatch::Dispatcher,
    engine::Engine,
    event::EventRecorder,
    lease::Leadership,
    metrics::Metrics,
    object::Object,
    secret::SecretReader,
    shell::Detached,
    store::Store,
    watch::{Subscription, Watches},
    write::{ConnectionSecrets, Writer},
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
    pub(crate) store: Arc<Store>,
    pub(crate) watches: Arc<Watches>,
    pub(crate) dispatcher: Arc<Dispatcher>,
    pub(crate) writer: Writer,
    pub(crate) events: Arc<EventRecorder>,
    pub(crate) secrets: Arc<SecretReader>,
    pub(crate) connection_secrets: Arc<ConnectionSecrets>,
    pub(crate) secret_users: Arc<SecretUsers>,
    _secrets: Subscription,
    pub(super) schemas: Arc<Schemas>,
    _schemas: AbortOnDropHandle<()>,
    pub(super) awaited_kinds: Arc<AwaitedKinds>,
    _awaited_kinds: AbortOnDropHandle<()>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(super) library: Library,
    pub(super) functions: Arc<dyn Functions>,
    pub(super) function_news: FunctionNews,
    pub(crate) settings: Arc<Settings>,
    pub(crate) leadership: Leadership,
    pub(crate) detached: Detached,
    draining: AtomicBool,
    /// Kinds of which a reconciler has ended, and when the last one did.
    ended: Mutex<BTreeMap<GroupKind, Timestamp>>,
    /// The term of leading, and when it began by the clock.
    term: Mutex<(u64, Timestamp)>,
}

impl CompositeShared {
    /// For an engine. `functions`: how functions are called.
    pub fn new(engine: &Engine, functions: Arc<dyn Functions>, options: CompositeOptions) -> Arc<Self> {
        let secret_users = Arc::new(SecretUsers::default());
        let schemas = Schemas::new(engine);
        let follow =
            Arc::clone(&schemas).follow(engine.watches.served_changes(), Arc::clone(&engine.dispatcher));
        let awaited_kinds = Arc::new(AwaitedKinds::default());
        let follow_kinds = Arc::clone(&awaited_kinds).follow(
            engine.watches.served_changes(),
            Arc::clone(&engine.watches),
            Arc::clone(&engine.dispatcher),
        );
        Arc::new(Self {
            _secrets: secret_users.subscribe(engine),
            secret_users,
            schemas,
            _schemas: AbortOnDropHandle::new(tokio::spawn(follow)),
            awaited_kinds,
            _awaited_kinds: AbortOnDropHandle::new(tokio::spawn(follow_kinds)),
            store: Arc::clone(&engine.store),
            watches: Arc::clone(&engine.watches),
            dispatcher: Arc::clone(&engine.dispatcher),
            writer: engine.writer.clone(),
            events: Arc::clone(&engine.events),
            secrets: Arc::clone(&engine.secrets),
            connection_secrets: Arc::clone(&engine.connection_secrets),
            metrics: Arc::clone(&engine.metrics),
            clock: Arc::clone(&engine.clock),
            library: Library::default(),
            functions,
            function_news: FunctionNews::default(),
            settings: Arc::new(options.settings),
            leadership: options.leadership,
            detached: options.detached,
            draining: AtomicBool::new(false),
            ended: Mutex::default(),
            term: Mutex::new((0, engine.clock.now())),
        })
    }

    /// A reconciler of the kind has ended: the next one has none of its memory.
    pub(crate) fn end_serving(&self, kind: &GroupKind) {
        self.ended.lock().insert(kind.clone(), self.clock.now());
    }

    /// From when on all that was sent for objects of the kind is remembered: since this process leads, and since another reconciler of it ended.
    pub(crate) fn remembers_since(&self, kind: &GroupKind) -> Timestamp {
        let ended = self.ended.lock().get(kind).copied();
        let began = self.term_began();
        ended.map_or(began, |ended| ended.max(began))
    }

    /// Functions answer again, or listen elsewhere: composite resources whose last run waits for one of them get their turns.
    pub(crate) fn publish_function_news(&self, functions: &BTreeSet<String>) {
        let waiting = self.function_news.publish(functions);
        self.dispatcher.wake_dependants(waiting);
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
    pub(crate) fn right(&self, stopped: bool) -> Right {
        Right {
            leads: self.leadership.leads(),
            term: self.leadership.term(),
            draining: stopped || self.draining.load(Ordering::SeqCst),
        }
    }

    /// What a request that the API server did not carry out means for the reconcile of an object.
    pub(crate) fn api_failure(&self, object: &Object, error: &ApiError) -> ApiFailure {
        let kind = match error {
            ApiError::Conflict(_) => ApiFailureKind::Conflict,
            ApiError::NotFound(_) => ApiFailureKind::NotFound,
            ApiError::NotServed(_) if self.store.is_tombstoned(object.uid()) => ApiFailureKind::KindGone,
            error if error.is_refusal() => ApiFailureKind::Rejected,
            ApiError::Forbidden(_) => ApiFailureKind::Forbidden,
            _ => ApiFailureKind::Transient,
        };
        let retry_after = match error {
            ApiError::Throttled { retry_after, .. } => *retry_after,
            _ => Duration::ZERO,
        };
        ApiFailure {
            kind,
            retry_after,
            message: error.to_string(),
        }
    }

    /// Notices that this process leads, if it does: of what is created later it is known that no former leader has begun anything.
    pub(crate) fn notice_term(&self) {
        self.term_began();
    }

    /// When this process began to lead, as far as it has noticed: never earlier than it did.
    pub(crate) fn term_began(&self) -> Timestamp {
        let now = self.clock.now();
        let term = self.leadership.term();
        let mut known = self.term.lock();
        if known.0 != term {
            *known = (term, now);
        }
        known.1
    }
}
