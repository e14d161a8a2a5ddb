//! The rules that keep a claim's composite resource from being lost, taken or duplicated: each a predicate over facts.

use jiff::Timestamp;

use super::{Bond, facts::Facts};
use crate::{composite::ObjectState, rule::Rule};

/// The snapshot shows what the API server held of the claim in this term, and not what a cache had kept from before.
pub(super) fn is_verified(of: &Facts) -> bool {
    of.memory.verified.as_deref() == Some(of.snapshot.claim.resource_version())
        || Rule::ClaimIsVerified.is_off()
}

/// The claim names the composite resource: whatever happens, it is found again.
pub(super) fn is_named(of: &Facts) -> bool {
    of.snapshot.claim.composite() == Some(of.snapshot.name.as_str()) || Rule::ClaimNamesFirst.is_off()
}

/// No other create of it can be under way: nobody but this process has ever known the name, or a look past the caches found nothing.
pub(super) fn is_first_create(of: &Facts) -> bool {
    of.memory.named.as_deref() == Some(of.snapshot.name.as_str())
        || of.memory.looked_for(&of.snapshot.name).is_some()
        || Rule::RepeatedCreateLooksFirst.is_off()
}

/// It may be deleted with the claim: the claim bound it, and nothing uses it. Of who bound it before, whatever the name, it is another's.
pub(super) fn may_delete(of: &Facts) -> bool {
    // A label without a usage protects nothing that the bridge knows of: if a guard heeds it, it says so.
    let is_used = of.snapshot.in_use.is_some() && !Rule::InUseIsNotDeleted.is_off();
    of.ours().is_some_and(|xr| !xr.is_deleting()) && !is_used && unlisted(of).is_none()
}

/// Why it is not known what is in use: until it is, nothing is deleted.
pub(super) fn unlisted<'a>(of: &Facts<'a>) -> Option<&'a str> {
    if Rule::UsagesAreKnownFirst.is_off() {
        return None;
    }
    of.snapshot.unknown_usages.as_deref()
}

/// Until when a create of it that was sent, by whomever, may still land.
pub(super) fn creates_end(of: &Facts) -> Option<Timestamp> {
    if Rule::ClaimOutlivesCreates.is_off() {
        return None;
    }
    let settings = &of.snapshot.settings;
    let (began, late, skew) = (of.snapshot.term_began, settings.late_create, settings.clock_skew);
    let own = of.memory.lost_create.map(|at| at + late);
    // Nobody else can have sent one for a claim that was created after this process began to lead; two clocks are compared.
    let is_older = of
        .snapshot
        .claim
        .created()
        .is_none_or(|created| created < began + skew);
    // Whoever sends one has looked first: none was sent after it was there.
    let others = is_older.then(|| {
        of.memory
            .created
            .map_or(began, |created| began.min(created + skew))
            + late
    });
    own.max(others)
}

/// Nothing exists that is the claim's, and nothing can come any more.
pub(super) fn is_gone_for_good(of: &Facts) -> bool {
    match &of.snapshot.xr {
        ObjectState::KindGone => true,
        ObjectState::Unknown(_) => false,
        ObjectState::Exists(_) if of.bond == Some(Bond::Ours) => false,
        ObjectState::Exists(_) | ObjectState::Absent => {
            let end = creates_end(of);
            let counts = |looked: Timestamp| end.is_none_or(|end| looked >= end);
            of.memory.looked_for(&of.snapshot.name).is_some_and(counts) || Rule::ClaimOutlivesCreates.is_off()
        }
    }
}
