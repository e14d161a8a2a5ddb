//! What existed before this object is taken over.

use std::ops::ControlFlow::Break;

use crate::managed::{
    approval,
    context::ReconcileContext,
    decision::{Action, Decision, Event, MetadataChange},
    names,
    record::{ConfigIdentity, Details, Record},
    rules::{self, Ownership},
    step::{Flow, NEXT},
};
use crate::{
    external::Observation,
    reasons::{NormalEvent, StopReason},
};

/// What was found, where the record does not speak of it yet.
fn unrecorded<'c>(ctx: &'c ReconcileContext) -> Option<&'c Observation> {
    let recorded = ctx
        .record()
        .is_some_and(|record| rules::confirmed(ctx.snapshot, record) || record.intent.is_some());
    ctx.observation().filter(|_| !recorded)
}

/// Somebody took the name from under our create.
pub fn stop_at_name_conflict(ctx: &ReconcileContext) -> Flow {
    match unrecorded(ctx) {
        Some(observation) if rules::needs_confirmation(ctx.snapshot, ctx.record(), observation) => {
            Break(ctx.stop(
                StopReason::AlreadyExists,
                format!(
                    "{:?} existed already when it was to be created; annotate {}={} to have it managed by this object, or choose another name with {}{}",
                    observation.external_name,
                    names::ADOPT,
                    observation.external_name,
                    names::EXTERNAL_NAME,
                    rules::why_not_adopted(ctx.snapshot)
                ),
            ))
        }
        Some(_) | None => NEXT,
    }
}

/// Visibly made ours.
pub fn adopt(ctx: &ReconcileContext) -> Flow {
    let snapshot = ctx.snapshot;
    let (Some(observation), Ok(config)) = (unrecorded(ctx), &snapshot.config) else {
        return NEXT;
    };
    let marked = rules::ownership(snapshot, observation) == Ownership::Owned;
    let former = ctx.record();
    let record = Record {
        uid: snapshot.managed.uid.clone(),
        external_name: observation.external_name.clone(),
        confirmed: true,
        adopted: !marked,
        name_conflict: false,
        intent: None,
        deadline: former.and_then(|record| record.deadline),
        provider_state: observation.provider_state.clone(),
        sensitive_digest: String::new(),
        details: Details::Complete,
        config: ConfigIdentity::replacing(former, config),
        plugin_version: snapshot.plugin_version.clone(),
        incarnation: former.map_or(0, |record| record.incarnation),
        replacement: approval::used_approvals(snapshot, former),
        format: Record::kept_format(former),
    };
    let name = Some(observation.external_name.clone());
    let message = format!("took over {:?}, which existed already", observation.external_name);
    Break(Decision::Act(Action::WriteMetadata(MetadataChange {
        why: "adopt what exists",
        add_finalizer: true,
        annotations: [
            (names::EXTERNAL_NAME.to_owned(), name),
            (names::RECORD.to_owned(), Some(record.write())),
        ]
        .into(),
        allows: None,
        event: (!marked).then(|| Event::normal(NormalEvent::AdoptedExternalResource, &message)),
    })))
}
