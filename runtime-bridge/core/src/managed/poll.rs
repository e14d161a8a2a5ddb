//! The poll of an operation, and the wait for the next one.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::external::{Call, OperationVerb, Verb};
use crate::rule::Rule;

use super::{
    context::ReconcileContext,
    decision::{Decision, Purpose},
    intervals::POLL_AFTER,
    record::{Intent, IntentVerb, Record},
    removal,
    report::Report,
    resource_report::{not_kept, with_operation},
    rules, running,
    status::OperationReport,
};

/// The poll that is due of what goes on by itself: it needs no desired state.
pub(super) fn poll_by_itself(ctx: &ReconcileContext) -> Option<Decision> {
    let operation = running::followed(ctx).filter(|operation| !operation.poll_driven)?;
    let due = ctx.memory.operation.is_poll_due(ctx.snapshot.now);
    due.then(|| poll(ctx, &operation, &running::name_of(ctx, &operation)))
}

/// Says how far it is, and waits.
pub(super) fn wait_for_poll(ctx: &ReconcileContext, next: Option<Timestamp>) -> Decision {
    let report = Report::of_retry_state(
        ctx.memory
            .retry_state
            .as_ref()
            .filter(|retry_state| retry_state.verb == Verb::Poll),
    );
    let report = with_operation(ctx, report);
    let running = report.operation.as_ref().map(|operation| operation.verb);
    let report = match running {
        _ if ctx.deleting() => report.deleting(),
        Some(OperationVerb::Create) => report.creating(),
        Some(OperationVerb::Delete) => {
            let replacement = ctx.record().and_then(|record| record.replacement.as_ref());
            let replaced = replacement.is_some_and(|one| one.replaces.is_some());
            report.ready(not_kept(replaced))
        }
        Some(OperationVerb::Update) | None => report,
    };
    ctx.wait(
        report,
        next.or(Some(ctx.snapshot.now + POLL_AFTER)),
        Purpose::Operation,
    )
}

/// The intent that a poll of such an operation goes on with, if it needs one.
fn intent_of<'p>(ctx: &'p ReconcileContext, verb: OperationVerb) -> Option<(&'p Record, &'p Intent)> {
    let needs = match verb {
        OperationVerb::Create => Some(IntentVerb::Create),
        OperationVerb::Delete if rules::delete_needs_intent(ctx.snapshot) => Some(IntentVerb::Delete),
        OperationVerb::Update | OperationVerb::Delete => None,
    };
    let record = ctx.record()?;
    let intent = record
        .intent
        .as_ref()
        .filter(|intent| Some(intent.verb) == needs)?;
    // One of before the Delete that the status records is not of what that began.
    let pending = ctx.snapshot.managed.status.progress.deletion.as_ref();
    let is_older = pending.is_some_and(|pending| rules::follows(pending, record));
    (!is_older || Rule::DrivenRemovalHasItsIntent.is_off()).then_some((record, intent))
}

/// The intent that a removal is to be driven on with, where the record has none of it: an observation found it, or the status records the Delete that
/// began it. A create that is open stays so, and the removal is polled without one.
fn first_intent_of_removal(
    ctx: &ReconcileContext,
    operation: &OperationReport,
    name: &str,
) -> Option<Record> {
    let is_confirmed = || {
        let record = ctx.record();
        record.is_some_and(|record| rules::confirmed(ctx.snapshot, record))
    };
    let needs = operation.verb == OperationVerb::Delete
        && rules::delete_needs_intent(ctx.snapshot)
        && (is_confirmed() || Rule::RemovalKeepsOpenCreate.is_off());
    if needs {
        removal::with_intent(ctx, name)
    } else {
        None
    }
}

pub(super) fn poll(ctx: &ReconcileContext, operation: &OperationReport, name: &str) -> Decision {
    let fill = |call: &mut Call| {
        call.handle.clone_from(&operation.handle);
        call.operation = Some(operation.verb);
        call.sensitive_digest.clone_from(&operation.sensitive_digest);
        if let Some(intent) = ctx.record().and_then(|record| record.intent.as_ref()) {
            call.token.clone_from(&intent.token);
            call.attempt = intent.attempt;
        }
    };
    if !operation.poll_driven || Rule::DrivingPollIsACall.is_off() {
        return ctx.call(
            name,
            Verb::Poll,
            ctx.snapshot.now + ctx.snapshot.kind.timeouts.call,
            fill,
        );
    }
    // It moves only when polled: the poll counts as the call that it continues (trace 31).
    let Some((record, intent)) = intent_of(ctx, operation.verb) else {
        return match first_intent_of_removal(ctx, operation, name) {
            Some(record) => {
                ctx.write_intent("record that the operation is driven on", &record, BTreeMap::new())
            }
            None => ctx.after_verification(name, Verb::Poll, fill),
        };
    };
    if rules::may_drive(ctx.snapshot, ctx.memory, intent) {
        return ctx.call(name, Verb::Poll, intent.deadline, fill);
    }
    let mut record = record.clone();
    if let Some(intent) = record.intent.as_mut() {
        intent.deadline = ctx.snapshot.now + ctx.snapshot.kind.timeouts.call;
    }
    ctx.write_intent("record that the operation is driven on", &record, BTreeMap::new())
}
