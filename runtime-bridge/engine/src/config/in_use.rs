//! Looks after configs: each is checked when it is created and whenever it changes, and kept for as long as managed resources refer to it.
//! Without it, what they stand for could be neither observed nor deleted.
//!
//! A finalizer does it, which a config has only while it is used, so that none is left behind by a bridge that was taken away.
//! Crossplane's `ProviderConfigUsage` objects are not needed for it: the store knows who refers to whom.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use bridge_core::{
    managed::{ConditionValue, Status},
    queue::{Priority, Wake},
    reasons::{ConditionReason, WarningEvent},
};
use jiff::SignedDuration;
use parking_lot::RwLock;
use tokio::task::AbortHandle;

use super::{
    ConfigCheck,
    checks::CHECK_WITHIN,
    reference::{cluster_config_api, config_api, secret_of},
    users::{ASKED_AT_ONCE, ConfigUsers},
};
use crate::{
    api_error::ApiError,
    clock::Clock,
    engine::{Controller, Engine},
    event::{EventRecorder, EventType},
    object::{ApiType, Key, Object},
    reconcile::{Next, Reconcile, ReconcileRequest},
    serve::Served,
    store::{Edge, Store},
    write::Writer,
};

/// On a config that is used (crossplane-runtime).
pub const FINALIZER: &str = "in-use.crossplane.io";

/// Of a condition and an event: why a config that is being deleted is still there (crossplane-runtime).
const BLOCKING: &str = "Blocking deletion while usages still exist";

/// So many users are named.
const NAMED: usize = 3;

/// Between reconciles while it is not known who uses a config, or after a write that failed.
const AGAIN: SignedDuration = SignedDuration::from_secs(5);

/// Within this, all objects of some kinds are listed, page by page.
const LIST_WITHIN: Duration = Duration::from_mins(1);

/// Between looking for what nobody asked for in a while.
const FORGET_EVERY: Duration = Duration::from_mins(5);

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
    users: Arc<ConfigUsers>,
    checks: Arc<CurrentCheck>,
    following: AbortHandle,
}

/// Who checks: another one, where the plugin is another version.
type CurrentCheck = RwLock<Arc<dyn ConfigCheck>>;

impl ConfigUsage {
    /// These kinds, which need not be served yet, are published now. One that was and is no longer counts all the same while the cluster defines
    /// it.
    pub fn publish(&self, kinds: impl Iterator<Item = Arc<ApiType>>, check: &Arc<dyn ConfigCheck>) {
        self.users.publish(kinds);
        let is_new = !Arc::ptr_eq(&self.checks.read(), check);
        if is_new {
            *self.checks.write() = Arc::clone(check);
            self.users.wake_configs();
        }
    }
}

impl Drop for ConfigUsage {
    fn drop(&mut self) {
        self.following.abort();
    }
}

/// Looks after both config kinds of a plugin on this engine, while the answer is kept. `published`: the kinds whose objects refer to them.
pub fn keep_while_used(
    engine: &Engine,
    plugin: &str,
    published: impl Iterator<Item = Arc<ApiType>>,
    check: Arc<dyn ConfigCheck>,
) -> ConfigUsage {
    let checks = Arc::new(RwLock::new(check));
    let users = Arc::new(ConfigUsers::new(engine, plugin));
    users.publish(published);
    let configs = [config_api(plugin), cluster_config_api(plugin)].map(|api| {
        engine.serve(Controller {
            // Its checks are calls of the plugin.
            owner: Some(plugin.into()),
            api: Arc::new(api),
            edges: Arc::new([Edge::references(Arc::new(|config: &Object| {
                secret_of(config).into_iter().collect()
            }))
            .with_priority(Arc::new(|_| Some(Priority::DriftPoll)))]),
            reconciler: Arc::new(InUse {
                users: Arc::clone(&users),
                checks: Arc::clone(&checks),
                store: Arc::clone(&engine.store),
                writer: engine.writer.clone(),
                events: Arc::clone(&engine.events),
                clock: Arc::clone(&engine.clock),
            }),
            reason: format!("configs of {plugin}"),
        })
    });
    let following = tokio::spawn(futures::future::join(
        Arc::clone(&users).follow_definitions(),
        forget_in_time(Arc::clone(&checks)),
    ));
    ConfigUsage {
        _configs: configs.into(),
        users,
        checks,
        following: following.abort_handle(),
    }
}

/// Configs of which nobody speaks any more hold their credentials no longer than this lets them.
async fn forget_in_time(checks: Arc<CurrentCheck>) -> std::convert::Infallible {
    loop {
        tokio::time::sleep(FORGET_EVERY).await;
        let check = Arc::clone(&checks.read());
        check.forget_unused();
    }
}

struct InUse {
    users: Arc<ConfigUsers>,
    checks: Arc<CurrentCheck>,
    store: Arc<Store>,
    writer: Writer,
    events: Arc<EventRecorder>,
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl Reconcile for InUse {
    async fn reconcile(&self, key: &Key, _: ReconcileRequest) -> Next {
        let Some(config) = self.store.get(key) else {
            let check = Arc::clone(&self.checks.read());
            check.forget(key);
            return Next::idle();
        };
        let mut next = self.keep(key, &config).await;
        // As it is now: it may have its finalizer since.
        if let Some(config) = self.store.get(key).filter(|config| !config.is_deleting()) {
            let check = Arc::clone(&self.checks.read());
            let again = check.check(&config).await;
            let wake = again.map(|at| Wake {
                at,
                priority: Priority::DriftPoll,
            });
            next.wake = [next.wake, wake].into_iter().flatten().min_by_key(|wake| wake.at);
        }
        next
    }

    /// Before a finalizer goes, all objects of all kinds may be listed.
    fn longest_pass(&self) -> Duration {
        let rounds = self.users.count().div_ceil(ASKED_AT_ONCE);
        let lists = LIST_WITHIN.saturating_mul(u32::try_from(rounds).unwrap_or(u32::MAX));
        lists.saturating_add(CHECK_WITHIN)
    }

    /// That of its objects: what hangs there holds up no other config.
    fn flow(&self, config: &Object) -> String {
        config.key().to_string()
    }
}

impl InUse {
    /// Puts the finalizer on, or takes it off.
    async fn keep(&self, key: &Key, config: &Arc<Object>) -> Next {
        // In this order: a list that is completed in between brings users that are then counted.
        let sure = self.users.are_complete();
        let (users, count) = self.store.first_referring_to(key, NAMED);
        let done = match decide(config, count > 0, sure) {
            InUseStep::Nothing => return Next::idle(),
            InUseStep::Ask => return self.again(),
            InUseStep::AddFinalizer => self.writer(key).put(&held(config)).await.map(drop),
            // A watch that was interrupted is live before all that it missed is in.
            InUseStep::RemoveFinalizer => match self.users.any_live(&self.writer(key), key).await {
                Ok(true) => return self.again(),
                Ok(false) => self.release(config).await,
                Err(error) => Err(error),
            },
            InUseStep::Report => self.report(config, &users, count).await,
        };
        match done {
            Ok(()) | Err(ApiError::NotFound(_)) => Next::idle(),
            Err(error) => {
                tracing::debug!(config = %key, %error, "failed to write the finalizer or the status of a config, will retry");
                self.again()
            }
        }
    }

    fn writer(&self, config: &Key) -> Writer {
        self.writer.for_reconcile(config)
    }

    fn again(&self) -> Next {
        Next::at(self.clock.now() + AGAIN, Priority::DriftPoll)
    }

    /// Of the config that was judged: one that is used or deleted since then stays as it is, and is judged anew.
    async fn release(&self, config: &Object) -> Result<(), ApiError> {
        let writer = self.writer(&config.key());
        writer.remove_finalizer(config, FINALIZER).await.map(drop)
    }

    async fn report(&self, config: &Object, users: &[Key], count: usize) -> Result<(), ApiError> {
        let before = Status::read(config.status_value());
        let mut status = before.clone();
        let value = ConditionValue::no(ConditionReason::InUse, BLOCKING);
        status.set("Terminating", &value, config.generation(), self.clock.now());
        if status == before {
            return Ok(());
        }
        let mut reported = config.clone();
        reported.set_status(&status.write());
        self.writer(&config.key()).put_status(&reported).await?;
        let key = config.key();
        let message = if key.namespace().is_some() {
            blocked(&key, users, count)
        } else {
            let (all, count) = self.store.first_referring_to(&key, usize::MAX);
            blocked(&key, &all, count)
        };
        self.events.record(
            config,
            EventType::Warning,
            WarningEvent::UsageAccounting.as_str(),
            &message,
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

/// What uses the config. The event of one of no namespace is in the namespace `default`, whose readers are not to know what there is in others: it
/// says kinds and numbers alone.
fn blocked(config: &Key, users: &[Key], count: usize) -> String {
    let users = if config.namespace().is_some() {
        named(users, count)
    } else {
        counted(users)
    };
    format!("{BLOCKING}: {users}")
}

/// Names the first users, and says how many more there are.
fn named(users: &[Key], count: usize) -> String {
    let named: Vec<String> = users.iter().map(ToString::to_string).collect();
    let more = match count - users.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{}{more}", named.join(", "))
}

/// How many there are of each kind.
fn counted(users: &[Key]) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for user in users {
        let kind = format!("{}.{}", user.kind().kind(), user.kind().group());
        *counts.entry(kind).or_default() += 1;
    }
    let counts = counts.iter().map(|(kind, count)| format!("{count} of {kind}"));
    counts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[path = "in_use_tests.rs"]
mod tests;
