//! Operations: work upstream that outlasts a call, polled when due.

use jiff::Timestamp;

use crate::external::{OperationVerb, Verb};

use super::{
    decision::{Decision, Purpose},
    pass::Pass,
    record::{Intent, IntentVerb, Record},
    report::{self, Report},
    rules,
    status::OperationReport,
    unanswered,
};

/// A poll where the plugin gave no advice.
pub(super) const POLL_AFTER: std::time::Duration = std::time::Duration::from_secs(10);

/// The operation that runs: a removal first, then a recorded creation, then what the status holds.
pub(super) fn running(pass: &Pass) -> Option<OperationReport> {
    let other = other(pass);
    let creation = || creation(pass).map(|(intent, handle)| report_of(pass, intent, handle));
    match other {
        Some(removal) if removal.verb == OperationVerb::Delete => Some(removal),
        other => creation().or(other),
    }
}

/// The creation's operation, until it is confirmed, spent or expired.
pub(super) fn creation<'p>(pass: &'p Pass) -> Option<(&'p Intent, &'p str)> {
    let record = pass.record.as_ref()?;
    let intent = record
        .create()
        .filter(|_| !rules::confirmed(pass.world, record))?;
    let operation = intent.operation.as_ref()?;
    let alive = operation.expire_time.is_none_or(|end| end > pass.world.now)
        && operation.handle != pass.memory.spent_handle;
    alive.then_some((intent, operation.handle.as_str()))
}

/// An Update or Delete: what this process learned, else what the status says.
fn other(pass: &Pass) -> Option<OperationReport> {
    let stored = || {
        pass.world
            .managed
            .status
            .progress
            .operation
            .clone()
            .filter(|operation| operation.verb != OperationVerb::Create)
    };
    let known = pass.memory.operation.clone().unwrap_or_else(stored)?;
    let record = pass.record.as_ref();
    let of_a_former = record.is_some_and(|record| !rules::is_of_the_recorded_resource(record, &known));
    let intent = pass.record.as_ref().and_then(|record| record.intent.as_ref());
    let lost = known.poll_driven
        && known.verb == OperationVerb::Delete
        && rules::removal_is_lost(pass.world, intent);
    let alive = known.expire_time.is_none_or(|end| end > pass.world.now)
        && !known.handle.is_empty()
        && !lost
        && !of_a_former;
    alive.then(|| told(pass, known))
}

fn report_of(pass: &Pass, intent: &Intent, handle: &str) -> OperationReport {
    let operation = intent.operation.as_ref();
    let stored = pass
        .world
        .managed
        .status
        .progress
        .operation
        .as_ref()
        .filter(|stored| stored.verb == OperationVerb::Create);
    let report = OperationReport {
        handle: handle.to_owned(),
        verb: OperationVerb::Create,
        phase: stored.map(|stored| stored.phase.clone()).unwrap_or_default(),
        progress: stored.and_then(|stored| stored.progress),
        since: intent.started_at,
        generation: intent.generation,
        poll_driven: operation.is_some_and(|operation| operation.poll_driven),
        expire_time: operation.and_then(|operation| operation.expire_time),
        external_name: pass
            .record
            .as_ref()
            .map(|record| record.external_name.clone())
            .unwrap_or_default(),
        incarnation: pass.record.as_ref().map_or(0, |record| record.incarnation),
        sensitive_digest: None,
    };
    told(pass, report)
}

/// With what a poll of this process last told.
fn told(pass: &Pass, report: OperationReport) -> OperationReport {
    match pass
        .memory
        .told
        .as_ref()
        .filter(|told| told.handle == report.handle)
    {
        Some(told) => OperationReport {
            phase: told.phase.clone(),
            progress: told.progress_percent,
            ..report
        },
        None => report,
    }
}

/// Adds what runs. The handle of a creation stays in the record alone.
pub(super) fn with_operation(pass: &Pass, report: Report) -> Report {
    let Some(mut operation) = running(pass) else {
        return report;
    };
    let timeouts = &pass.world.kind.timeouts;
    let limit = match operation.verb {
        OperationVerb::Create => timeouts.create,
        OperationVerb::Update => timeouts.update,
        OperationVerb::Delete => timeouts.delete,
    };
    let overdue = report::overdue(pass.world.now, operation.since, limit);
    if operation.verb == OperationVerb::Create {
        operation.handle.clear();
        operation.poll_driven = false;
        operation.expire_time = None;
        operation.external_name.clear();
        operation.incarnation = 0;
    }
    let mut report = report.operation(operation);
    if !overdue.is_empty() && report.synced.as_ref().is_some_and(|says| says.status) {
        report.synced = Some(super::status::Says::no(
            "ReconcileError",
            format!("the operation goes on{overdue}"),
        ));
    }
    Report { overdue, ..report }
}

/// What runs, where the plugin would be asked about it: another account knows nothing of it.
pub(super) fn followed(pass: &Pass) -> Option<OperationReport> {
    let record = pass.record.as_ref();
    let elsewhere = record.is_some_and(|record| rules::in_another_account(pass.world, record));
    running(pass).filter(|_| !elsewhere)
}

/// Polls what is due; waits for what is not. `None`: nothing runs, or what runs does not stand in the way.
pub(super) fn follow(pass: &Pass) -> Option<Decision> {
    let operation = followed(pass)?;
    let world = pass.world;
    let name = name_of(pass, &operation);
    let capabilities = &world.kind.capabilities;
    if pass.deleting()
        && operation.verb == OperationVerb::Create
        && unanswered::may_be_deleted_while_created(world)
        && !name.is_empty()
    {
        return Some(super::remove::remove(pass));
    }
    if pass.memory.next_poll.is_none_or(|next| next <= world.now) {
        return Some(poll(pass, &operation, &name));
    }
    let newer = world.managed.generation != operation.generation && operation.verb != OperationVerb::Delete;
    if newer && capabilities.concurrent_update && !pass.deleting() && !name.is_empty() {
        return Some(super::steady::steady(pass));
    }
    Some(wait(pass, pass.memory.next_poll))
}

/// The poll that is due of what goes on by itself: it needs no wish.
pub(super) fn follow_by_itself(pass: &Pass) -> Option<Decision> {
    let operation = followed(pass).filter(|operation| !operation.poll_driven)?;
    let due = pass.memory.next_poll.is_none_or(|next| next <= pass.world.now);
    due.then(|| poll(pass, &operation, &name_of(pass, &operation)))
}

/// The resource that an operation is about. One that an older bridge reported does not name it.
fn name_of(pass: &Pass, operation: &OperationReport) -> String {
    match (&pass.record, operation.external_name.is_empty()) {
        (Some(record), true) => record.external_name.clone(),
        _ => operation.external_name.clone(),
    }
}

/// Says how far it is, and waits.
pub(super) fn wait(pass: &Pass, next: Option<Timestamp>) -> Decision {
    let report = Report::of_trouble(
        pass.memory
            .trouble
            .as_ref()
            .filter(|trouble| trouble.verb == Verb::Poll),
    );
    let report = with_operation(pass, report);
    let report = if pass.deleting() {
        report.deleting()
    } else if report
        .operation
        .as_ref()
        .is_some_and(|operation| operation.verb == OperationVerb::Create)
    {
        report.creating()
    } else {
        report
    };
    pass.wait(
        report,
        next.or(Some(pass.world.now + POLL_AFTER)),
        Purpose::Operation,
    )
}

/// The intent that a poll of such an operation goes on with, if it needs one.
fn intent_of<'p>(pass: &'p Pass, verb: OperationVerb) -> Option<(&'p Record, &'p Intent)> {
    let needs = match verb {
        OperationVerb::Create => Some(IntentVerb::Create),
        OperationVerb::Delete if rules::delete_needs_intent(pass.world) => Some(IntentVerb::Delete),
        OperationVerb::Update | OperationVerb::Delete => None,
    };
    let record = pass.record.as_ref()?;
    let intent = record
        .intent
        .as_ref()
        .filter(|intent| Some(intent.verb) == needs)?;
    Some((record, intent))
}

fn poll(pass: &Pass, operation: &OperationReport, name: &str) -> Decision {
    let fill = |call: &mut super::decision::Call| {
        call.handle.clone_from(&operation.handle);
        call.operation = Some(operation.verb);
        call.sensitive_digest.clone_from(&operation.sensitive_digest);
        if let Some(intent) = pass.record.as_ref().and_then(|record| record.intent.as_ref()) {
            call.token.clone_from(&intent.token);
            call.attempt = intent.attempt;
        }
    };
    if !operation.poll_driven {
        return pass.call(
            name,
            Verb::Poll,
            pass.world.now + pass.world.kind.timeouts.call,
            fill,
        );
    }
    // It moves only when polled: the poll counts as the call that it continues (trace 31).
    let Some((record, intent)) = intent_of(pass, operation.verb) else {
        return pass.after_proof(name, Verb::Poll, fill);
    };
    if rules::may_drive(pass.world, pass.memory, intent) {
        return pass.call(name, Verb::Poll, intent.deadline, fill);
    }
    let mut record = record.clone();
    if let Some(intent) = record.intent.as_mut() {
        intent.deadline = pass.world.now + pass.world.kind.timeouts.call;
    }
    pass.write_intent(
        "record that the operation is driven on",
        &record,
        super::decide::nothing_else(),
    )
}
