//! What must hold after every commit, where compositions are served. Each invariant is one named function.

use std::collections::BTreeMap;

use fake_kube::{
    fault::Request,
    state::{ClusterState, Commit, EventKind},
};
use serde_json::Value;

use super::{
    manifests::{GROUP, Kind},
    state::{self, COMPOSED, condition, controller, is_composite_kind, is_deleting, lists},
    trouble::resource_name,
};
use crate::simulation::{environment::Environment, invariants::text};

/// What was seen.
#[derive(Default)]
pub(crate) struct CompositionChecker {
    /// Commits that were checked.
    commits: usize,
}

/// A commit, and what it was made over.
struct Written<'a> {
    state: &'a ClusterState,
    commit: &'a Commit,
    /// The request of a bridge that made it; `None`: somebody else did.
    request: Option<&'a Request>,
}

type Invariant = fn(&Written) -> Option<String>;
type StateInvariant = fn(&ClusterState) -> Option<String>;

/// Of each commit.
const OF_COMMITS: [(&str, Invariant); 7] = [
    ("references_come_first", references_come_first),
    ("nothing_foreign_is_deleted", nothing_foreign_is_deleted),
    ("deletions_are_guarded", deletions_are_guarded),
    ("deleting_is_seen_first", deleting_is_seen_first),
    ("claims_say_deleting_first", claims_say_deleting_first),
    ("the_finalizer_goes_last", the_finalizer_goes_last),
    ("a_claim_goes_last", a_claim_goes_last),
];

/// Of the state after it.
const OF_STATES: [(&str, StateInvariant); 3] = [
    ("one_per_resource_name", one_per_resource_name),
    ("all_that_exists_is_referenced", all_that_exists_is_referenced),
    ("one_composite_per_claim", one_composite_per_claim),
];

impl Environment {
    /// After each request to the API server. `request`: of a bridge, which it carried out.
    pub(crate) fn watch_compositions(&self, request: Option<&Request>) {
        let wrong: Vec<String> = {
            let mut checker = self.compositions.lock();
            let Some(checker) = checker.as_mut() else { return };
            let state = self.kube.state();
            let from = checker.commits;
            checker.commits = state.history.len();
            let commits = &state.history[from..];
            let concerns = |commit: &Commit| {
                let (plural, group) = &commit.resource;
                group == GROUP || COMPOSED.contains(&(plural.as_str(), group.as_str()))
            };
            let mut wrong = Vec::new();
            for commit in commits.iter().filter(|commit| concerns(commit)) {
                let written = Written {
                    state: &state,
                    commit,
                    request: request.filter(|request| made(request, commit)),
                };
                for (name, invariant) in OF_COMMITS {
                    wrong.extend(invariant(&written).map(|why| format!("{name}: {why}")));
                }
            }
            if commits.iter().any(concerns) {
                for (name, invariant) in OF_STATES {
                    wrong.extend(invariant(&state).map(|why| format!("{name}: {why}")));
                }
            }
            wrong
        };
        for violation in wrong {
            self.blame(violation);
        }
    }
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

/// A composed object comes into being only once its composite resource lists it.
fn references_come_first(written: &Written) -> Option<String> {
    let commit = written.commit;
    let owner = controller(&commit.new).filter(|owner| is_composite_kind(owner))?;
    if commit.happened != EventKind::Added {
        return None;
    }
    let what = about(&commit.new);
    match state::composite(written.state, owner["uid"].as_str()?) {
        None => Some(format!(
            "{what} was created for a composite resource that is gone"
        )),
        Some(composite) if !lists(composite, &commit.new) => {
            Some(format!("{what} was created and is in no references"))
        }
        Some(_) => None,
    }
}

/// The deletion that a bridge asked for, if this is one.
fn deleted<'a>(written: &'a Written) -> Option<(&'a Request, &'a Value)> {
    let request = written.request.filter(|request| request.verb == "delete")?;
    Some((request, &written.commit.old))
}

/// A bridge deletes what a composite resource or a claim of its kinds owns, or what a definition that is being deleted defines, and nothing else.
fn nothing_foreign_is_deleted(written: &Written) -> Option<String> {
    let (_, object) = deleted(written)?;
    if written.commit.resource.1 == GROUP {
        let claim = text(object, "/spec/claimRef/name");
        let owner = controller(object).and_then(|owner| owner["uid"].as_str());
        if owner.is_some_and(|uid| state::composite(written.state, uid).is_some()) {
            return None;
        }
        if claim.is_empty() {
            let plural = &written.commit.resource.0;
            if state::is_definition_deleting(written.state, plural) {
                return None;
            }
            return Some(format!("{} has no claim, and was deleted", about(object)));
        }
        let mut claims = written.state.all(Kind::Purchase.plural(), GROUP);
        let lives = claims.any(|found| text(found, "/metadata/name") == claim && !is_deleting(found));
        // Its successor, which names another composite resource, is no reason to keep it.
        let is_its = claims_name(written.state, claim) == text(object, "/metadata/name");
        return (lives && is_its).then(|| format!("{} was deleted, and its claim lives", about(object)));
    }
    // Its own, by which it tries the guard.
    if text(object, "/metadata/labels/crossplane.io~1composite").is_empty()
        && text(object, "/metadata/name").starts_with("crossbridge-")
    {
        return None;
    }
    let owned = controller(object).is_some_and(is_composite_kind);
    (!owned).then(|| format!("{} belongs to another owner, and was deleted", about(object)))
}

/// The composite resource that the claim of this name refers to.
fn claims_name<'a>(state: &'a ClusterState, claim: &str) -> &'a str {
    let mut claims = state.all(Kind::Purchase.plural(), GROUP);
    let found = claims.find(|found| text(found, "/metadata/name") == claim);
    found.map_or("", |found| text(found, "/spec/resourceRef/name"))
}

/// No deletion could hit a successor.
fn deletions_are_guarded(written: &Written) -> Option<String> {
    let (request, object) = deleted(written)?;
    (!request.names_uid).then(|| format!("{} was deleted without its uid", about(object)))
}

/// A composite resource says that it is being deleted before anything goes.
fn deleting_is_seen_first(written: &Written) -> Option<String> {
    let (_, object) = deleted(written)?;
    let owner = controller(object).filter(|owner| is_composite_kind(owner))?;
    let composite = state::composite(written.state, owner["uid"].as_str()?)?;
    let seen = condition(composite, "Ready");
    (is_deleting(composite) && seen != ("False", "Deleting")).then(|| {
        format!(
            "{} was deleted while its composite resource says {seen:?}",
            about(object)
        )
    })
}

/// A claim says that it is being deleted before its composite resource goes.
fn claims_say_deleting_first(written: &Written) -> Option<String> {
    let (_, object) = deleted(written)?;
    let uid = claim_of(object)?;
    let mut claims = written.state.all(Kind::Purchase.plural(), GROUP);
    let claim = claims.find(|claim| text(claim, "/metadata/uid") == uid)?;
    let seen = condition(claim, "Ready");
    (is_deleting(claim) && seen != ("False", "Deleting"))
        .then(|| format!("{} was deleted while its claim says {seen:?}", about(object)))
}

/// The uid of the claim that has bound a composite resource.
fn claim_of(composite: &Value) -> Option<&str> {
    let uid = text(composite, "/metadata/annotations/crossbridge.dev~1claim");
    Some(uid).filter(|uid| !uid.is_empty())
}

/// A claim goes after its composite resource.
fn a_claim_goes_last(written: &Written) -> Option<String> {
    let commit = written.commit;
    if commit.happened != EventKind::Deleted || commit.resource.0 != Kind::Purchase.plural() {
        return None;
    }
    let uid = text(&commit.new, "/metadata/uid");
    let left = state::composites(written.state).find(|composite| claim_of(composite) == Some(uid));
    left.map(|left| format!("{} is gone, and {} is left", about(&commit.new), about(left)))
}

/// A composite resource goes after all that it composed.
fn the_finalizer_goes_last(written: &Written) -> Option<String> {
    let commit = written.commit;
    if commit.happened != EventKind::Deleted || commit.resource.1 != GROUP {
        return None;
    }
    let uid = text(&commit.new, "/metadata/uid");
    let left = state::composed(written.state).find(|(_, owner)| *owner == uid);
    left.map(|(left, _)| format!("{} is gone, and {} is left", about(&commit.new), about(left)))
}

/// Of two objects under one composition resource name one is being deleted.
fn one_per_resource_name(state: &ClusterState) -> Option<String> {
    let mut seen = BTreeMap::new();
    state::composed(state)
        .filter(|(object, _)| !is_deleting(object))
        .find_map(|(object, owner)| {
            let name = resource_name(object);
            let former = seen.insert((owner, text(object, "/kind"), name), object)?;
            Some(format!("{} and {} are both {name}", about(former), about(object)))
        })
}

/// Whatever a composite resource controls is in its references: nothing is lost.
fn all_that_exists_is_referenced(state: &ClusterState) -> Option<String> {
    state::composed(state).find_map(|(object, owner)| {
        let composite = state::composite(state, owner)?;
        (!lists(composite, object)).then(|| format!("{} is in no references", about(object)))
    })
}

/// No claim has two composite resources.
fn one_composite_per_claim(state: &ClusterState) -> Option<String> {
    let mut seen = BTreeMap::new();
    state::composites(state).find_map(|composite| {
        let claim = text(composite, "/spec/claimRef/name");
        let noted = claim_of(composite);
        if claim.is_empty() || is_deleting(composite) {
            return None;
        }
        let former = seen.insert((claim, noted), composite)?;
        Some(format!(
            "{} and {} have one claim",
            about(former),
            about(composite)
        ))
    })
}
