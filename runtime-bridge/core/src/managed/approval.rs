//! Approvals of replacements: what a person must write, and what is used up.

use crate::external::Observation;
use crate::rule::Rule;

use super::{
    decision::AnnotationChanges,
    names,
    record::{Record, Replacement},
    snapshot::Snapshot,
};

/// Nothing is to be replaced: an approval would be acted upon whenever a field drifts, months later, and is used up.
pub(super) fn end_replacement(snapshot: &Snapshot, new: &mut Record, annotations: &mut AnnotationChanges) {
    if let Some(replacement) = &mut new.replacement
        && !Rule::ReplacementEnds.is_off()
    {
        replacement.replaces = None;
    }
    if is_approved(snapshot, new) && !Rule::UnaskedApprovalIsUsedUp.is_off() {
        new.replacement = Some(use_approval(snapshot, new));
        annotations.insert(names::APPROVE_REPLACEMENT.to_owned(), None);
    }
}

/// Approvals of this generation's replacements that count no more.
fn approvals_used(snapshot: &Snapshot, record: &Record) -> u32 {
    let used = record.replacement.as_ref();
    let used = used.filter(|used| used.generation == snapshot.managed.generation);
    used.map_or(0, |used| used.approvals)
}

/// What [`names::APPROVE_REPLACEMENT`] must hold to have the resource replaced: the generation, and how many approvals of that are used up, if
/// any. Each is good for one replacement (trace 51), also where it is applied again from a manifest.
pub(super) fn awaited(snapshot: &Snapshot, record: &Record) -> String {
    let generation = snapshot.managed.generation;
    match approvals_used(snapshot, record) {
        0 => generation.to_string(),
        used => format!("{generation}-{used}"),
    }
}

/// Why the approval that a person has written does not count, behind what is asked for; empty: there is none.
pub(super) fn why_not_approved(snapshot: &Snapshot, record: &Record) -> String {
    let given = snapshot.managed.annotation(names::APPROVE_REPLACEMENT);
    let generation = snapshot.managed.generation;
    match approvals_used(snapshot, record) {
        _ if given.is_empty() => String::new(),
        0 => format!("; the annotation says {given:?}, the generation is {generation}"),
        used => format!(
            "; the annotation says {given:?}, and {used} approval(s) of generation {generation} are used up"
        ),
    }
}

/// A person has approved that the resource is replaced, and that is not used up.
pub(super) fn is_approved(snapshot: &Snapshot, record: &Record) -> bool {
    let awaited = if Rule::ApprovalIsUsedOnce.is_off() {
        snapshot.managed.generation.to_string()
    } else {
        awaited(snapshot, record)
    };
    snapshot.managed.annotation(names::APPROVE_REPLACEMENT) == awaited
}

/// One approval more is used up.
pub(super) fn use_approval(snapshot: &Snapshot, record: &Record) -> Replacement {
    let former = record.replacement.as_ref();
    Replacement {
        generation: snapshot.managed.generation,
        approvals: approvals_used(snapshot, record).saturating_add(1),
        replaces: None,
        unknown: former.map(|former| former.unknown.clone()).unwrap_or_default(),
    }
}

/// What was observed is being deleted so that another one takes its place. A spec that was changed meanwhile is another question, and so is
/// what has taken its name.
pub(super) fn has_begun(snapshot: &Snapshot, record: &Record, observation: &Observation) -> bool {
    let replacement = record.replacement.as_ref();
    let approved = replacement.filter(|one| {
        one.generation == snapshot.managed.generation || Rule::ReplacementOfItsGeneration.is_off()
    });
    let replaces = approved.and_then(|one| one.replaces.as_ref());
    replaces.is_some_and(|id| is_same(id, &observation.canonical_id))
}

fn is_same(recorded: &str, observed: &str) -> bool {
    let is_known = !recorded.is_empty() && !observed.is_empty();
    !is_known || recorded == observed || Rule::ReplacementOfItsResource.is_off()
}

/// What the record of another resource keeps of the approvals. Those of another generation say nothing, but what a newer bridge has noted stays.
pub(super) fn used_approvals(snapshot: &Snapshot, record: Option<&Record>) -> Option<Replacement> {
    let used = record?.replacement.clone();
    let used =
        used.filter(|used| used.generation == snapshot.managed.generation || !used.unknown.is_empty())?;
    Some(Replacement {
        replaces: None,
        ..used
    })
}
