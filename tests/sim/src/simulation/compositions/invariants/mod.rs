//! What must hold after every commit, where compositions are served. Each invariant is one named function.

mod creations;
mod endings;
mod reports;
#[cfg(test)]
mod tests;
mod usages;
mod watches;

use std::collections::BTreeMap;

use fake_kube::{
    fault::Request,
    state::{ClusterState, Commit, EventKind},
};
use jiff::Timestamp;
use serde_json::Value;

use super::{
    manifests::GROUP,
    state::{COMPOSED, is_composite, is_deleting, names, references},
};
use crate::simulation::{environment::Environment, invariants::text};

/// Plural of definitions.
const DEFINITIONS: &str = "compositeresourcedefinitions";

/// What was seen.
pub(crate) struct CompositionChecker {
    /// Commits that were checked.
    commits: usize,
    /// Bridges run with `--vanishing-parents`.
    vanishing_parents: bool,
    /// References that users have removed by hand, and no bridge has written since.
    removed: RemovedReferences,
    /// Uids of composite resources that a bridge has deleted -> when.
    deleted: BTreeMap<String, Timestamp>,
}

impl CompositionChecker {
    /// Before the first commit.
    pub(crate) const fn new(vanishing_parents: bool) -> Self {
        Self {
            commits: 0,
            vanishing_parents,
            removed: RemovedReferences(BTreeMap::new()),
            deleted: BTreeMap::new(),
        }
    }

    /// What does not hold after the commits since the last look.
    fn look(&mut self, state: &ClusterState, request: Option<&Request>, sender: Sender) -> Vec<String> {
        let commits = &state.history[self.commits..];
        self.commits = state.history.len();
        let mut wrong = Vec::new();
        for commit in commits.iter().filter(|commit| concerns(commit)) {
            let request = request.filter(|request| made(request, commit));
            if request.is_some_and(|request| request.verb == "delete")
                && is_composite(text(&commit.new, "/kind"))
            {
                let uid = text(&commit.new, "/metadata/uid").to_owned();
                self.deleted.entry(uid).or_insert(commit.at);
            }
            let written = Written {
                state,
                commit,
                request,
                removed: &self.removed,
                deleted: &self.deleted,
                sender,
                vanishing_parents: self.vanishing_parents,
            };
            for (name, invariant) in OF_COMMITS {
                wrong.extend(invariant(&written).map(|why| format!("{name}: {why}")));
            }
            self.removed.note(commit, request);
        }
        if commits.iter().any(concerns) {
            for (name, invariant) in OF_STATES {
                wrong.extend(invariant(state, &self.removed).map(|why| format!("{name}: {why}")));
            }
        }
        wrong
    }
}

/// What became of who sent a request until it was carried out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sender {
    /// A user did something while the request was on its way: it could not know of that.
    pub(crate) crossed: bool,
    /// So many processes have begun in its place, one after another.
    pub(crate) successors: usize,
    /// It has begun a moment ago: not all of its watches show anything yet.
    pub(crate) is_starting: bool,
}

/// A commit, and what it was made over.
struct Written<'a> {
    state: &'a ClusterState,
    commit: &'a Commit,
    /// The request of a bridge that made it; `None`: somebody else did.
    request: Option<&'a Request>,
    sender: Sender,
    /// Before the commit.
    removed: &'a RemovedReferences,
    deleted: &'a BTreeMap<String, Timestamp>,
    vanishing_parents: bool,
}

/// Uid of a composite resource -> references that a user took out of it.
#[derive(Debug)]
struct RemovedReferences(BTreeMap<String, Vec<Value>>);

impl RemovedReferences {
    /// Until a bridge writes the references anew, what a user has removed of them is missing, and a create of it may be on its way.
    fn note(&mut self, commit: &Commit, request: Option<&Request>) {
        if !is_composite(text(&commit.new, "/kind")) {
            return;
        }
        let uid = text(&commit.new, "/metadata/uid");
        match request {
            Some(request) if request.subresource.is_empty() && request.verb != "delete" => {
                self.0.remove(uid);
            }
            Some(_) => {}
            None => {
                let now = references(&commit.new);
                let of_it = self.0.entry(uid.to_owned()).or_default();
                of_it.extend(references(&commit.old).iter().cloned());
                // Put back by hand, or never removed.
                of_it.retain(|one| !now.contains(one));
            }
        }
    }

    fn has(&self, composite: &Value, object: &Value) -> bool {
        let of_it = self.0.get(text(composite, "/metadata/uid"));
        let mut of_it = of_it.into_iter().flatten();
        of_it.any(|reference| names(composite, reference, object))
    }
}

impl<'a> Written<'a> {
    /// The deletion that a bridge decided on, if this is one, and was decided over what it is carried out over.
    fn deleted(&self) -> Option<(&'a Request, &'a Value)> {
        self.asked_to_go().filter(|_| !self.sender.crossed)
    }

    /// The deletion that a bridge asked for, if this is one.
    fn asked_to_go(&self) -> Option<(&'a Request, &'a Value)> {
        let request = self.request.filter(|request| request.verb == "delete")?;
        Some((request, &self.commit.old))
    }

    /// What went, if something did.
    fn gone(&self) -> Option<&'a Value> {
        (self.commit.happened == EventKind::Deleted).then_some(&self.commit.new)
    }

    /// What is being deleted from this commit on, whoever asked for it.
    fn begun(&self) -> Option<&'a Value> {
        let ends = self.commit.happened == EventKind::Deleted || is_deleting(&self.commit.new);
        (ends && !self.commit.old.is_null() && !is_deleting(&self.commit.old)).then_some(&self.commit.old)
    }
}

type Invariant = fn(&Written) -> Option<String>;
type StateInvariant = fn(&ClusterState, &RemovedReferences) -> Option<String>;

/// Of each commit. In brackets: its number in the reference.
const OF_COMMITS: [(&str, Invariant); 22] = [
    // I2
    ("references_come_first", creations::references_come_first),
    // I9
    ("claims_refer_first", creations::claims_refer_first),
    // I10
    ("machinery_does_not_cross", creations::machinery_does_not_cross),
    // I21
    (
        "claims_only_repeat_their_composites",
        reports::claims_only_repeat_their_composites,
    ),
    // I33
    ("successors_wait", creations::successors_wait),
    // I5, I30, I36
    ("nothing_foreign_is_deleted", endings::nothing_foreign_is_deleted),
    ("deletions_are_guarded", endings::deletions_are_guarded),
    // I24
    ("deleting_is_seen_first", endings::deleting_is_seen_first),
    ("claims_say_deleting_first", endings::claims_say_deleting_first),
    // I25
    ("the_finalizer_goes_last", endings::the_finalizer_goes_last),
    ("a_claim_goes_last", endings::a_claim_goes_last),
    // I31
    ("blocked_says_why", reports::blocked_says_why),
    ("a_blocked_claim_says_why", reports::a_blocked_claim_says_why),
    // I32
    ("nothing_is_abandoned", endings::nothing_is_abandoned),
    // I34
    (
        "nothing_is_deleted_that_is_orphaned",
        endings::nothing_is_deleted_that_is_orphaned,
    ),
    // I35, I36
    ("a_definition_goes_last", endings::a_definition_goes_last),
    // I26
    ("leaves_go_first", usages::leaves_go_first),
    // I27
    ("decomposed_alone_goes_early", usages::decomposed_alone_goes_early),
    // I28
    ("usages_outlive_their_users", usages::usages_outlive_their_users),
    // I29
    ("what_is_in_use_stays", usages::what_is_in_use_stays),
    ("bulk_deletions_keep_order", usages::bulk_deletions_keep_order),
    (
        "usages_are_ready_with_a_mark",
        usages::usages_are_ready_with_a_mark,
    ),
];

/// Of the state after it.
const OF_STATES: [(&str, StateInvariant); 3] = [
    ("one_per_resource_name", creations::one_per_resource_name),
    (
        "all_that_exists_is_referenced",
        creations::all_that_exists_is_referenced,
    ),
    ("one_composite_per_claim", creations::one_composite_per_claim),
];

impl Environment {
    /// After each request to the API server. `request`: of a bridge, which it carried out.
    pub(crate) fn watch_compositions(&self, request: Option<&Request>, sender: Sender) {
        let wrong = {
            let mut checker = self.compositions.lock();
            let Some(checker) = checker.as_mut() else { return };
            checker.look(&self.kube.state(), request, sender)
        };
        for violation in wrong {
            self.blame(violation);
        }
    }

    /// After each request of a bridge that the API server refused with this code.
    pub(crate) fn watch_refusal(&self, request: &Request, code: u16) {
        if self.compositions.lock().is_none() {
            return;
        }
        let wrong = usages::nothing_in_use_is_asked_to_go(&self.kube.state(), request, code);
        if let Some(wrong) = wrong {
            self.blame(format!("nothing_in_use_is_asked_to_go: {wrong}"));
        }
    }
}

/// Whether it is about a composite resource, a claim, what is composed, or a definition.
fn concerns(commit: &Commit) -> bool {
    let (plural, group) = &commit.resource;
    group == GROUP || plural == DEFINITIONS || COMPOSED.contains(&(plural.as_str(), group.as_str()))
}

/// Whether the request made the commit: others may have come since the last look.
fn made(request: &Request, commit: &Commit) -> bool {
    let name = text(&commit.new, "/metadata/name");
    request.writes()
        && request.resource == commit.resource.0
        && (request.name.is_empty() || request.name == name)
        && request.namespace == text(&commit.new, "/metadata/namespace")
}

fn about(object: &Value) -> String {
    format!("{} {}", text(object, "/kind"), text(object, "/metadata/name"))
}
