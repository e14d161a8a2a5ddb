//! Replacement: a resource is deleted, upon a person's approval, so that another one takes its place (traces 51, 52).

use std::ops::ControlFlow::Break;

use crate::managed::{
    approval,
    context::{Existing, ReconcileContext},
    decision::{Decision, Event},
    names,
    record::Replacement,
    removal::{blocked, remove},
    report::Report,
    resource_report::in_sync_report,
    step::{Flow, NEXT},
};
use crate::reasons::{NormalEvent, StopReason};
use crate::rule::Rule;

/// What differs in fields that no Update changes. What lost its marker gets it back before it is replaced: nothing else distinguishes it from its
/// successor (trace 52).
fn replaced<'c>(ctx: &'c ReconcileContext) -> Option<(Existing<'c>, String)> {
    let existing = ctx.existing()?;
    let differences = ctx.differences(existing);
    let is_marked = !differences.unmarked || Rule::MarkedBeforeReplaced.is_off();
    (!differences.replaced.is_empty() && is_marked).then(|| (existing, differences.to_replace()))
}

/// Nothing is replaced, whoever approves.
pub fn stop_forbidden(ctx: &ReconcileContext) -> Flow {
    let policies = &ctx.snapshot.managed.policies;
    let capabilities = &ctx.snapshot.kind.capabilities;
    let why = if !capabilities.can_delete || !capabilities.can_create {
        "resources of this kind cannot be replaced"
    } else if !policies.delete || !policies.create {
        "managementPolicies do not allow to replace the resource"
    } else {
        return NEXT;
    };
    let Some((existing, fields)) = replaced(ctx) else {
        return NEXT;
    };
    let message = format!("{fields} cannot be changed in place, and {why}; change the fields back");
    Break(stop(ctx, existing, StopReason::ReplacementForbidden, message))
}

/// The first half: what is certainly this object's is deleted. Nothing is let go here: what is seen to be absent is created anew in the ordinary
/// course.
pub fn go_on(ctx: &ReconcileContext) -> Flow {
    match replaced(ctx) {
        Some((existing, _)) if approval::has_begun(ctx.snapshot, existing.record, existing.observation) => {
            Break(
                blocked(ctx)
                    .unwrap_or_else(|| remove(ctx, existing.observation, existing.last_observation.began)),
            )
        }
        Some(_) | None => NEXT,
    }
}

/// One write uses the approval up and records what it is used for: whoever comes after goes on with it, and with nothing else (trace 51).
pub fn begin(ctx: &ReconcileContext) -> Flow {
    let approved = replaced(ctx).filter(|(existing, _)| approval::is_approved(ctx.snapshot, existing.record));
    let Some((existing, fields)) = approved else {
        return NEXT;
    };
    let mut new = existing.record.clone();
    new.replacement = Some(Replacement {
        replaces: Some(existing.observation.canonical_id.clone()),
        ..approval::use_approval(ctx.snapshot, existing.record)
    });
    let annotations = [(names::APPROVE_REPLACEMENT.to_owned(), None)].into();
    let message = format!(
        "{:?} is deleted, as approved, so that another one takes its place: {fields} cannot be changed in place",
        existing.record.external_name
    );
    Break(
        ctx.write_record("begin the approved replacement", &new, annotations)
            .telling(Some(Event::normal(
                NormalEvent::ReplacingExternalResource,
                &message,
            ))),
    )
}

pub fn ask(ctx: &ReconcileContext) -> Flow {
    let Some((existing, fields)) = replaced(ctx) else {
        return NEXT;
    };
    let message = format!(
        "{fields} cannot be changed in place; change back, or annotate {}={} to delete the resource and create another{}",
        names::APPROVE_REPLACEMENT,
        approval::awaited(ctx.snapshot, existing.record),
        approval::why_not_approved(ctx.snapshot, existing.record)
    );
    Break(stop(ctx, existing, StopReason::ReplacementRequired, message))
}

/// What lost its marker, and cannot get it back.
pub fn stop_unmarked(ctx: &ReconcileContext) -> Flow {
    let Some(existing) = ctx
        .existing()
        .filter(|_| !ctx.snapshot.kind.capabilities.can_update)
    else {
        return NEXT;
    };
    let message = format!(
        "{} cannot be changed in place, and the resource does not have the marker {} of this object, without which it is not replaced; set the marker, or change the fields back",
        ctx.differences(existing).to_replace(),
        ctx.snapshot.marker
    );
    Break(stop(ctx, existing, StopReason::ReplacementForbidden, message))
}

fn stop(ctx: &ReconcileContext, existing: Existing, reason: StopReason, message: String) -> Decision {
    let shown = Report {
        synced: None,
        ..in_sync_report(ctx, existing.observation)
    };
    ctx.stop_with(shown, reason, message)
}
