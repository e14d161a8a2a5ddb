//! Replacement: a resource is deleted, upon a person's approval, so that another one takes its place (traces 51, 52).

use crate::external::Observation;
use crate::reasons::{NormalEvent, StopReason};
use crate::rule::Rule;

use super::{
    context::{Annotations, ReconcileContext},
    decision::{Decision, Event},
    delete,
    existing::in_sync_report,
    last_observation::LastObservation,
    names,
    record::{Record, Replacement},
    report::Report,
    snapshot::Snapshot,
};

/// Replaces what differs in fields that no Update changes, if a person approves.
pub(super) fn replace(
    ctx: &ReconcileContext,
    record: &Record,
    last_observation: &LastObservation,
    observation: &Observation,
    fields: &str,
) -> Decision {
    let snapshot = ctx.snapshot;
    let policies = &snapshot.managed.policies;
    let capabilities = &snapshot.kind.capabilities;
    if !capabilities.can_delete || !capabilities.can_create {
        return forbidden(
            ctx,
            observation,
            &format!(
                "{fields} cannot be changed in place, and resources of this kind cannot be replaced; change the fields back"
            ),
        );
    }
    if !policies.delete || !policies.create {
        return forbidden(
            ctx,
            observation,
            &format!(
                "{fields} cannot be changed in place, and managementPolicies do not allow to replace the resource; change the fields back"
            ),
        );
    }
    if has_begun(snapshot, record, observation) {
        return delete::replace(ctx, observation, last_observation.began);
    }
    if is_approved(snapshot, record) {
        return begin(ctx, record, observation, fields);
    }
    stop(
        ctx,
        observation,
        StopReason::ReplacementRequired,
        format!(
            "{fields} cannot be changed in place; change back, or annotate {}={} to delete the resource and create another",
            names::APPROVE_REPLACEMENT,
            awaited_approval(snapshot, record)
        ),
    )
}

/// One write uses the approval up and records what it is used for: whoever comes after goes on with it, and with nothing else (trace 51).
fn begin(ctx: &ReconcileContext, record: &Record, observation: &Observation, fields: &str) -> Decision {
    let mut new = record.clone();
    new.replacement = Some(Replacement {
        replaces: Some(observation.canonical_id.clone()),
        ..use_approval(ctx.snapshot, record)
    });
    let annotations = [(names::APPROVE_REPLACEMENT.to_owned(), None)].into();
    let message = format!(
        "{:?} is deleted, as approved, so that another one takes its place: {fields} cannot be changed in place",
        record.external_name
    );
    ctx.write_record("begin the approved replacement", &new, annotations)
        .telling(Some(Event::normal(
            NormalEvent::ReplacingExternalResource,
            &message,
        )))
}

/// The named stop where nothing is replaced, whoever approves.
pub(super) fn forbidden(ctx: &ReconcileContext, observation: &Observation, message: &str) -> Decision {
    stop(
        ctx,
        observation,
        StopReason::ReplacementForbidden,
        message.to_owned(),
    )
}

fn stop(ctx: &ReconcileContext, observation: &Observation, reason: StopReason, message: String) -> Decision {
    let shown = Report {
        synced: None,
        ..in_sync_report(ctx, observation)
    };
    ctx.stop_with(shown, reason, message)
}

/// Nothing is to be replaced: an approval would be acted upon whenever a field drifts, months later, and is used up.
pub(super) fn resolve_intent(snapshot: &Snapshot, new: &mut Record, annotations: &mut Annotations) {
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
fn awaited_approval(snapshot: &Snapshot, record: &Record) -> String {
    let generation = snapshot.managed.generation;
    match approvals_used(snapshot, record) {
        0 => generation.to_string(),
        used => format!("{generation}-{used}"),
    }
}

/// A person has approved that the resource is replaced, and that is not used up.
fn is_approved(snapshot: &Snapshot, record: &Record) -> bool {
    let awaited = if Rule::ApprovalIsUsedOnce.is_off() {
        snapshot.managed.generation.to_string()
    } else {
        awaited_approval(snapshot, record)
    };
    snapshot.managed.annotation(names::APPROVE_REPLACEMENT) == awaited
}

/// One approval more is used up.
fn use_approval(snapshot: &Snapshot, record: &Record) -> Replacement {
    Replacement {
        generation: snapshot.managed.generation,
        approvals: approvals_used(snapshot, record).saturating_add(1),
        replaces: None,
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

/// What the record of another resource keeps of the approvals.
pub(super) fn used_approvals(snapshot: &Snapshot, record: Option<&Record>) -> Option<Replacement> {
    let used = record?.replacement.clone();
    let used = used.filter(|used| used.generation == snapshot.managed.generation)?;
    Some(Replacement {
        replaces: None,
        ..used
    })
}
