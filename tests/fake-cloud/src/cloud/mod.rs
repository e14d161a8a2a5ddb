//! The cloud: what exists, what Observe shows of it, and what happens by itself. Time is an argument.

mod answer;
mod ask;
mod change;
mod operations;
mod serve;
#[cfg(test)]
mod tests;

pub use ask::{Answer, Ask, Verdict};

use std::{collections::BTreeMap, time::Duration};

use crossbridge_types::{CreateRecovery, Document, Effect, NameSource, Observation, Secrets, Target};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    fault::{Fault, FaultOutcome, Faults, Rpc},
    kinds::{self, Subject},
};

/// One external resource of the cloud.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct External {
    /// A number that is never given again.
    pub id: u64,
    /// The kind of the resource.
    pub kind: String,
    /// The external name, unique within its kind.
    pub name: String,
    /// Ownership marker; empty: none.
    pub marker: String,
    /// The uid of the object that it was created for; empty: another owner's.
    pub created_for: String,
    /// The parameters that it was last given.
    pub parameters: Document,
    /// What is becoming of it.
    pub state: State,
    /// Observe misses it before this.
    pub visible: Timestamp,
    /// How often it was changed.
    pub revision: u32,
}

/// What is becoming of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum State {
    /// Cannot be used before this time.
    Creating(Timestamp),
    /// Exists and can be used.
    Ready,
    /// Its removal has begun, and goes on only when it is driven.
    Disabled,
    /// Absent from this time on.
    Deleting(Timestamp),
}

/// A removal, and on whose behalf.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    /// The resource, just before it was removed.
    pub external: External,
    /// uid of the object; empty: by hand, or by itself.
    pub by: String,
    /// The marker that the call came with.
    pub by_marker: String,
}

/// A call that reached the cloud.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    /// When the call came.
    pub at: Timestamp,
    /// The method.
    pub rpc: Rpc,
    /// The kind of the resource; empty: a call about a config.
    pub kind: String,
    /// `metadata.name` of the object.
    pub owner: String,
    /// `metadata.uid` of the object.
    pub uid: String,
    /// The external name that was sent; empty: none.
    pub name: String,
    /// The client request token of a Create; empty for other calls.
    pub token: String,
    /// Whether its outcome was unknown before.
    pub outcome_unknown: bool,
    /// What became of it.
    pub fate: FaultOutcome,
    /// Unix milliseconds; 0: none.
    pub deadline: i64,
}

/// How the cloud behaves, until another profile is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[allow(clippy::struct_excessive_bools)] // Each is a behavior of its own.
pub struct Profile {
    /// Milliseconds that work takes where it takes long.
    pub work: u32,
    /// Milliseconds for which a created resource stays invisible; not more than the kind's consistency window.
    pub invisible: u32,
    /// Observe reports that nothing exists.
    pub blind: bool,
    /// Every call is answered with a 5xx, and nothing happens.
    pub down: bool,
    /// No credentials are accepted.
    pub refuses_credentials: bool,
    /// Operations are forgotten: polls report that the handle has expired.
    pub forgets_operations: bool,
    /// Deletes are accepted, and remove nothing.
    pub keeps_what_is_deleted: bool,
    /// Statuses hold what no API server stores as it is sent: whole floats, nulls, fields that no schema knows; and lack what has a default.
    pub untidy_status: bool,
}

impl Default for Profile {
    fn default() -> Self {
        Self {
            work: 2_000,
            invisible: 0,
            blind: false,
            down: false,
            refuses_credentials: false,
            forgets_operations: false,
            keeps_what_is_deleted: false,
            untidy_status: false,
        }
    }
}

/// Work that outlasts a call.
#[derive(Debug, Clone)]
struct Work {
    /// The id of the resource that it changes.
    object: u64,
    ends: Timestamp,
    /// The effect of its failure; `None`: it succeeds.
    fails: Option<Effect>,
    name: String,
    /// An update's new parameters, and the marker that it puts on.
    change: Option<(Document, String)>,
}

/// What a token stands for.
#[derive(Debug, Clone)]
struct Used {
    request: String,
    name: String,
    object: u64,
    handle: Option<String>,
}

/// An account of the cloud: resources, work under way, faults to come.
#[derive(Debug, Clone)]
pub struct Cloud {
    kinds: BTreeMap<String, Subject>,
    /// The resources that exist.
    pub objects: Vec<External>,
    /// What was, newest last.
    pub removed: Vec<Removed>,
    /// Every call that came, newest last.
    pub entries: Vec<Entry>,
    /// In force until another one is set.
    pub profile: Profile,
    /// What waits for its call.
    pub faults: Faults,
    /// Calls that take effect later.
    late: Vec<(Timestamp, Ask)>,
    work: BTreeMap<String, Work>,
    tokens: BTreeMap<String, Used>,
    count: u64,
}

impl Default for Cloud {
    fn default() -> Self {
        Self::new()
    }
}

impl Cloud {
    /// An empty one, with [all kinds](kinds::all).
    pub fn new() -> Self {
        Self {
            kinds: kinds::all()
                .into_iter()
                .map(|subject| (subject.name().to_owned(), subject))
                .collect(),
            objects: Vec::new(),
            removed: Vec::new(),
            entries: Vec::new(),
            profile: Profile::default(),
            faults: Faults::default(),
            late: Vec::new(),
            work: BTreeMap::new(),
            tokens: BTreeMap::new(),
            count: 0,
        }
    }

    /// What this kind is; `None`: not served here.
    pub fn subject(&self, kind: &str) -> Option<&Subject> {
        self.kinds.get(kind)
    }

    /// Adds a fault, which waits for its call.
    pub fn inject(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// The observation of a resource, in the present profile.
    fn observation(&self, one: &External, holds_marker: bool) -> Observation {
        answer::observation(one, holds_marker, self.profile.untidy_status)
    }

    /// The resources that were created for this uid.
    pub fn created_for(&self, uid: &str) -> impl Iterator<Item = &External> {
        self.objects.iter().filter(move |one| one.created_for == uid)
    }

    /// Another owner creates a resource, which is ready at once.
    pub fn foreign(&mut self, kind: &str, name: &str, marker: &str, now: Timestamp) {
        self.count += 1;
        self.objects.push(External {
            id: self.count,
            kind: kind.to_owned(),
            name: name.to_owned(),
            marker: marker.to_owned(),
            created_for: String::new(),
            parameters: Document::new(),
            state: State::Ready,
            visible: now,
            revision: 0,
        });
    }

    /// An unknown actor removes, by hand, what bears this name.
    pub fn remove_by_hand(&mut self, kind: &str, name: &str) {
        if let Some(id) = self.find(kind, name).map(|one| one.id) {
            self.remove(id, "", "");
        }
    }

    /// What happens by itself until now.
    pub fn settle(&mut self, now: Timestamp) {
        while let Some(at) = self.next_late(now) {
            let (due, ask) = self.late.remove(at);
            // As of then, however late it is observed.
            self.perform(&ask, due);
        }
        let ended: Vec<(String, Work)> = self
            .work
            .iter()
            .filter(|(_, work)| work.ends <= now)
            .map(|(handle, work)| (handle.clone(), work.clone()))
            .collect();
        for (handle, work) in ended {
            if let Some((parameters, marker)) = work.change
                && let Some(held) = self.work.get_mut(&handle)
            {
                held.change = None;
                self.change(work.object, parameters, &marker);
            }
            let creating = |one: &External| one.id == work.object && matches!(one.state, State::Creating(_));
            if work.fails == Some(Effect::None) && self.objects.iter().any(creating) {
                self.remove(work.object, "", "");
            }
        }
        let mut finished = Vec::new();
        for object in &mut self.objects {
            match object.state {
                State::Creating(until) if until <= now => object.state = State::Ready,
                State::Deleting(until) if until <= now => finished.push(object.id),
                _ => {}
            }
        }
        for id in finished {
            let owner = self.objects.iter().find(|one| one.id == id);
            let (by, marker) = owner
                .map(|one| (one.created_for.clone(), one.marker.clone()))
                .unwrap_or_default();
            self.remove(id, &by, &marker);
        }
    }

    /// The oldest call that takes effect by now.
    fn next_late(&self, now: Timestamp) -> Option<usize> {
        let due = self.late.iter().enumerate().filter(|(_, (at, _))| *at <= now);
        due.min_by_key(|(_, (at, _))| *at).map(|(at, _)| at)
    }

    /// Calls that take effect after `now`. One that was due before has had its effect, also where nothing came to the cloud since, so that it has yet to
    /// [settle](Self::settle).
    pub fn expected(&self, now: Timestamp) -> impl Iterator<Item = &Ask> {
        let yet = self.late.iter().filter(move |(due, _)| *due > now);
        yet.map(|(_, ask)| ask)
    }

    fn find(&self, kind: &str, name: &str) -> Option<&External> {
        self.objects
            .iter()
            .find(|one| one.kind == kind && one.name == name)
    }

    fn get_mut(&mut self, id: u64) -> Option<&mut External> {
        self.objects.iter_mut().find(|one| one.id == id)
    }

    fn remove(&mut self, id: u64, by: &str, by_marker: &str) {
        if let Some(at) = self.objects.iter().position(|one| one.id == id) {
            let external = self.objects.remove(at);
            self.removed.push(Removed {
                external,
                by: by.to_owned(),
                by_marker: by_marker.to_owned(),
            });
        }
    }

    fn change(&mut self, id: u64, parameters: Document, marker: &str) {
        if let Some(object) = self.get_mut(id) {
            object.parameters = parameters;
            marker.clone_into(&mut object.marker);
            object.revision += 1;
        }
    }

    fn work_takes(&self) -> Duration {
        Duration::from_millis(self.profile.work.into())
    }

    /// A call can reach it: what is seen only when its creation ends is not there before.
    fn is_shown(subject: &Subject, one: &External) -> bool {
        !(subject.manners.shown_at_end && matches!(one.state, State::Creating(_)))
    }

    /// The one of this name, if it is not another's.
    fn ours(&self, subject: &Subject, target: &Target, unmarked: bool) -> Option<&External> {
        let found = self.find(subject.name(), &target.external_name);
        found.filter(|one| Self::is_shown(subject, one)).filter(|one| {
            !subject.kind.capabilities.holds_marker
                || is_owned(&one.marker, target)
                || (one.marker.is_empty() && unmarked)
        })
    }
}

/// The name that the plugin works out; empty where names come about otherwise.
fn derived_name(subject: &Subject, target: &Target) -> String {
    match subject.kind.external_name.source {
        NameSource::Derived => format!("https://cloud/{}/{}", target.owner.namespace, target.owner.name),
        NameSource::User | NameSource::Provider => String::new(),
    }
}

fn is_owned(marker: &str, target: &Target) -> bool {
    !marker.is_empty() && (marker == target.ownership_marker || marker == target.former_marker)
}

fn by_marker(subject: &Subject) -> bool {
    subject.recovers_by(CreateRecovery::Marker)
}

fn no_secrets() -> Secrets {
    Secrets::default()
}
