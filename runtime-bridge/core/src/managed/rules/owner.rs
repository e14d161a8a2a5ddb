//! Whose an external resource is.

use super::recorded::bound;
use crate::managed::{
    diff::differences_by_rules,
    last_observation::ObservedState,
    names,
    reconcile_memory::ReconcileMemory,
    record::{Record, Stored},
    snapshot::{Managed, Snapshot},
};
use crate::{
    external::{Document, Observation},
    kind::{CreateRecovery, Kind, NameSource},
    rule::Rule,
};

/// Whose is it?
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ownership {
    /// Bears our marker.
    Owned,
    /// Bears a marker that a person has said is ours too.
    FormerlyOwned,
    /// Bears none, or the kind holds none.
    Unmarked,
    /// Bears another's.
    Foreign(String),
}

/// Reads the marker.
pub fn ownership(snapshot: &Snapshot, observation: &Observation) -> Ownership {
    match observation.found_marker.as_str() {
        "" => Ownership::Unmarked,
        marker if marker == snapshot.marker => Ownership::Owned,
        marker if marker == snapshot.former_marker() => Ownership::FormerlyOwned,
        marker => Ownership::Foreign(marker.to_owned()),
    }
}

/// By what right an object has an external resource; the greater goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OwnershipClaim {
    /// It is making one of this name.
    Intent,
    /// Its record says so, and is confirmed.
    Record,
    /// The resource bears its marker.
    Marker,
}

/// By what right the object has what was found; `None`: by none, whoever looked first.
pub fn ownership_claim(snapshot: &Snapshot, observation: &Observation) -> Option<OwnershipClaim> {
    if ownership(snapshot, observation) == Ownership::Owned {
        return Some(OwnershipClaim::Marker);
    }
    claim_by_record(&snapshot.managed, &observation.external_name)
}

/// What an object's record says of this name: it has the resource, or is making it, and may have made it (trace 40).
pub fn claim_by_record(managed: &Managed, name: &str) -> Option<OwnershipClaim> {
    let stored = managed.record();
    let record = match &*stored {
        Stored::Owned(record) => record,
        Stored::None => return None,
        // It may hold any right, and nothing is done for this object before that is known.
        Stored::Unreadable(_) => {
            let is_named = managed.annotation(names::EXTERNAL_NAME) == name;
            return is_named.then_some(OwnershipClaim::Record);
        }
    };
    if record.external_name != name {
        return None;
    }
    if managed.confirms(record) {
        return Some(OwnershipClaim::Record);
    }
    let creates = record.create().is_some() && !record.name_conflict;
    (creates && !Rule::OthersCreationIsNotAdopted.is_off()).then_some(OwnershipClaim::Intent)
}

/// The other object's record names the same resource, by no lesser right than ours: it has it, or both are making it, and nobody can tell whose
/// it is (trace 45). Looks alone know more where the resource bears a marker.
pub fn is_conflicting(other: &Managed, name: &str, ours: Option<OwnershipClaim>) -> bool {
    let theirs = claim_by_record(other, name);
    let is_greater = theirs > ours || theirs == ours && !Rule::NeitherOfTwoCreators.is_off();
    theirs.is_some() && is_greater && ours < Some(OwnershipClaim::Record)
}

/// Two desired states that agree in all that cannot be changed speak of the same place, as far as one can tell: in another region, for instance, the same
/// name is another's.
pub fn denote_same_resource(kind: &Kind, one: &Document, other: &Document) -> bool {
    Rule::FixedFieldsSeparate.is_off() || !is_apart(kind, one, other) && !is_apart(kind, other, one)
}

/// The fact differs from what is desired in what cannot be changed.
fn is_apart(kind: &Kind, desired: &Document, fact: &Document) -> bool {
    !fixed_differences(kind, desired, fact).is_empty()
}

/// Paths of the fields that cannot be changed, and in which the fact differs from what is desired.
fn fixed_differences(kind: &Kind, desired: &Document, fact: &Document) -> Vec<String> {
    let differences = differences_by_rules(&kind.parameters_schema, &kind.field_rules, desired, fact);
    let fixed = differences
        .into_iter()
        .filter(|difference| difference.needs_replacement);
    fixed.map(|difference| difference.path).collect()
}

/// What was found is the other's, whatever this one asks for: it agrees with all that the other fixes, of which this one fixes something otherwise or not
/// at all. But what this one fixes, finds so, and the other leaves open may be a place: the other's is elsewhere then.
pub fn is_found_of_other(kind: &Kind, ours: &Document, other: &Document, found: &Document) -> bool {
    let fixed = |desired, fact| fixed_differences(kind, desired, fact);
    let beyond_found = fixed(ours, found);
    let is_elsewhere = || fixed(ours, other).iter().any(|path| !beyond_found.contains(path));
    !Rule::FoundIsTheOthers.is_off()
        && fixed(other, found).is_empty()
        && !fixed(other, ours).is_empty()
        && !is_elsewhere()
}

/// The name of what this object is about to make, where it is known beforehand: as long as nothing of it is recorded.
pub fn name_to_create(snapshot: &Snapshot, memory: &ReconcileMemory) -> Option<String> {
    let managed = &snapshot.managed;
    let makes =
        managed.policies.create && snapshot.kind.capabilities.can_create && managed.deletion.is_none();
    let recorded = match &*managed.record() {
        Stored::Owned(record) => bound(snapshot, record),
        Stored::None => false,
        Stored::Unreadable(_) => true,
    };
    if !makes || recorded {
        return None;
    }
    let Some(ObservedState::Absent(absent)) = memory.observed.last_state() else {
        return None;
    };
    let annotated = managed.annotation(names::EXTERNAL_NAME);
    match snapshot.kind.external_name.source {
        NameSource::User if annotated.is_empty() => Some(managed.name.clone()),
        NameSource::User => Some(annotated.to_owned()),
        NameSource::Derived => Some(absent.external_name.clone()).filter(|name| !name.is_empty()),
        NameSource::Provider => None,
    }
}

/// Another object of ours has what was found, and it does not bear our marker.
pub fn conflicting_object<'w>(snapshot: &'w Snapshot, observation: &Observation) -> Option<&'w str> {
    let unmarked = ownership(snapshot, observation) != Ownership::Owned;
    snapshot.conflicting_object.as_deref().filter(|_| unmarked)
}

/// Taken from under our create: not ours until it bears our marker, or a person says so (trace 17).
pub fn needs_confirmation(snapshot: &Snapshot, record: Option<&Record>, observation: &Observation) -> bool {
    let word = snapshot.managed.annotation(names::ADOPT);
    let said = !word.is_empty() && (word == observation.found_marker || word == observation.external_name);
    let name_conflict = record.is_some_and(|record| record.name_conflict);
    !Rule::ConflictIsRecorded.is_off()
        && name_conflict
        && !said
        && ownership(snapshot, observation) != Ownership::Owned
}

/// An unmarked resource under the recorded name is ours while our create of it is unanswered, unless the creating request would have
/// marked it (traces 20, 21, 27).
pub fn unmarked_is_owned(snapshot: &Snapshot, record: &Record) -> bool {
    let is_free = Rule::ConflictOfRepeatIsRecorded.is_off() || !record.name_conflict;
    let bears_none = Rule::UnmarkedIsNotOurWork.is_off() || !snapshot.recovers_by(CreateRecovery::Marker);
    record.create().is_some() && is_free && bears_none
}

/// What was found can be what our unanswered create has made. What only a person says is ours was there before: it is adopted when nothing of
/// the create can come any more (trace 36).
pub fn may_be_its_work(snapshot: &Snapshot, record: &Record, observation: &Observation) -> bool {
    match ownership(snapshot, observation) {
        Ownership::Owned => true,
        Ownership::Unmarked => unmarked_is_owned(snapshot, record),
        Ownership::FormerlyOwned | Ownership::Foreign(_) => Rule::AdoptedIsNotOurWork.is_off(),
    }
}

/// What a person's word to adopt says instead of what is asked for, behind the question; empty: there is none.
pub fn why_not_adopted(snapshot: &Snapshot) -> String {
    match snapshot.managed.annotation(names::ADOPT) {
        "" => String::new(),
        given => format!("; the annotation says {given:?}"),
    }
}

/// Why what was found is another's, and what to do; `None`: it is not, as far as one can tell.
pub fn foreign_owner(snapshot: &Snapshot, observation: &Observation) -> Option<String> {
    let name = &observation.external_name;
    if let Ownership::Foreign(marker) = ownership(snapshot, observation) {
        return Some(format!(
            "{name:?} is owned by another object (marker {marker}); if that object is gone for good, annotate {}={marker}{}",
            names::ADOPT,
            why_not_adopted(snapshot)
        ));
    }
    let conflicting_object = conflicting_object(snapshot, observation)?;
    Some(format!(
        "{name:?} is already managed by {conflicting_object}; delete this object, which leaves the resource to the other, or give it a name of its own"
    ))
}
