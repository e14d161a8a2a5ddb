//! What must hold after every event. Each invariant is one named function.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use bridge_core::managed::{IntentVerb, Record, Stored, names};
use bridge_engine::clock::Clock;
use fake_cloud::{
    cloud::{Ask, Cloud},
    fault::Rpc,
    kinds::{CALL, GROUP},
};
use fake_kube::state::{Commit, Happened};
use jiff::Timestamp;
use serde_json::Value;

use super::world::World;

/// Between two lies about one object: longer than it takes to look again.
const HONEST: Duration = Duration::from_mins(2);

/// What was seen, and what of it was wrong.
#[derive(Default)]
pub(crate) struct Watcher {
    violations: Vec<String>,
    /// Commits and removals that were looked at.
    commits: usize,
    removed: usize,
    objects: BTreeMap<String, Seen>,
    /// Calls that change something and have not been answered, by uid.
    flights: BTreeMap<String, u32>,
    lies: BTreeMap<String, Timestamp>,
    tokens: BTreeMap<String, u32>,
}

/// A managed resource, as the API server had it.
#[derive(Default)]
struct Seen {
    kind: String,
    paused_since: Option<Timestamp>,
    gone: Option<Timestamp>,
    /// It may go without its external object.
    may_leave: bool,
    /// Create intents: token and deadline.
    intents: Vec<(String, Timestamp)>,
}

impl Watcher {
    pub(crate) fn violations(&self) -> &[String] {
        &self.violations
    }

    /// Whether a look at this object may be lied to now.
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

    fn take_in(&mut self, commit: &Commit) {
        let (plural, group) = &commit.resource;
        if group != GROUP || plural.ends_with("providerconfigs") {
            return;
        }
        let uid = text(&commit.new, "/metadata/uid").to_owned();
        let seen = self.objects.entry(uid.clone()).or_default();
        text(&commit.new, "/kind").clone_into(&mut seen.kind);
        if commit.happened == Happened::Deleted {
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
pub(crate) struct Flight {
    world: Arc<World>,
    uid: Option<String>,
}

impl Drop for Flight {
    fn drop(&mut self) {
        if let Some(uid) = &self.uid
            && let Some(count) = self.world.watcher.lock().flights.get_mut(uid)
        {
            *count = count.saturating_sub(1);
        }
    }
}

impl World {
    /// Something was wrong.
    pub(crate) fn blame(&self, violation: String) {
        let mut watcher = self.watcher.lock();
        if !watcher.violations.contains(&violation) {
            self.log.note(|| format!("VIOLATION {violation}"));
            watcher.violations.push(violation);
        }
    }

    /// After each request to the API server.
    pub(crate) fn watch_api(&self) {
        let broken = {
            let state = self.kube.state();
            let mut watcher = self.watcher.lock();
            let from = watcher.commits;
            watcher.commits = state.history.len();
            let mut broken = Vec::new();
            for commit in &state.history[from..] {
                watcher.take_in(commit);
                broken.extend(no_intent_while_paused(commit));
                broken.extend(no_secret_is_told(commit));
            }
            broken.extend(nothing_is_left_behind(&watcher, &self.cloud.lock()));
            broken
        };
        for violation in broken {
            self.blame(violation);
        }
    }

    /// After each call that reached the cloud.
    pub(crate) fn watch_cloud(&self) {
        let broken = {
            let cloud = self.cloud.lock();
            let mut watcher = self.watcher.lock();
            let broken = [
                at_most_one_external_object(&watcher, &cloud),
                nothing_of_others_is_deleted(&watcher, &cloud),
                nothing_is_left_behind(&watcher, &cloud),
            ];
            watcher.removed = cloud.removed.len();
            broken
        };
        for violation in broken.into_iter().flatten() {
            self.blame(violation);
        }
    }

    /// A call has come from the bridge.
    pub(crate) fn begin_call(self: &Arc<Self>, ask: &Ask, deadline: Option<Timestamp>) -> Flight {
        self.watch_api();
        let target = ask.target().filter(|_| is_change(ask));
        let Some(target) = target else {
            return Flight {
                world: Arc::clone(self),
                uid: None,
            };
        };
        let uid = &target.owner.uid;
        let broken = {
            let cloud = self.cloud.lock();
            let mut watcher = self.watcher.lock();
            let broken = [
                nothing_is_sent_after_its_deadline(ask, deadline, self.time.now()),
                nothing_is_sent_while_paused(&watcher, ask, uid, deadline),
                nothing_is_sent_for_what_is_gone(&watcher, ask, uid, deadline),
                no_create_without_a_persisted_intent(&watcher, ask, uid, deadline),
                no_create_is_blindly_repeated(&mut watcher, &cloud, ask),
                no_delete_while_a_create_may_run(&cloud, ask, uid),
                one_call_at_a_time(self, &watcher, ask, uid),
            ];
            *watcher.flights.entry(uid.clone()).or_default() += 1;
            broken
        };
        for violation in broken.into_iter().flatten() {
            self.blame(violation);
        }
        Flight {
            world: Arc::clone(self),
            uid: Some(uid.clone()),
        }
    }

    /// The process that had calls under way is dead.
    pub(crate) fn forget_flights(&self) {
        self.watcher.lock().flights.clear();
    }

    /// Its creation is confirmed, and it is not to be deleted.
    pub(crate) fn is_settled(&self, uid: &str) -> bool {
        let state = self.kube.state();
        let settled = |object: &Value| {
            let settled = record_of(object).is_some_and(|record| record.intent.is_none());
            settled && object["metadata"]["deletionTimestamp"].is_null()
        };
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
        Stored::Ours(record) => Some(*record),
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

/// The moment from which the deadline counts: at which the object was known to stand as it was.
fn proof(deadline: Option<Timestamp>) -> Option<Timestamp> {
    deadline?.checked_sub(CALL).ok()
}

fn at_most_one_external_object(watcher: &Watcher, cloud: &Cloud) -> Option<String> {
    let doubled = watcher
        .objects
        .keys()
        .find(|uid| cloud.made_for(uid).count() > 1)?;
    Some(format!("DOUBLE: two external objects for {doubled}"))
}

fn nothing_is_left_behind(watcher: &Watcher, cloud: &Cloud) -> Option<String> {
    let (left, seen) = watcher
        .objects
        .iter()
        .find(|(uid, seen)| seen.gone.is_some() && !seen.may_leave && cloud.made_for(uid).next().is_some())?;
    Some(format!(
        "LEAK: {} {left} is gone, and its external object is not",
        seen.kind
    ))
}

fn nothing_of_others_is_deleted(watcher: &Watcher, cloud: &Cloud) -> Option<String> {
    let wrong = cloud.removed[watcher.removed.min(cloud.removed.len())..]
        .iter()
        .find(|removed| {
            let ours =
                removed.external.made_for == removed.by || removed.external.marker == removed.by_marker;
            !removed.by.is_empty() && !ours
        })?;
    Some(format!(
        "WRONG: {} deleted {:?}, made for {:?}",
        wrong.by, wrong.external.name, wrong.external.made_for
    ))
}

fn no_secret_is_told(commit: &Commit) -> Option<String> {
    let (plural, _) = &commit.resource;
    let told = plural != "secrets" && commit.new.to_string().contains("canary");
    told.then(|| {
        format!(
            "a secret stands in {plural} {}",
            text(&commit.new, "/metadata/name")
        )
    })
}

/// An intent is another token, or another deadline of the same.
fn no_intent_while_paused(commit: &Commit) -> Option<String> {
    if commit.old.is_null() || !is_paused(&commit.old) || !commit.manager.starts_with("crossbridge.dev") {
        return None;
    }
    let intent = |object: &Value| {
        let intent = record_of(object)?.intent?;
        Some((intent.token, intent.deadline))
    };
    let (before, after) = (intent(&commit.old), intent(&commit.new));
    (after.is_some() && after != before).then(|| {
        format!(
            "an intent is written while {} is paused",
            text(&commit.new, "/metadata/name")
        )
    })
}

fn nothing_is_sent_after_its_deadline(
    ask: &Ask,
    deadline: Option<Timestamp>,
    now: Timestamp,
) -> Option<String> {
    let deadline = deadline?;
    (now >= deadline || deadline.duration_since(now).unsigned_abs() > CALL)
        .then(|| format!("{:?} comes at {now}, its deadline is {deadline}", ask.rpc()))
}

fn nothing_is_sent_while_paused(
    watcher: &Watcher,
    ask: &Ask,
    uid: &str,
    deadline: Option<Timestamp>,
) -> Option<String> {
    let since = watcher.objects.get(uid)?.paused_since?;
    (since < proof(deadline)?).then(|| format!("{:?} is sent for {uid}, paused since {since}", ask.rpc()))
}

fn nothing_is_sent_for_what_is_gone(
    watcher: &Watcher,
    ask: &Ask,
    uid: &str,
    deadline: Option<Timestamp>,
) -> Option<String> {
    let gone = watcher.objects.get(uid)?.gone?;
    (gone < proof(deadline)?).then(|| format!("{:?} is sent for {uid}, gone since {gone}", ask.rpc()))
}

fn no_create_without_a_persisted_intent(
    watcher: &Watcher,
    ask: &Ask,
    uid: &str,
    deadline: Option<Timestamp>,
) -> Option<String> {
    let Ask::Create(create) = ask else { return None };
    let deadline = deadline?.as_millisecond();
    let persisted = watcher.objects.get(uid).is_some_and(|seen| {
        seen.intents.iter().any(|(token, persisted)| {
            *token == create.client_request_token && persisted.as_millisecond() == deadline
        })
    });
    (!persisted).then(|| format!("Create is sent for {uid} without a persisted intent"))
}

fn no_create_is_blindly_repeated(watcher: &mut Watcher, cloud: &Cloud, ask: &Ask) -> Option<String> {
    let Ask::Create(create) = ask else { return None };
    let sent = watcher
        .tokens
        .entry(create.client_request_token.clone())
        .or_default();
    *sent += 1;
    if *sent == 1 {
        return None;
    }
    let kind = &create.target.resource_type.kind;
    let settles = cloud
        .subject(kind)
        .is_some_and(|subject| !subject.kind.capabilities.create_recovery.is_empty());
    (!settles || !create.outcome_unknown).then(|| format!("Create of a {kind} is repeated blindly"))
}

fn no_delete_while_a_create_may_run(cloud: &Cloud, ask: &Ask, uid: &str) -> Option<String> {
    let removes = matches!(ask, Ask::Delete(_) | Ask::Poll(_));
    (removes && cloud.expects(uid, Rpc::Create)).then(|| {
        format!(
            "{:?} is sent for {uid} while a Create may still take effect",
            ask.rpc()
        )
    })
}

/// Around a change of leaders, a call of the old one may still be under way.
fn one_call_at_a_time(world: &World, watcher: &Watcher, ask: &Ask, uid: &str) -> Option<String> {
    if world.bridges > 1 {
        return None;
    }
    let others = watcher.flights.get(uid).copied().unwrap_or(0);
    (others > 0).then(|| format!("{:?} is sent for {uid} beside another call", ask.rpc()))
}
