//! The rules that keep composed resources from being lost, taken or duplicated (design 7.3): each a predicate over facts.

use std::{collections::BTreeSet, time::Duration};

use jiff::Timestamp;

use super::{
    Composite, ObjectId,
    desired::ComposedResource,
    live::{ObjectState, Ownership},
    memory::CompositeMemory,
    names,
    reapplication::Reapplication,
    snapshot::{Reservation, Snapshot},
};
use crate::rule::Rule;

/// Without movement, or knowledge, for so long, a deletion is blocked.
pub(super) const STALL: Duration = Duration::from_secs(10);

/// The composite resource, as a write of ours or a live read returned it, lists the reference: a create of it can be found again, whatever happens.
pub(super) fn may_create(snapshot: &Snapshot, memory: &CompositeMemory, id: &ObjectId) -> bool {
    (Rule::CreateNeedsVerification.is_off() || is_verified(snapshot, memory))
        && (Rule::CreateFollowsItsReference.is_off() || lists(&snapshot.xr, id))
}

/// It was created again and again, as somebody else deletes it. Until when it is not created once more; `None`: it may be.
pub(super) fn recreation_waits(
    snapshot: &Snapshot,
    memory: &CompositeMemory,
    id: &ObjectId,
) -> Option<Timestamp> {
    if Rule::RecreationBacksOff.is_off() {
        return None;
    }
    let until = memory.recreations.get(id)?.retry_at;
    (snapshot.now < until).then_some(until)
}

/// The same was applied to it again and again, as it does not stay.
pub(super) fn disputed<'m>(
    snapshot: &Snapshot,
    memory: &'m CompositeMemory,
    resource: &ComposedResource,
) -> Option<&'m Reapplication> {
    let Some(ObjectState::Exists(object)) = snapshot.seen.get(&resource.id) else {
        return None;
    };
    let one = memory.reapplications.get(object.uid())?;
    one.is_disputed(&resource.digest(), snapshot.now).then_some(one)
}

/// The snapshot shows what the API server held in this term, and not what a cache had kept from before.
pub(super) fn is_verified(snapshot: &Snapshot, memory: &CompositeMemory) -> bool {
    memory.verified.as_deref() == Some(snapshot.xr.resource_version())
}

/// What has no owner may have been orphaned, together with a composite resource that is being deleted, which a watch that lags does not show. Whoever orphans
/// it deletes that first: a read that begins after the owner was seen to be gone shows it.
pub(super) fn may_adopt_now(snapshot: &Snapshot, memory: &CompositeMemory, uid: &str) -> bool {
    let read = memory.adoptable.as_ref();
    let is_read =
        read.is_some_and(|(version, uids)| version == snapshot.xr.resource_version() && uids.contains(uid));
    is_read || Rule::OrphanedIsNotAdopted.is_off()
}

/// Uids of what nobody controls.
pub(super) fn uncontrolled(snapshot: &Snapshot) -> BTreeSet<String> {
    let seen = snapshot.seen.values().filter_map(|seen| match seen {
        ObjectState::Exists(object) => Some(object),
        _ => None,
    });
    let uncontrolled = seen.filter(|object| object.ownership(snapshot.xr.uid()) == Ownership::Uncontrolled);
    uncontrolled.map(|object| object.uid().to_owned()).collect()
}

/// The stored references name the object.
pub(super) fn lists(xr: &Composite, id: &ObjectId) -> bool {
    let home = xr.namespace();
    xr.refs.iter().any(|reference| reference.names(id, home))
}

/// Until when a create of it that was sent, by whomever, may still land.
pub(super) fn creates_end(snapshot: &Snapshot, memory: &CompositeMemory, id: &ObjectId) -> Option<Timestamp> {
    if Rule::ReferenceOutlivesCreates.is_off() {
        return None;
    }
    let late = snapshot.settings.late_create;
    let own = memory.lost_creates.get(id).map(|at| *at + late);
    // Nobody else can have sent one for an object that was created after this process began to lead; two clocks are compared.
    let began = snapshot.term_began;
    let is_older = snapshot
        .xr
        .created()
        .is_none_or(|created| created < began + snapshot.settings.clock_skew);
    let others = is_older.then(|| began + late);
    own.max(others)
}

/// Nothing of this name exists that is ours, and nothing can come any more.
pub(super) fn is_gone_for_good(snapshot: &Snapshot, memory: &CompositeMemory, id: &ObjectId) -> bool {
    match snapshot.seen.get(id) {
        Some(ObjectState::KindGone) => true,
        Some(ObjectState::Exists(object)) => object.ownership(snapshot.xr.uid()) == Ownership::Foreign,
        Some(ObjectState::Absent) if Rule::AbsenceIsReadLive.is_off() => {
            creates_end(snapshot, memory, id).is_none_or(|end| snapshot.now >= end)
        }
        Some(ObjectState::Absent) => memory
            .absences
            .get(id)
            .is_some_and(|looked| creates_end(snapshot, memory, id).is_none_or(|end| *looked >= end)),
        Some(ObjectState::Unknown(_)) | None => false,
    }
}

/// Likewise where the composite resource goes, too: what has been created is gone once it is absent.
pub(super) fn is_gone_with_owner(snapshot: &Snapshot, memory: &CompositeMemory, id: &ObjectId) -> bool {
    let was_read = matches!(snapshot.seen.get(id), Some(ObjectState::Absent))
        && memory.absences.contains_key(id)
        && is_creation_complete(snapshot, memory, id);
    was_read || is_gone_for_good(snapshot, memory, id)
}

/// An object that was seen has been created: no create of it is under way any more, as one leader sends one at a time. What a former one may have
/// sent twice, or under a reference that was dropped and added again, is the garbage collector's once its owner is gone. One that this leader
/// created itself, under a reference that its own writes had not added, may have been asked for by the former leader as well, and land again.
pub(super) fn is_creation_complete(snapshot: &Snapshot, memory: &CompositeMemory, id: &ObjectId) -> bool {
    if Rule::CompositeOutlivesCreates.is_off() {
        return true;
    }
    let may_come_again = memory.recreated.contains(id) && creates_end(snapshot, memory, id).is_some();
    memory.seen.contains(id) && !memory.lost_creates.contains_key(id) && !may_come_again
}

/// Another object of its kind and external name is still being deleted: created beside it, what is outside would be deleted with that one.
pub(super) fn reserved_by<'s>(
    snapshot: &'s Snapshot,
    resource: &ComposedResource,
) -> Option<&'s Reservation> {
    if Rule::ExternalNameIsReserved.is_off() {
        return None;
    }
    let name = resource.external_name()?.to_owned();
    let reserved = snapshot.reserved.get(&(resource.id.group_kind(), name))?;
    reserved.iter().find(|one| one.id != resource.id)
}

/// It may be written or deleted: the composite resource controls it.
pub(super) fn is_ours(snapshot: &Snapshot, id: &ObjectId) -> bool {
    matches!(snapshot.seen.get(id), Some(ObjectState::Exists(object)) if object.ownership(snapshot.xr.uid()) == Ownership::Ours)
}

/// It exists, is not being deleted already, and no deletion of it has just failed.
pub(super) fn may_delete(
    snapshot: &Snapshot,
    memory: &CompositeMemory,
    object: &super::live::LiveObject,
) -> bool {
    (!object.is_deleting() || Rule::DeletedOnce.is_off())
        && !memory.holds_deletion(object.uid(), snapshot.now)
}

/// It may be taken over though nobody controls it: it was composed under this composition resource name.
pub(super) fn may_adopt(object: &super::live::LiveObject, resource_name: &str) -> bool {
    let was_composed = Rule::NameIsNoClaim.is_off() || object.resource_name() == Some(resource_name);
    object.controller().is_none() && was_composed
}

/// What is not known is let go with all, but not for a moment, as after a start: what is read then keeps its owner reference no longer, and lives on.
pub(super) fn is_given_up(snapshot: &Snapshot, unknown: Option<(Timestamp, Timestamp)>) -> bool {
    let is_lasting = |(since, _)| snapshot.now >= since + STALL;
    is_released(&snapshot.xr, "") && (unknown.is_some_and(is_lasting) || Rule::ReleaseWaitsToRead.is_off())
}

/// A person lets it go: it is neither deleted nor waited for any more. An object is named by its uid; what cannot be read has none, and goes with all.
pub(super) fn is_released(xr: &Composite, uid: &str) -> bool {
    let asked = xr.annotation(names::RELEASE).unwrap_or_default();
    let mut asked = asked.split(',').map(str::trim);
    asked.any(|asked| match asked.strip_prefix("all/") {
        Some(all) => all == xr.uid(),
        None => !uid.is_empty() && (asked == uid || (!asked.is_empty() && Rule::ReleaseNamesUid.is_off())),
    })
}

/// What the annotation names, and is the uid of nothing that exists here.
pub(super) fn unmatched_releases(snapshot: &Snapshot) -> Vec<&str> {
    let asked = snapshot.xr.annotation(names::RELEASE).unwrap_or_default();
    let asked = asked.split(',').map(str::trim).filter(|asked| !asked.is_empty());
    let exists = |uid: &str| {
        let is_it = |seen: &ObjectState| matches!(seen, ObjectState::Exists(object) if object.uid() == uid);
        snapshot.seen.values().any(is_it)
    };
    asked
        .filter(|asked| match asked.strip_prefix("all/") {
            Some(all) => all != snapshot.xr.uid(),
            None => !exists(asked),
        })
        .collect()
}

/// The garbage collector takes the owner references off: nothing is deleted.
pub(super) fn orphans(xr: &Composite) -> bool {
    xr.has_finalizer(names::ORPHAN_FINALIZER) && !Rule::OrphansAreNotDeleted.is_off()
}
