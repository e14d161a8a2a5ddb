//! What of the desired resources is not as it is desired.

use super::{
    context::Context,
    decision::{Change, Deletion},
    desired::ComposedResource,
    digest::Written,
    in_use,
    live::{LiveObject, ObjectState, Ownership},
    plan::Plan,
    present, rules,
};
use crate::rule::Rule;

/// Ours, no longer desired, and to be deleted now.
pub(super) fn obsolete(of: &Context) -> impl Iterator<Item = Deletion> {
    let plan = of.plan.as_ref().filter(|_| in_use::unlisted(of).is_none());
    let obsolete = plan.into_iter().flat_map(|plan| &plan.obsolete);
    obsolete.filter_map(|(id, reference)| {
        let object = of
            .object(id)
            .filter(|object| rules::may_delete(of.snapshot, of.memory, object))
            .filter(|object| in_use::usage_of(of, id, object).is_none())?;
        Some(Deletion::of(id.clone(), reference, object))
    })
}

/// Desired, and not there.
pub(super) fn missing<'c>(of: &'c Context) -> impl Iterator<Item = (&'c str, &'c ComposedResource)> {
    let composable = of.plan.iter().flat_map(Plan::composable);
    composable.filter(|(_, resource)| is_missing(of, resource))
}

/// The same of one that can be composed.
pub(super) fn is_missing(of: &Context, resource: &ComposedResource) -> bool {
    match of.seen(&resource.id) {
        Some(ObjectState::Absent) => true,
        // Our last write added its reference: nothing of it was ever created, and a create touches nothing that exists.
        Some(ObjectState::Unknown(_)) | None => {
            of.memory.added.contains(&resource.id) || Rule::CreateFollowsItsReference.is_off()
        }
        Some(ObjectState::Exists(_) | ObjectState::KindGone) => false,
    }
}

/// Its last write failed, or did not stay, and it is neither time for another one nor something else is desired.
pub(super) fn is_held_back(of: &Context, name: &str, resource: &ComposedResource) -> bool {
    let disputed = rules::disputed(of.snapshot, of.memory, resource);
    let waits = disputed.and_then(|one| one.waits(&resource.digest(), of.snapshot.now));
    if waits.is_some() {
        return true;
    }
    of.memory
        .failures
        .get(name)
        .is_some_and(|failed| failed.desired == resource.digest() && of.snapshot.now < failed.retry_at)
}

/// The change that brings an object that exists to what is desired; `None`: there is none to make, or it may not be made.
pub(super) fn change(of: &Context, name: &str, resource: &ComposedResource) -> Option<Change> {
    let object = of.object(&resource.id)?;
    if object.is_deleting() {
        return None;
    }
    let adopts = match object.ownership(of.snapshot.xr.uid()) {
        Ownership::Uncontrolled if rules::may_adopt(object, name) => true,
        Ownership::Uncontrolled | Ownership::Foreign => return None,
        Ownership::Ours => false,
    };
    let mark = object.mark();
    let as_desired = mark.as_ref().is_some_and(|mark| mark.digest == resource.digest());
    if as_desired && !adopts && is_present(of, object, resource) {
        return None;
    }
    Some(Change {
        resource: resource.clone(),
        uid: object.uid().to_owned(),
        resource_version: if Rule::ChangeNamesVersion.is_off() {
            String::new()
        } else {
            object.resource_version().to_owned()
        },
        convert: !mark.is_some_and(|mark| mark.written == Written::Applied),
        adopts,
    })
}

/// Every desired field is there, or is what the API server made of it before.
fn is_present(of: &Context, object: &LiveObject, resource: &ComposedResource) -> bool {
    let differences = present::differences(&resource.body, object.object());
    differences.is_empty()
        || of
            .memory
            .altered
            .get(object.uid())
            .is_some_and(|known| *known == differences && !Rule::AlteredIsNotFought.is_off())
}
