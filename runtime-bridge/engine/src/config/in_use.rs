//! Keeps a config for as long as managed resources refer to it: without it, what they stand for could be neither seen nor deleted.
//!
//! A finalizer does it, which a config has only while it is used, so that none is left behind by a bridge that was taken away.
//! Crossplane's `ProviderConfigUsage` objects are not needed for it: the store knows who refers to whom.

use std::sync::Arc;

use async_trait::async_trait;
use bridge_core::{
    managed::{Says, Status},
    queue::{Priority, Wake},
    watch_plan::GroupKind,
};
use jiff::SignedDuration;

use super::reference::{self, cluster_config_api, config_api, secret_of};
use crate::{
    api_error::ApiError,
    clock::Clock,
    engine::{Controller, Engine},
    event::{EventRecorder, EventType},
    object::{Key, Object},
    reconcile::{Next, Pass, Reconcile},
    store::{Change, Listener, Store},
    watch::Watches,
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
enum Step {
    /// It is as it should be.
    Nothing,
    /// It is used from now on: put the finalizer on.
    Hold,
    /// Nobody uses it: take the finalizer off.
    Release,
    /// Perhaps nobody uses it: look again.
    Ask,
    /// It is to go, and is used: say so.
    Tell,
}

/// `sure`: there are no more users than are known.
fn decide(config: &Object, used: bool, sure: bool) -> Step {
    match (used, config.has_finalizer(FINALIZER)) {
        // Without a finalizer it may be gone any moment, and a finalizer cannot be put on what is being deleted.
        (true, false) if config.is_deleting() => Step::Nothing,
        (true, false) => Step::Hold,
        (true, true) if config.is_deleting() => Step::Tell,
        (false, true) if sure => Step::Release,
        (false, true) => Step::Ask,
        (true, true) | (false, false) => Step::Nothing,
    }
}

/// Looks after both config kinds of a plugin on this engine. `users`: the controllers of all kinds that refer to them, which need not be
/// served yet.
pub fn keep_while_used(engine: &Engine, plugin: &str, users: &[Controller]) {
    for user in users {
        engine
            .store
            .register_references(&user.api.kind, Arc::clone(&user.references));
        engine.listen(
            &user.api,
            &format!("uses configs of {plugin}"),
            &listener(engine, plugin),
        );
    }
    for api in [config_api(plugin), cluster_config_api(plugin)] {
        engine.serve(Controller {
            api: Arc::new(api),
            references: Arc::new(|config: &Object| secret_of(config).into_iter().collect()),
            reconciler: Arc::new(InUse {
                users: users.iter().map(|user| user.api.kind.clone()).collect(),
                store: Arc::clone(&engine.store),
                watches: Arc::clone(&engine.watches),
                writer: engine.writer.clone(),
                events: Arc::clone(&engine.events),
                clock: Arc::clone(&engine.clock),
            }),
            reason: format!("configs of {plugin}"),
        });
    }
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
    users: Vec<GroupKind>,
    store: Arc<Store>,
    watches: Arc<Watches>,
    writer: Writer,
    events: Arc<EventRecorder>,
    clock: Arc<dyn Clock>,
}

#[async_trait]
impl Reconcile for InUse {
    async fn reconcile(&self, key: &Key, _: Pass) -> Next {
        let Some(config) = self.store.get(key) else {
            return Next::idle();
        };
        let (users, count) = self.store.first_referring_to(key, NAMED);
        let sure = self.users.iter().all(|kind| self.watches.is_complete(kind));
        let done = match decide(&config, count > 0, sure) {
            Step::Nothing => return Next::idle(),
            Step::Ask => return self.again(),
            Step::Hold => self.writer.put(&held(&config)).await.map(drop),
            Step::Release => self
                .writer
                .remove_finalizer(&config.api, key, config.uid(), FINALIZER, Still::Whatever)
                .await
                .map(drop),
            Step::Tell => self.tell(&config, &users, count).await,
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
    fn again(&self) -> Next {
        Next::at(self.clock.now() + AGAIN, Priority::DriftPoll)
    }

    async fn tell(&self, config: &Object, users: &[Key], count: usize) -> Result<(), ApiError> {
        let before = Status::read(&config.status_value());
        let mut status = before.clone();
        let says = Says::no("InUse", BLOCKING);
        status.set("Terminating", &says, config.generation(), self.clock.now());
        if status == before {
            return Ok(());
        }
        let mut told = config.clone();
        told.set_status(&status.write());
        self.writer.put_status(&told).await?;
        self.events.record(
            config,
            EventType::Warning,
            "UsageAccounting",
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
mod tests {
    use serde_json::json;

    use super::*;

    fn config(held: bool, deleting: bool) -> Object {
        let json = json!({"metadata": {
            "name": "default", "uid": "u", "resourceVersion": "1",
            "finalizers": if held { vec![FINALIZER] } else { vec![] },
            "deletionTimestamp": deleting.then_some("2026-01-01T00:00:00Z"),
        }});
        Object::decode(&Arc::new(cluster_config_api("example.org")), &json.to_string()).unwrap()
    }

    #[test]
    fn a_config_is_held_while_it_is_used_and_released_only_when_it_is_sure_that_it_is_not() {
        // Used, sure, held, deleting.
        let cases = [
            ([false, true, false, false], Step::Nothing),
            ([true, true, false, false], Step::Hold),
            ([true, false, false, false], Step::Hold),
            ([true, true, true, false], Step::Nothing),
            ([true, true, true, true], Step::Tell),
            ([true, true, false, true], Step::Nothing),
            ([false, true, true, false], Step::Release),
            ([false, true, true, true], Step::Release),
            ([false, false, true, true], Step::Ask),
            ([false, false, false, true], Step::Nothing),
        ];
        for ([used, sure, held, deleting], expected) in cases {
            let config = config(held, deleting);
            assert_eq!(
                decide(&config, used, sure),
                expected,
                "{used} {sure} {held} {deleting}"
            );
        }
        assert!(held(&config(false, false)).has_finalizer(FINALIZER));
    }

    #[test]
    fn a_few_of_its_users_are_named() {
        let key = |name| Key::new(GroupKind::new("example.org", "Bucket"), Some("ns"), name);
        assert_eq!(
            blocked(&[key("a")], 1),
            "Blocking deletion while usages still exist: Bucket.example.org ns/a"
        );
        assert_eq!(
            blocked(&[key("a"), key("b")], 7),
            "Blocking deletion while usages still exist: Bucket.example.org ns/a, Bucket.example.org ns/b and 5 more"
        );
    }
}
