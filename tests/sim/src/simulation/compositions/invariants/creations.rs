//! What comes into being, and what is there.

use std::collections::BTreeMap;

use fake_kube::state::{ClusterState, EventKind};
use serde_json::Value;

use super::{RemovedReferences, Written, about};
use crate::simulation::{
    compositions::{
        manifests::{GROUP, Kind, MEDDLED},
        state::{self, claim_of, controller, is_composite_kind, is_deleting, lists},
        trouble::resource_name,
    },
    invariants::{annotation, text},
};

/// A composed object comes into being only once its composite resource lists it.
pub(super) fn references_come_first(written: &Written) -> Option<String> {
    let object = &written.commit.new;
    let owner = controller(object).filter(|owner| is_composite_kind(owner))?;
    if written.commit.happened != EventKind::Added || !state::is_composed(object) {
        return None;
    }
    let (what, uid) = (about(object), owner["uid"].as_str()?);
    let sent = written.request.map_or(u64::MAX - 1, |request| request.revision);
    match state::composite(written.state, uid) {
        // A composite resource that vanishes does not wait for what was sent: the collector deletes what lands late.
        // Nor does the process after the next wait for what a dead one had sent, if it finds that created by the one between; nor does any while the
        // name is somebody else's.
        None if (written.vanishing_parents
            || written.sender.successors > 1
                && state::existed_since(written.state, sent, written.commit)
            || state::was_taken_since(written.state, sent, written.commit))
            && was_sent_before_its_end(written, uid)
            && state::was_listed(written.state, uid, object) =>
        {
            None
        }
        None => Some(format!(
            "{what} was created for a composite resource that is gone"
        )),
        Some(composite) if !lists(composite, object) && !written.removed.has(composite, object) => {
            Some(format!("{what} was created and is in no references"))
        }
        Some(_) => None,
    }
}

fn was_sent_before_its_end(written: &Written, composite: &str) -> bool {
    let began = state::deletion_began(written.state, composite);
    written
        .request
        .zip(began)
        .is_some_and(|(request, began)| request.revision < began)
}

/// A composite resource comes into being only once its claim refers to it.
pub(super) fn claims_refer_first(written: &Written) -> Option<String> {
    let object = &written.commit.new;
    if written.commit.happened != EventKind::Added || text(object, "/spec/claimRef/name").is_empty() {
        return None;
    }
    let uid = claim_of(object).unwrap_or_default();
    let what = about(object);
    let mut claims = written.state.all(Kind::Purchase.plural(), GROUP);
    match claims.find(|claim| text(claim, "/metadata/uid") == uid) {
        None => Some(format!("{what} was created for a claim that is gone")),
        Some(claim) if text(claim, "/spec/resourceRef/name") != text(object, "/metadata/name") => Some(
            format!("{what} was created, and {} does not refer to it", about(claim)),
        ),
        Some(_) => None,
    }
}

/// Of what a claim says of the machinery nothing arrives at its composite resource.
pub(super) fn machinery_does_not_cross(written: &Written) -> Option<String> {
    let object = &written.commit.new;
    if written.commit.resource.0 != Kind::Purchase.composite_plural() || written.request.is_none() {
        return None;
    }
    let is_meddled = |value: &Value| value.to_string().contains(MEDDLED);
    let ours = object["metadata"]["annotations"].as_object();
    let mut ours = ours.into_iter().flatten();
    let in_annotations = ours.any(|(key, value)| key.starts_with("crossbridge.dev/") && is_meddled(value));
    let composite = text(object, "/metadata/labels/crossplane.io~1composite");
    let is_wrong = in_annotations
        || !["", text(object, "/metadata/name")].contains(&composite)
        || ["claimRef", "resourceRefs"]
            .into_iter()
            .any(|field| is_meddled(&object["spec"][field]));
    is_wrong.then(|| format!("{} has what its claim says of the machinery", about(object)))
}

/// While another object of its external name is being deleted, none is created beside it. What was deleted after the composite resource that
/// creates it had come into being may go at any moment.
pub(super) fn successors_wait(written: &Written) -> Option<String> {
    let object = &written.commit.new;
    let name = annotation(object, "crossplane.io/external-name");
    let owner = controller(object).filter(|owner| is_composite_kind(owner))?;
    if written.commit.happened != EventKind::Added || name.is_empty() {
        return None;
    }
    let created = state::created(written.state, owner["uid"].as_str()?)?;
    let (plural, group) = &written.commit.resource;
    let mut others = written.state.all(plural, group);
    let former = others.find(|other| {
        annotation(other, "crossplane.io/external-name") == name
            && other["metadata"]["uid"] != object["metadata"]["uid"]
            && is_deleting(other)
            && state::deletion_began(written.state, text(other, "/metadata/uid"))
                .is_some_and(|at| at < created)
    });
    former.map(|former| {
        format!(
            "{} was created while {} of the same external name is being deleted",
            about(object),
            about(former)
        )
    })
}

/// Of two objects under one composition resource name one is being deleted.
pub(super) fn one_per_resource_name(state: &ClusterState, _: &RemovedReferences) -> Option<String> {
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
pub(super) fn all_that_exists_is_referenced(
    state: &ClusterState,
    removed: &RemovedReferences,
) -> Option<String> {
    state::composed(state).find_map(|(object, owner)| {
        let composite = state::composite(state, owner)?;
        (!lists(composite, object) && !removed.has(composite, object))
            .then(|| format!("{} is in no references", about(object)))
    })
}

/// No claim has two composite resources.
pub(super) fn one_composite_per_claim(state: &ClusterState, _: &RemovedReferences) -> Option<String> {
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
