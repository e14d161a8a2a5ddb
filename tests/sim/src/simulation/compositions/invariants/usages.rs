//! What is in use, and in which order what uses it and it go.

use fake_kube::{fault::Request, state::ClusterState};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::{Written, about};
use crate::simulation::{
    compositions::{
        state::{self, Found, condition, controller, is_composite_kind, is_deleting, is_in_use, usages},
        trouble::resource_name,
    },
    invariants::{annotation, text},
};

/// What is deleted within this time is deleted together.
const BULK: SignedDuration = SignedDuration::from_secs(2);

/// What a usage is about, by uid, as it keeps it itself.
struct Record {
    of: String,
    by: String,
}

impl Record {
    /// `None`: what it is about is not resolved yet.
    fn of(usage: &Value) -> Option<Self> {
        let record: Value = serde_json::from_str(annotation(usage, "crossbridge.dev/usage")).ok()?;
        Some(Self {
            of: text(&record, "/of/uid").to_owned(),
            by: text(&record, "/by/uid").to_owned(),
        })
    }

    /// Whether what uses it is there. A composite resource that is being deleted waits for what it composed, and is not waited for.
    fn is_used(&self, state: &ClusterState) -> bool {
        let by = state::object_of(state, &self.by);
        by.is_some_and(|Found { kind, object }| !(state::is_composite(kind) && is_deleting(object)))
    }
}

fn is_ready(usage: &Value) -> bool {
    condition(usage, "Ready").0 == "True"
}

/// Whether it was deleted before the composite resource that composed it: it is composed no more, and keeps nothing. Otherwise it goes with that.
fn is_decomposed(state: &ClusterState, usage: &Value) -> bool {
    let Some(owner) = controller(usage).and_then(|owner| owner["uid"].as_str()) else {
        return false;
    };
    let began = |uid: &str| state::deletion_began(state, uid);
    match (began(text(usage, "/metadata/uid")), began(owner)) {
        (Some(own), Some(owners)) => own < owners,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// What is used goes after what uses it, whoever refuses its deletion.
pub(super) fn leaves_go_first(written: &Written) -> Option<String> {
    let (_, object) = written.deleted()?;
    let uid = text(object, "/metadata/uid");
    let mut all = usages(written.state);
    let keeps = |usage: &&Value| {
        is_ready(usage)
            && !is_decomposed(written.state, usage)
            && Record::of(usage).is_some_and(|record| record.of == uid && record.is_used(written.state))
    };
    all.find(keeps).map(|usage| {
        format!(
            "{} was deleted, and {} still keeps it",
            about(object),
            about(usage)
        )
    })
}

/// A bridge deletes what is composed because it is composed no more, or because its composite resource goes, or its definition: it never takes the one
/// for the other. What a composition asks for in any case, and has not doubled, goes with the other two alone.
pub(super) fn decomposed_alone_goes_early(written: &Written) -> Option<String> {
    let (_, object) = written.deleted()?;
    let owner = controller(object).filter(|owner| is_composite_kind(owner))?;
    let composite = state::composite(written.state, owner["uid"].as_str()?)?;
    let name = resource_name(object);
    let is_doubled = state::composed(written.state).any(|(one, by)| {
        owner["uid"] == by
            && resource_name(one) == name
            && one["metadata"]["uid"] != object["metadata"]["uid"]
    });
    let may_go = is_deleting(composite)
        || is_doubled
        || state::is_definition_deleting(written.state, &written.commit.resource.0)
        || !state::is_always_desired(written.state, composite, name);
    (!may_go).then(|| {
        format!(
            "{} was deleted, and {} lives and desires it",
            about(object),
            about(composite)
        )
    })
}

/// With its composite resource a usage goes after what uses it.
pub(super) fn usages_outlive_their_users(written: &Written) -> Option<String> {
    let gone = written.gone()?;
    if written.commit.resource.0 != "usages" || !was_ready(written.state, gone) {
        return None;
    }
    let owner = controller(gone).and_then(|owner| owner["uid"].as_str())?;
    let lives = state::composite(written.state, owner).is_some_and(|owner| !is_deleting(owner));
    let is_used = Record::of(gone).is_some_and(|record| record.is_used(written.state));
    (!lives && is_used && !is_decomposed(written.state, gone))
        .then(|| format!("{} is gone, and what uses its resource is left", about(gone)))
}

/// A usage that stands alone, and what it is about, stay until what uses that is gone, if the two are deleted together.
pub(super) fn bulk_deletions_keep_order(written: &Written) -> Option<String> {
    let waits = |usage: &Value| {
        let record = Record::of(usage)?;
        let using = state::object_of(written.state, &record.by)?.object;
        let is_of_bulk = controller(usage).is_none() && was_ready(written.state, usage);
        let apart = deleted_at(usage)?.duration_since(deleted_at(using)?).abs();
        (is_of_bulk && apart <= BULK).then_some((record.of, using))
    };
    if written.commit.resource.0 == "usages" {
        let gone = written.gone()?;
        let (_, using) = waits(gone)?;
        return Some(format!("{} is gone, and {} is left", about(gone), about(using)));
    }
    let begun = written.begun()?;
    let mut all = usages(written.state).filter_map(waits);
    let (_, using) = all.find(|(of, _)| of == text(begun, "/metadata/uid"))?;
    Some(format!(
        "{} is being deleted, and {} is left, which uses it",
        about(begun),
        about(using)
    ))
}

fn deleted_at(object: &Value) -> Option<Timestamp> {
    text(object, "/metadata/deletionTimestamp").parse().ok()
}

/// Whether it protected its object at any time: later it says that it is being deleted.
fn was_ready(state: &ClusterState, usage: &Value) -> bool {
    let mut commits = state.history.iter().rev();
    commits.any(|commit| commit.new["metadata"]["uid"] == usage["metadata"]["uid"] && is_ready(&commit.new))
}

/// Nobody gets what is in use deleted. With a definition all that is of its kind goes past any policy.
pub(super) fn what_is_in_use_stays(written: &Written) -> Option<String> {
    let begun = written.begun()?;
    let uid = text(begun, "/metadata/uid");
    let mut all = usages(written.state).filter(|usage| is_ready(usage) && !is_deleting(usage));
    let keeps = all.find(|usage| Record::of(usage).is_some_and(|record| record.of == uid))?;
    let (plural, group) = &written.commit.resource;
    let crd = format!("{plural}.{group}");
    let crd = written
        .state
        .object("customresourcedefinitions", "apiextensions.k8s.io", "", &crd);
    (!crd.is_some_and(is_deleting)).then(|| {
        format!(
            "{} is being deleted, and {} protects it",
            about(begun),
            about(keeps)
        )
    })
}

/// A usage becomes ready once what it is about bears the mark by which its deletion is refused.
pub(super) fn usages_are_ready_with_a_mark(written: &Written) -> Option<String> {
    let commit = written.commit;
    let becomes = commit.resource.0 == "usages" && is_ready(&commit.new) && !is_ready(&commit.old);
    if !becomes || is_deleting(&commit.new) {
        return None;
    }
    let used = state::object_of(written.state, &Record::of(&commit.new)?.of)?.object;
    (!is_in_use(used) && !is_deleting(used))
        .then(|| format!("{} is ready, and {} has no mark", about(&commit.new), about(used)))
}

/// The refusal that a bridge got because something is in use. It names the version that it saw, so that it saw the mark.
pub(super) fn nothing_in_use_is_asked_to_go(
    state: &ClusterState,
    request: &Request,
    code: u16,
) -> Option<String> {
    if request.verb != "delete" || code != 403 {
        return None;
    }
    let (_, object) = state::all_composed(state).find(|(plural, object)| {
        *plural == request.resource
            && text(object, "/metadata/name") == request.name
            && text(object, "/metadata/namespace") == request.namespace
    })?;
    let composed = controller(object).is_some_and(is_composite_kind);
    (composed && is_in_use(object)).then(|| format!("{} is in use", about(object)))
}
