//! What must hold after every event. Each invariant is one named function.

mod calls;
mod end;
mod rest;
mod writes;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use bridge_core::managed::{IntentVerb, Record, Stored, names};
use bridge_engine::clock::Clock;
use fake_cloud::{
    cloud::{Ask, Entry},
    fault::Rpc,
    kinds::GROUP,
};
use fake_kube::state::{Commit, EventKind};
use jiff::Timestamp;
use serde_json::Value;

use self::{
    calls::Sent,
    end::End,
    writes::{Standing, Written},
};
use super::environment::Environment;

/// What of these does not hold, each with its name. An invariant is a function that returns what is wrong.
macro_rules! violations {
    ($of:ident: $($invariant:ident),+ $(,)?) => {
        [$((stringify!($invariant), $invariant($of))),+]
            .into_iter()
            .filter_map(|(name, wrong)| Some(format!("{name}: {}", wrong?)))
            .collect()
    };
}
use violations;

/// Between two lies about one object: longer than it takes to observe again.
const HONEST: Duration = Duration::from_mins(2);

/// What was seen, and what of it was wrong.
#[derive(Default)]
pub(crate) struct InvariantChecker {
    violations: Vec<String>,
    /// Commits and removals that were checked.
    commits: usize,
    removed: usize,
    objects: BTreeMap<String, Seen>,
    /// Calls that have not been answered, by bridge and uid.
    flights: BTreeMap<(usize, String), PendingCalls>,
    lies: BTreeMap<String, Timestamp>,
    /// Of every Create that came.
    tokens: BTreeSet<String>,
    /// Who held the lease, from when on.
    holders: Vec<(Timestamp, String)>,
}

/// Calls that have not been answered.
#[derive(Debug, Clone, Copy, Default)]
struct PendingCalls {
    all: u32,
    /// Those that change something.
    changes: u32,
}

/// A managed resource, as the API server had it.
#[derive(Default)]
struct Seen {
    kind: String,
    paused_since: Option<Timestamp>,
    gone: Option<Timestamp>,
    /// It may go without its external object.
    may_leave: bool,
    /// Of its external object.
    end: End,
    /// Create intents: token and deadline.
    intents: Vec<(String, Timestamp)>,
}

impl InvariantChecker {
    pub(crate) fn violations(&self) -> &[String] {
        &self.violations
    }

    /// Whether an Observe of this object may be answered with a lie now.
    pub(crate) fn lies(&mut self, uid: &str, now: Timestamp) -> bool {
        let may = self
            .lies
            .get(uid)
            .is_none_or(|last| now.duration_since(*last).unsigned_abs() > HONEST);
        if may {
            self.lies.insert(uid.to_owned(), now);
        }
        may
    }

    /// Who held the lease then; empty: no bridge.
    fn holder_at(&self, at: Timestamp) -> &str {
        let holder = self.holders.iter().rev().find(|(since, _)| *since <= at);
        holder.map(|(_, holder)| holder.as_str()).unwrap_or_default()
    }

    /// How often one bridge led after another.
    pub(crate) fn lease_moves(&self) -> usize {
        let mut holders: Vec<&str> = self.holders.iter().map(|(_, holder)| holder.as_str()).collect();
        holders.retain(|holder| !holder.is_empty());
        holders.dedup();
        holders.len().saturating_sub(1)
    }

    fn flights(&self, bridge: usize, uid: &str) -> PendingCalls {
        let flights = self.flights.get(&(bridge, uid.to_owned()));
        flights.copied().unwrap_or_default()
    }

    fn take_in(&mut self, commit: &Commit) {
        let (plural, group) = &commit.resource;
        if plural == "leases" {
            let holder = text(&commit.new, "/spec/holderIdentity");
            self.holders.push((commit.at, holder.to_owned()));
        }
        if group != GROUP || plural.ends_with("providerconfigs") {
            return;
        }
        let uid = text(&commit.new, "/metadata/uid").to_owned();
        let seen = self.objects.entry(uid.clone()).or_default();
        text(&commit.new, "/kind").clone_into(&mut seen.kind);
        if commit.happened == EventKind::Deleted {
            seen.gone = Some(commit.at);
            return;
        }
        let paused = is_paused(&commit.new);
        seen.paused_since = paused.then(|| seen.paused_since.unwrap_or(commit.at));
        seen.may_leave = may_leave(&commit.new, &uid);
        let create = record_of(&commit.new).and_then(|record| record.intent);
        if let Some(intent) = create.filter(|intent| intent.verb == IntentVerb::Create) {
            let new = (intent.token, intent.deadline);
            if !seen.intents.contains(&new) {
                seen.intents.push(new);
            }
        }
    }
}

/// A call that has not been answered.
pub(crate) struct PendingCall {
    environment: Arc<Environment>,
    /// From which bridge, about which object, and whether it changes something; `None`: about none.
    about: Option<(usize, String, bool)>,
}

impl Drop for PendingCall {
    fn drop(&mut self) {
        let Some((bridge, uid, changes)) = self.about.take() else {
            return;
        };
        if let Some(flights) = self.environment.watcher.lock().flights.get_mut(&(bridge, uid)) {
            flights.all = flights.all.saturating_sub(1);
            flights.changes = flights.changes.saturating_sub(changes.into());
        }
    }
}

impl Environment {
    /// Records a violation, once, and logs it.
    pub(crate) fn blame(&self, violation: String) {
        let mut watcher = self.watcher.lock();
        if !watcher.violations.contains(&violation) {
            self.log.note(|| format!("VIOLATION {violation}"));
            watcher.violations.push(violation);
        }
    }

    fn blame_all(&self, violations: Vec<String>) {
        for violation in violations {
            self.blame(violation);
        }
    }

    /// After each request to the API server. `writer`: the bridge that sent it, where bridges elect a leader.
    pub(crate) fn watch_api(&self, writer: Option<&str>) {
        let wrong = {
            let state = self.kube.state();
            let cloud = self.cloud.lock();
            let mut watcher = self.watcher.lock();
            let from = watcher.commits;
            watcher.commits = state.history.len();
            let mut wrong = Vec::new();
            for commit in &state.history[from..] {
                watcher.take_in(commit);
                let written = Written {
                    watcher: &watcher,
                    cloud: &cloud,
                    commit,
                    writer,
                };
                wrong.extend(writes::broken_by(&written));
            }
            let standing = Standing {
                watcher: &watcher,
                cloud: &cloud,
            };
            wrong.extend(writes::violations_in(&standing));
            wrong
        };
        self.blame_all(wrong);
    }

    /// After each call that reached the cloud.
    pub(crate) fn watch_cloud(&self) {
        let wrong = {
            let cloud = self.cloud.lock();
            let mut watcher = self.watcher.lock();
            let standing = Standing {
                watcher: &watcher,
                cloud: &cloud,
            };
            let wrong = writes::violations_in(&standing);
            watcher.removed = cloud.removed.len();
            wrong
        };
        self.blame_all(wrong);
    }

    /// A call has come from this bridge.
    pub(crate) fn begin_call(
        self: &Arc<Self>,
        bridge: usize,
        ask: &Ask,
        deadline: Option<Timestamp>,
    ) -> PendingCall {
        self.watch_api(None);
        let Some(target) = ask.target() else {
            return PendingCall {
                environment: Arc::clone(self),
                about: None,
            };
        };
        let (uid, changes) = (target.owner.uid.clone(), is_change(ask));
        let wrong = {
            let cloud = self.cloud.lock();
            let mut watcher = self.watcher.lock();
            let sent = Sent {
                environment: self,
                watcher: &watcher,
                cloud: &cloud,
                bridge,
                ask,
                uid: &uid,
                deadline,
                now: self.time.now(),
            };
            let wrong = calls::broken_by(&sent);
            if let Ask::Create(create) = ask {
                watcher.tokens.insert(create.token.clone());
            }
            watcher
                .objects
                .entry(uid.clone())
                .or_default()
                .end
                .begin(ask.rpc());
            let flights = watcher.flights.entry((bridge, uid.clone())).or_default();
            flights.all += 1;
            flights.changes += u32::from(changes);
            wrong
        };
        self.blame_all(wrong);
        PendingCall {
            environment: Arc::clone(self),
            about: Some((bridge, uid, changes)),
        }
    }

    /// The processes that had calls under way are dead.
    pub(crate) fn forget_flights(&self) {
        self.watcher.lock().flights.clear();
    }

    /// Its creation is confirmed, and no Delete was sent.
    pub(crate) fn is_settled(&self, uid: &str) -> bool {
        let removed = |entry: &Entry| entry.uid == uid && entry.rpc == Rpc::Delete;
        if self.cloud.lock().entries.iter().any(removed) {
            return false;
        }
        let state = self.kube.state();
        let settled = |object: &Value| record_of(object).is_some_and(|record| record.intent.is_none());
        self.kinds.iter().any(|kind| {
            let plural = plural_of(kind);
            let mut all = state.all(&plural, GROUP);
            all.any(|object| text(object, "/metadata/uid") == uid && settled(object))
        })
    }
}

/// As in the kind's URL.
pub(crate) fn plural_of(kind: &str) -> String {
    format!("{}s", kind.to_lowercase())
}

pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// An annotation; empty: none.
pub(crate) fn annotation<'a>(object: &'a Value, key: &str) -> &'a str {
    object["metadata"]["annotations"][key]
        .as_str()
        .unwrap_or_default()
}

pub(crate) fn record_of(object: &Value) -> Option<Record> {
    let stored = object["metadata"]["annotations"][names::RECORD].as_str();
    match Stored::read(stored, text(object, "/metadata/uid")) {
        Stored::Owned(record) => Some(*record),
        Stored::None | Stored::Unreadable(_) => None,
    }
}

fn is_change(ask: &Ask) -> bool {
    match ask {
        Ask::Create(_) | Ask::Update(_) | Ask::Delete(_) => true,
        // Distributions are removed by polls that do the work.
        Ask::Poll(poll) => poll.handle == "remove" && poll.target.resource_type.kind == "Distribution",
        Ask::Observe(_) | Ask::CheckConfig(_) => false,
    }
}

fn is_paused(object: &Value) -> bool {
    let policies = object["spec"]["managementPolicies"].as_array();
    annotation(object, names::PAUSED) == "true" || policies.is_some_and(Vec::is_empty)
}

fn may_leave(object: &Value, uid: &str) -> bool {
    let policies = object["spec"]["managementPolicies"].as_array();
    let deletes = policies.is_none_or(|policies| policies.iter().any(|verb| verb == "*" || verb == "Delete"));
    !deletes || object["spec"]["deletionPolicy"] == "Orphan" || annotation(object, names::ORPHAN) == uid
}
