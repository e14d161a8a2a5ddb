//! Keeps a config for as long as managed resources refer to it: without it, what they stand for could be neither seen nor deleted.
//!
//! A finalizer does it, which a config has only while it is used, so that none is left behind by a bridge that was taken away.
//! Crossplane's `ProviderConfigUsage` objects are not needed for it: the store knows who refers to whom.

use std::sync::Arc;

use async_trait::async_trait;
use bridge_core::{
    managed::{ConditionValue, Status},
    queue::{Priority, Wake},
    reasons::{ConditionReason, WarningEvent},
};
use jiff::SignedDuration;

use super::reference::{self, cluster_config_api, config_api, secret_of};
use crate::{
    api_error::ApiError,
    clock::Clock,
    engine::{Controller, Engine},
    event::{EventRecorder, EventType},
    object::{ApiType, Key, Object},
    reconcile::{Next, Reconcile, ReconcileRequest},
    serve::Served,
    store::{Change, Edge, Listener, RegisteredEdges, Store, edge},
    watch::{Subscription, Watches},
    write::{Still, Writer},
};

/// On a config that is used (crossplane-runtime).
pub const FINALIZER: &str = "in-use.crossplane.io";

/// Of a condition and an event: why a config that is being deleted is still there (crossplane-runtime).
const BLOCKING: &str = "Blocking deletion while usages still exist";

/// So many users are named.
const NAMED: usize = 3;

/// Between looks while it is not known who uses a config, or after a write that failed.
const AGAIN: SignedDuration = SignedDuration::from_secs(5);

/// What is to be done about one config.
#[derive(Debug, Clone, PartialEq, Eq)]
enum InUseStep {
    /// It is as it should be.
    Nothing,
    /// It is used from now on: put the finalizer on.
    AddFinalizer,
    /// Nobody uses it: take the finalizer off.
    RemoveFinalizer,
    /// Perhaps nobody uses it: look again.
    Ask,
    /// It is to go, and is used: say so.
    Report,
}

/// `sure`: there are no more users than are known.
fn decide(config: &Object, used: bool, sure: bool) -> InUseStep {
    match (used, config.has_finalizer(FINALIZER)) {
        // Without a finalizer it may be gone any moment, and a finalizer cannot be put on what is being deleted.
        (true, false) if config.is_deleting() => InUseStep::Nothing,
        (true, false) => InUseStep::AddFinalizer,
        (true, true) if config.is_deleting() => InUseStep::Report,
        (false, true) if sure => InUseStep::RemoveFinalizer,
        (false, true) => InUseStep::Ask,
        (true, true) | (false, false) => InUseStep::Nothing,
    }
}

/// Looks after both config kinds of a plugin, until it is dropped.
#[must_use = "configs are kept only while it lives"]
pub struct ConfigUsage {
    _configs: Vec<Served>,
    _users: Vec<(RegisteredEdges, Subscription)>,
}

/// Looks after both config kinds of a plugin on this engine, while the answer is kept. `users`: the controllers of all kinds that refer to
/// them, which need not be served yet.
pub fn keep_while_used(engine: &Engine, plugin: &str, users: &[Controller]) -> ConfigUsage {
    let subscriptions = users.iter().map(|user| {
        let rule = engine
            .store
            .register_edges(&user.api.kind, Arc::clone(&user.edges));
        let reason = format!("uses configs of {plugin}");
        let listener = listener(engine, plugin);
        (rule, engine.subscribe(&user.api, &reason, &listener))
    });
    let subscriptions = subscriptions.collect();
    let users: Arc<[User]> = users
        .iter()
        .map(|user| User {
            api: Arc::clone(&user.api),
            edges: Arc::clone(&user.edges),
        })
        .collect();
    let configs = [config_api(plugin), cluster_config_api(plugin)].map(|api| {
        engine.serve(Controller {
            api: Arc::new(api),
            edges: Arc::new([Edge::references(Arc::new(|config: &Object| {
                secret_of(config).into_iter().collect()
            }))
            .with_priority(Arc::new(|_| Some(Priority::DriftPoll)))]),
            reconciler: Arc::new(InUse {
                users: Arc::clone(&users),
                store: Arc::clone(&engine.store),
                watches: Arc::clone(&engine.watches),
                writer: engine.writer.clone(),
                events: Arc::clone(&engine.events),
                clock: Arc::clone(&engine.clock),
            }),
            reason: format!("configs of {plugin}"),
        })
    });
    ConfigUsage {
        _configs: configs.into(),
        _users: subscriptions,
    }
}

/// A kind whose objects use configs.
struct User {
    api: Arc<ApiType>,
    edges: Arc<[Edge]>,
}

/// It is a config's turn when a user comes, goes, or turns to another one.
fn listener(engine: &Engine, plugin: &str) -> Arc<Listener> {
    let (dispatcher, clock) = (Arc::clone(&engine.dispatcher), Arc::clone(&engine.clock));
    let plugin = plugin.to_owned();
    Arc::new(move |change: &Change| {
        let used = |object: &Option<Arc<Object>>| reference::config_of(&plugin, object.as_deref()?).ok();
        let (before, after) = (used(&change.old), used(&change.new));
        if before != after {
            let wake = Wake {
                at: clock.now(),
                priority: Priority::UserChange,
            };
            for config in before.iter().chain(&after) {
                dispatcher.enqueue(config, wake);
            }
        }
    })
}

struct InUse {
    users: Arc<[User]>,
    store: Arc<Store>,
    watches: Arc<Watches>,
    writer: Writer,
    events: Arc<EventRecorder>,
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl Reconcile for InUse {
    async fn reconcile(&self, key: &Key, _: ReconcileRequest) -> Next {
        let Some(config) = self.store.get(key) else {
            return Next::idle();
        };
        let (users, count) = self.store.first_referring_to(key, NAMED);
        let sure = self
            .users
            .iter()
            .all(|user| self.watches.is_complete(&user.api.kind));
        let done = match decide(&config, count > 0, sure) {
            InUseStep::Nothing => return Next::idle(),
            InUseStep::Ask => return self.again(),
            InUseStep::AddFinalizer => self.writer(key).put(&held(&config)).await.map(drop),
            // A watch that was interrupted is live before all that it missed is in, and a config goes with this write if it is being deleted,
            // or as soon as it is.
            InUseStep::RemoveFinalizer => match self.has_users_live(key).await {
                Ok(true) => return self.again(),
                Ok(false) => self.release(&config).await,
                Err(error) => Err(error),
            },
            InUseStep::Report => self.report(&config, &users, count).await,
        };
        match done {
            Ok(()) | Err(ApiError::NotFound(_)) => Next::idle(),
            Err(error) => {
                tracing::debug!(config = %key, %error, "what keeps it while it is used was not written; trying again");
                self.again()
            }
        }
    }
}

impl InUse {
    fn writer(&self, config: &Key) -> Writer {
        self.writer.for_reconcile(config)
    }

    fn again(&self) -> Next {
        Next::at(self.clock.now() + AGAIN, Priority::DriftPoll)
    }

    async fn release(&self, config: &Object) -> Result<(), ApiError> {
        let (key, uid) = (config.key(), config.uid());
        self.writer(&key)
            .remove_finalizer(&config.api, &key, uid, FINALIZER, Still::Whatever)
            .await
            .map(drop)
    }

    /// Whether anything refers to the config, by the API server itself.
    async fn has_users_live(&self, config: &Key) -> Result<bool, ApiError> {
        for user in self.users.iter() {
            let refers = |object: &Object| edge::references(&user.edges, object).contains(config);
            match self.writer.any_live(&user.api, refers).await {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                // There is no such kind, and so nothing of it.
                Err(ApiError::NotServed(_)) if self.watches.is_defined(&user.api.kind) == Some(false) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    async fn report(&self, config: &Object, users: &[Key], count: usize) -> Result<(), ApiError> {
        let before = Status::read(&config.status_value());
        let mut status = before.clone();
        let value = ConditionValue::no(ConditionReason::InUse, BLOCKING);
        status.set("Terminating", &value, config.generation(), self.clock.now());
        if status == before {
            return Ok(());
        }
        let mut reported = config.clone();
        reported.set_status(&status.write());
        self.writer(&config.key()).put_status(&reported).await?;
        self.events.record(
            config,
            EventType::Warning,
            WarningEvent::UsageAccounting.as_str(),
            &blocked(users, count),
        );
        Ok(())
    }
}

/// With the finalizer.
fn held(config: &Object) -> Object {
    let mut config = config.clone();
    config
        .meta
        .finalizers
        .get_or_insert_default()
        .push(FINALIZER.to_owned());
    config
}

/// Names the first users, and says how many more there are.
fn blocked(users: &[Key], count: usize) -> String {
    let named: Vec<String> = users.iter().map(ToString::to_string).collect();
    let more = match count - users.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{BLOCKING}: {}{more}", named.join(", "))
}

#[cfg(test)]
#[path = "in_use_tests.rs"]
mod tests;
