//! What goes, and in which order.

use std::time::Duration;

use fake_kube::state::{ClusterState, EventKind};
use serde_json::Value;

use super::{DEFINITIONS, Written, about};
use crate::simulation::{
    compositions::{
        manifests::{GROUP, Kind},
        state::{self, claim_of, condition, controller, is_composite_kind, is_deleting, is_orphaning},
        trouble::resource_name,
    },
    invariants::{annotation, text},
};

/// A bridge deletes what a composite resource or a claim of its kinds owns, or what a definition that is being deleted defines, and nothing else.
pub(super) fn nothing_foreign_is_deleted(written: &Written) -> Option<String> {
    let (_, object) = written.deleted()?;
    let (plural, group) = &written.commit.resource;
    if plural == DEFINITIONS {
        return Some(format!("{} was deleted", about(object)));
    }
    if group == GROUP {
        return foreign_composite(written, object);
    }
    if is_of_the_guard(object) {
        return None;
    }
    let owned =
        controller(object).is_some_and(|owner| is_composite_kind(owner) || state::is_claim_kind(owner));
    (!owned).then(|| format!("{} belongs to another owner, and was deleted", about(object)))
}

/// Its own, by which it tries the guard.
fn is_of_the_guard(object: &Value) -> bool {
    text(object, "/metadata/labels/crossplane.io~1composite").is_empty()
        && text(object, "/metadata/name").starts_with("crossbridge-")
}

fn foreign_composite(written: &Written, object: &Value) -> Option<String> {
    let claim = text(object, "/spec/claimRef/name");
    let owner = controller(object).and_then(|owner| owner["uid"].as_str());
    let plural = &written.commit.resource.0;
    if owner.is_some_and(|uid| state::composite(written.state, uid).is_some()) {
        return None;
    }
    if claim.is_empty() {
        // Those without a claim are the definition's to delete; of the others the claims go first.
        let is_definitions = state::is_definition_deleting(written.state, plural);
        return (!is_definitions).then(|| format!("{} has no claim, and was deleted", about(object)));
    }
    let mut claims = written.state.all(Kind::Purchase.plural(), GROUP);
    let lives = claims.any(|found| text(found, "/metadata/name") == claim && !is_deleting(found));
    // Its successor, which names another composite resource, is no reason to keep it.
    let is_its = claims_name(written.state, claim) == text(object, "/metadata/name");
    (lives && is_its).then(|| format!("{} was deleted, and its claim lives", about(object)))
}

/// The composite resource that the claim of this name refers to.
fn claims_name<'a>(state: &'a ClusterState, claim: &str) -> &'a str {
    let mut claims = state.all(Kind::Purchase.plural(), GROUP);
    let found = claims.find(|found| text(found, "/metadata/name") == claim);
    found.map_or("", |found| text(found, "/spec/resourceRef/name"))
}

/// No deletion could hit a successor, or what somebody has changed since.
pub(super) fn deletions_are_guarded(written: &Written) -> Option<String> {
    let (request, object) = written.asked_to_go()?;
    let lacks = match () {
        () if !request.names_uid => "uid",
        () if !request.names_version && !is_of_the_guard(object) => "version",
        () => return None,
    };
    Some(format!("{} was deleted without its {lacks}", about(object)))
}

/// Until a watch has shown a change, and what was decided before has been carried out.
const ON_ITS_WAY: Duration = Duration::from_secs(1);

/// A composite resource says that it is being deleted before anything goes. What goes with its own definition goes whatever this one says: seed
/// 70000794 had it deleted while nobody led.
pub(super) fn deleting_is_seen_first(written: &Written) -> Option<String> {
    let (request, object) = written.deleted()?;
    let owner = controller(object).filter(|owner| is_composite_kind(owner))?;
    let uid = owner["uid"].as_str()?;
    let composite = state::composite(written.state, uid).filter(|composite| is_deleting(composite))?;
    let began = state::deletion_began(written.state, uid)?;
    // It was sent before the composite resource was deleted.
    if request.revision < began
        || went_for_another_reason(written, composite, object)
        || is_replayed(written, composite, began, object)
    {
        return None;
    }
    let is_definitions = state::is_definition_deleting(written.state, &written.commit.resource.0);
    let seen = condition(composite, "Ready");
    (!is_definitions && seen != ("False", "Deleting")).then(|| {
        format!(
            "{} was deleted while its composite resource says {seen:?}",
            about(object)
        )
    })
}

/// It may be composed no more, which was decided before the news came that a bridge has deleted the composite resource.
fn went_for_another_reason(written: &Written, composite: &Value, object: &Value) -> bool {
    let deleted = text(composite, "/metadata/uid");
    let deleted = written.deleted.get(deleted);
    deleted.is_some_and(|at| written.commit.at.duration_since(*at).unsigned_abs() < ON_ITS_WAY)
        && !state::is_always_desired(written.state, composite, resource_name(object))
}

/// In the foreground the collector deletes what the composite resource owns. It is refused what is in use, and a usage that goes repeats that
/// deletion.
fn is_replayed(written: &Written, composite: &Value, began: u64, object: &Value) -> bool {
    let finalizers = composite["metadata"]["finalizers"].as_array();
    let mut finalizers = finalizers.into_iter().flatten();
    finalizers.any(|one| one == "foregroundDeletion")
        && state::was_released_after(written.state, began, object)
}

/// A claim says that it is being deleted before its composite resource goes.
pub(super) fn claims_say_deleting_first(written: &Written) -> Option<String> {
    let (_, object) = written.deleted()?;
    let uid = claim_of(object)?;
    let mut claims = written.state.all(Kind::Purchase.plural(), GROUP);
    let claim = claims.find(|claim| text(claim, "/metadata/uid") == uid)?;
    let seen = condition(claim, "Ready");
    (is_deleting(claim) && seen != ("False", "Deleting"))
        .then(|| format!("{} was deleted while its claim says {seen:?}", about(object)))
}

/// A claim goes after its composite resource; where parents vanish, once the deletion of that has begun.
pub(super) fn a_claim_goes_last(written: &Written) -> Option<String> {
    let gone = written.gone()?;
    if written.commit.resource.0 != Kind::Purchase.plural() {
        return None;
    }
    let uid = text(gone, "/metadata/uid");
    let mut all = state::composites(written.state);
    let left = all.find(|composite| {
        claim_of(composite) == Some(uid) && !(written.vanishing_parents && is_deleting(composite))
    });
    left.map(|left| format!("{} is gone, and {} is left", about(gone), about(left)))
}

/// A composite resource goes after all that it composed; where parents vanish, once the deletion of all that is not in use has begun.
pub(super) fn the_finalizer_goes_last(written: &Written) -> Option<String> {
    let gone = written.gone()?;
    if written.commit.resource.1 != GROUP {
        return None;
    }
    let uid = text(gone, "/metadata/uid");
    let may_be_left = |object: &Value| {
        // Who starts then knows of nothing of that kind: the collector deletes it.
        if written.sender.is_starting && written.removed.has(gone, object) {
            return true;
        }
        // The mark may have been taken off since the bridge saw it.
        let is_kept = || state::was_in_use(written.state, object) || state::has_usage(written.state, object);
        written.vanishing_parents && (is_deleting(object) || is_kept())
    };
    let mut all = state::composed(written.state);
    let left = all.find(|(object, owner)| *owner == uid && !may_be_left(object));
    left.map(|(left, _)| format!("{} is gone, and {} is left", about(gone), about(left)))
}

/// However long it takes, a bridge lets go of nothing that it composed, but what a person releases. Who takes that back may be too late: seed 80000439.
pub(super) fn nothing_is_abandoned(written: &Written) -> Option<String> {
    let commit = written.commit;
    if commit.happened != EventKind::Modified || written.request.is_none() {
        return None;
    }
    let owner = controller(&commit.old).filter(|owner| is_composite_kind(owner))?;
    if controller(&commit.new).is_some_and(|now| now["uid"] == owner["uid"]) {
        return None;
    }
    let uid = text(&commit.old, "/metadata/uid");
    let all = format!("all/{}", owner["uid"].as_str()?);
    let releases = |composite: &Value| {
        let mut released = annotation(composite, "crossbridge.dev/release")
            .split(',')
            .map(str::trim);
        released.any(|one| one == uid || one == all)
    };
    let mut history = written.state.history.iter().rev();
    let is_released = history.any(|was| was.new["metadata"]["uid"] == owner["uid"] && releases(&was.new));
    (!is_released).then(|| format!("{} was let go, and nobody has released it", about(&commit.old)))
}

/// What a person orphans is not deleted. What was to go before, as it is composed no more, may still go.
pub(super) fn nothing_is_deleted_that_is_orphaned(written: &Written) -> Option<String> {
    let (request, object) = written.deleted()?;
    let owner = controller(object).filter(|owner| is_composite_kind(owner))?;
    let uid = owner["uid"].as_str()?;
    let composite = state::composite(written.state, uid)?;
    let was_sent_before =
        state::orphaning_began(written.state, uid).is_some_and(|began| request.revision < began);
    let orphaned = is_orphaning(composite)
        && !was_sent_before
        && state::is_always_desired(written.state, composite, resource_name(object));
    orphaned.then(|| {
        format!(
            "{} was deleted, and {} orphans it",
            about(object),
            about(composite)
        )
    })
}

/// A definition goes after all that it defines, and after its CRDs.
pub(super) fn a_definition_goes_last(written: &Written) -> Option<String> {
    let gone = written.gone()?;
    if written.commit.resource.0 != DEFINITIONS {
        return None;
    }
    let plurals = ["/spec/names/plural", "/spec/claimNames/plural"].map(|pointer| text(gone, pointer));
    plurals
        .into_iter()
        .filter(|plural| !plural.is_empty())
        .find_map(|plural| {
            let group = text(gone, "/spec/group");
            if let Some(left) = written.state.all(plural, group).next() {
                return Some(format!("{} is gone, and {} is left", about(gone), about(left)));
            }
            let crd = format!("{plural}.{group}");
            let crd = written
                .state
                .object("customresourcedefinitions", "apiextensions.k8s.io", "", &crd)?;
            let is_its = controller(crd).is_some_and(|owner| owner["uid"] == gone["metadata"]["uid"]);
            is_its.then(|| format!("{} is gone, and its CRD {} is left", about(gone), about(crd)))
        })
}
