//! The rules of a definition's end: each a predicate over what is seen.

use super::{Crd, Instance, Objects, Seen, Side, Unlisted};
use crate::{composite::names::ORPHAN_FINALIZER, rule::Rule};

/// Which side goes first: a claim deletes its composite resource by its own policy, and nothing creates that anew meanwhile.
pub(super) fn order() -> [Side; 2] {
    if Rule::ClaimsGoBeforeComposites.is_off() {
        [Side::Composite, Side::Claim]
    } else {
        [Side::Claim, Side::Composite]
    }
}

/// The CRD is this very definition's: another's is neither deleted nor waited for.
pub(super) fn is_own(seen: &Seen, crd: &Crd) -> bool {
    crd.controller.as_deref() == Some(&seen.uid) || Rule::OthersCrdIsLeftAlone.is_off()
}

/// Whoever deletes the definition wants to keep what it controls: the garbage collector lets that go first.
pub(super) fn orphans(seen: &Seen) -> bool {
    seen.finalizers
        .iter()
        .any(|finalizer| finalizer == ORPHAN_FINALIZER)
        && !Rule::OrphaningDefinitionDeletesNothing.is_off()
}

/// Whether objects are left is asked of the API server: a CRD takes all of them with it, past every usage.
pub(super) fn is_unread(objects: &Objects) -> bool {
    matches!(objects, Objects::Watched(left) if left.is_empty()) && !Rule::CrdOutlivesObjects.is_off()
}

/// Whoever reads the definition can see that it ends.
pub(super) fn is_reported(seen: &Seen) -> bool {
    seen.is_reported || Rule::DefinitionDeletionIsSeenFirst.is_off()
}

/// Why it is not known what is in use.
pub(super) fn unlisted(seen: &Seen) -> Option<&Unlisted> {
    seen.unlisted
        .as_ref()
        .filter(|_| !Rule::DefinitionWaitsForUsages.is_off())
}

/// No usage protects the object.
pub(super) fn may_delete(object: &Instance) -> bool {
    object.used_by.is_none() || Rule::InUseOutlivesDefinition.is_off()
}

/// The finalizers stay while a CRD is left: what is created until then has to be served.
pub(super) fn outlives_crds() -> bool {
    !Rule::DefinitionOutlivesCrds.is_off()
}
