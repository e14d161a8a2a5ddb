//! The persistence rule: what of an answer must be in etcd before anything else is done.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::{
    external::{
        Answer, CallError, Effect, Failure, FailureCode, Operation, OperationVerb, Outcome, OutcomeResult,
        Verb,
    },
    rule::Rule,
};

use super::{
    decision::{Call, MetadataChange},
    names,
    record::{Intent, Record, RecordedOperation, Stored},
    rules,
    snapshot::{Managed, Snapshot},
};

/// What is to be persisted of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum IntentResolution {
    /// Nothing that the record does not hold already.
    Nothing,
    /// This, before anything else.
    Write(MetadataChange),
    /// The object or its record is another's by now: the answer is nobody's business here any more.
    NotOwned,
}

/// Works out what an answer means for the record of `managed`, the newest version of the object. `world` is that of the call.
pub fn resolve_intent(
    snapshot: &Snapshot,
    managed: &Managed,
    call: &Call,
    answer: &Answer,
) -> IntentResolution {
    if managed.uid != call.target.owner.uid {
        return IntentResolution::NotOwned;
    }
    let stored = managed.record();
    let Stored::Owned(record) = &*stored else {
        return IntentResolution::NotOwned;
    };
    let answer = &*rules::believed(call, answer);
    let creates = call.verb == Verb::Create || call.operation == Some(OperationVerb::Create);
    let settled = if creates {
        of_create(snapshot, managed, record, call, answer)
    } else {
        of_other(record, call, answer)
    };
    match settled {
        Some((new, annotations)) => change(record, &new, annotations),
        None => IntentResolution::NotOwned,
    }
}

type Annotations = BTreeMap<String, Option<String>>;

fn of_create(
    snapshot: &Snapshot,
    managed: &Managed,
    record: &Record,
    call: &Call,
    answer: &Answer,
) -> Option<(Record, Annotations)> {
    let is_own = |intent: &&Intent| Rule::AnswerOfOwnToken.is_off() || intent.token == call.token;
    let intent = record.create().filter(is_own)?;
    let mut new = record.clone();
    let mut annotations = Annotations::new();
    match answer {
        Ok(outcome) => {
            record_names(snapshot, &mut new, &mut annotations, call, outcome);
            let named = snapshot.is_named_upstream() && !new.external_name.is_empty();
            match &outcome.result {
                OutcomeResult::Completed(_) if named => {
                    confirm(&mut new, managed, &mut annotations, snapshot.now);
                }
                OutcomeResult::Completed(_) => {}
                OutcomeResult::Operation(operation) => store_operation(&mut new, call, operation),
                OutcomeResult::Failure(failure) if call.verb == Verb::Poll => {
                    if rules::failed_operation_resolves(intent, &call.handle, failure) {
                        close_as_failed(snapshot, managed, &mut new, &mut annotations, failure);
                    } else if failure.code == FailureCode::OperationFailed
                        && !Rule::FailedOperationHasEnded.is_off()
                    {
                        end_operation(&mut new, &call.handle, snapshot.now);
                    }
                }
                // The token had its effect, and what it made is gone again: it was made, under this name.
                OutcomeResult::Failure(failure)
                    if named
                        && failure.code == FailureCode::NotFound
                        && !outcome.external_name.is_empty() =>
                {
                    confirm(&mut new, managed, &mut annotations, snapshot.now);
                }
                OutcomeResult::Failure(failure) => {
                    fail(snapshot, managed, &mut new, &mut annotations, call, failure);
                }
            }
        }
        // Nothing was done by this call: the same as a failure without effect.
        Err(CallError::Rejected { .. } | CallError::Unreachable { .. }) if call.verb == Verb::Create => {
            let refused = refusal();
            fail(snapshot, managed, &mut new, &mut annotations, call, &refused);
        }
        Err(CallError::Rejected { .. } | CallError::Unreachable { .. } | CallError::Unknown { .. }) => {}
    }
    Some((new, annotations))
}

fn of_other(record: &Record, call: &Call, answer: &Answer) -> Option<(Record, Annotations)> {
    if record.external_name != call.target.external_name {
        return None;
    }
    let mut new = record.clone();
    if let Ok(outcome) = answer {
        if !outcome.provider_state.is_empty() {
            new.provider_state.clone_from(&outcome.provider_state);
        }
        if call.verb == Verb::Update || call.operation == Some(OperationVerb::Update) {
            resolve_sensitive_digest(&mut new, call, &outcome.result);
        }
    }
    Some((new, Annotations::new()))
}

/// Sensitive values count as applied when their Update completes. From when it became an operation until then it is unknown which ones the
/// resource has, so that the Update is repeated if the operation comes to nothing, or is lost.
fn resolve_sensitive_digest(new: &mut Record, call: &Call, result: &OutcomeResult) {
    match (result, &call.sensitive_digest) {
        (OutcomeResult::Completed(_), Some(digest)) => new.sensitive_digest.clone_from(digest),
        (OutcomeResult::Operation(_), Some(digest)) if Rule::SecretsAppliedOnCompletion.is_off() => {
            new.sensitive_digest.clone_from(digest);
        }
        (OutcomeResult::Operation(_), Some(digest)) if *digest != new.sensitive_digest => {
            new.sensitive_digest.clear();
        }
        (OutcomeResult::Failure(failure), _) if failure.code == FailureCode::OperationFailed => {
            new.sensitive_digest.clear();
        }
        (OutcomeResult::Completed(_) | OutcomeResult::Operation(_) | OutcomeResult::Failure(_), _) => {}
    }
}

fn record_names(
    snapshot: &Snapshot,
    new: &mut Record,
    annotations: &mut Annotations,
    call: &Call,
    outcome: &Outcome,
) {
    // An upstream that forgets a token with what it made makes another one under the same token: the newest attempt's counts.
    let newest = new.create().is_some_and(|intent| intent.attempt == call.attempt);
    let failed = matches!(outcome.result, OutcomeResult::Failure(_));
    let renamed =
        snapshot.is_named_upstream() && newest && !failed && outcome.external_name != new.external_name;
    if (new.external_name.is_empty() || renamed) && !outcome.external_name.is_empty() {
        new.external_name.clone_from(&outcome.external_name);
        annotations.insert(
            names::EXTERNAL_NAME.to_owned(),
            Some(outcome.external_name.clone()),
        );
    }
    if !outcome.provider_state.is_empty() {
        new.provider_state.clone_from(&outcome.provider_state);
    }
}

fn store_operation(new: &mut Record, call: &Call, operation: &Operation) {
    let Some(intent) = new.intent.as_mut() else { return };
    let attempt = match (call.verb, &intent.operation) {
        // A poll goes on with the operation of the attempt that began it.
        (Verb::Poll, Some(held)) if held.handle == call.handle => held.attempt,
        (Verb::Poll, Some(_)) => return,
        (_, Some(_)) if rules::has_newer_operation(intent, call.attempt) => return,
        _ => call.attempt,
    };
    let held = intent
        .operation
        .take()
        .filter(|held| held.handle == operation.handle);
    intent.operation = Some(RecordedOperation {
        handle: operation.handle.clone(),
        attempt,
        expire_time: operation.expire_time,
        poll_driven: operation.poll_driven,
        unknown: held.map(|held| held.unknown).unwrap_or_default(),
    });
    intent.operation_ended = false;
}

/// It comes to nothing more: what it has done until now, which may be far more than its call took, is still to be looked for.
fn end_operation(new: &mut Record, handle: &str, now: Timestamp) {
    if let Some(intent) = new.intent.as_mut() {
        if rules::operation_ends_the_create(intent, handle) {
            intent.operation_ended = true;
            if !Rule::EndedWhenReported.is_off() {
                intent.deadline = intent.deadline.max(now);
            }
        }
        intent.operation.take_if(|operation| operation.handle == handle);
    }
}

fn fail(
    snapshot: &Snapshot,
    managed: &Managed,
    new: &mut Record,
    annotations: &mut Annotations,
    call: &Call,
    failure: &Failure,
) {
    let is_own = |intent: &&Intent| Rule::FailureOfOwnAttempt.is_off() || intent.attempt == call.attempt;
    let Some(intent) = new.create().filter(is_own) else {
        return;
    };
    if rules::rejection_resolves(intent, call.attempt, failure) {
        close_as_failed(snapshot, managed, new, annotations, failure);
    } else if rules::exhausts_token(call.attempt, failure)
        && let Some(intent) = new.intent.as_mut()
    {
        intent.token_exhausted = true;
        new.name_conflict = failure.code == FailureCode::AlreadyExists;
    }
}

/// The create is confirmed. Attempts that may still be on their way keep their deadline.
pub(super) fn confirm(new: &mut Record, managed: &Managed, annotations: &mut Annotations, now: Timestamp) {
    close(new);
    new.confirmed = true;
    annotations.insert(names::EXTERNAL_NAME.to_owned(), Some(new.external_name.clone()));
    annotations.insert(names::CREATE_SUCCEEDED.to_owned(), Some(ended(managed, now)));
}

/// When a create ended, as annotated: not before it was pending, whatever two clocks say, or a Go reconciler would take it for unfinished.
fn ended(managed: &Managed, now: Timestamp) -> String {
    let pending = managed.annotated_time(names::CREATE_PENDING);
    seconds(pending.map_or(now, |pending| pending.max(now)))
}

/// The create certainly had no effect: nothing was made, and the name is free for another try.
fn close_as_failed(
    snapshot: &Snapshot,
    managed: &Managed,
    new: &mut Record,
    annotations: &mut Annotations,
    failure: &Failure,
) {
    absent(snapshot, managed, new, annotations);
    new.name_conflict = failure.code == FailureCode::AlreadyExists;
}

/// The create is settled: there is no resource of it. The name that it carried counts no more.
pub(super) fn absent(
    snapshot: &Snapshot,
    managed: &Managed,
    new: &mut Record,
    annotations: &mut Annotations,
) {
    close(new);
    new.confirmed = false;
    new.provider_state.clear();
    if snapshot.is_named_upstream() {
        annotations.insert(
            names::CREATE_FAILED.to_owned(),
            Some(ended(managed, snapshot.now)),
        );
    }
    let given_by_user = snapshot.kind.external_name.source == crate::kind::NameSource::User;
    if !given_by_user {
        // A name that came with the refusal counts as little as one that was recorded.
        annotations.remove(names::EXTERNAL_NAME);
        let annotated = managed.annotation(names::EXTERNAL_NAME);
        if !annotated.is_empty() && annotated == new.external_name {
            annotations.insert(names::EXTERNAL_NAME.to_owned(), None);
        }
    }
    new.external_name.clear();
}

/// Ends the intent.
pub(super) fn close(new: &mut Record) {
    if let Some(intent) = new.intent.take() {
        new.deadline = rules::remaining_deadline(&intent).max(new.deadline);
    }
}

fn change(old: &Record, new: &Record, mut annotations: Annotations) -> IntentResolution {
    if *new == *old && annotations.is_empty() {
        return IntentResolution::Nothing;
    }
    annotations.insert(names::RECORD.to_owned(), Some(new.write()));
    IntentResolution::Write(MetadataChange {
        why: "persist the answer",
        annotations,
        ..MetadataChange::default()
    })
}

/// RFC 3339 with whole seconds, as crossplane-runtime writes it.
pub(super) fn seconds(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second())
        .unwrap_or(time)
        .to_string()
}

fn refusal() -> Failure {
    Failure {
        code: FailureCode::Internal,
        effect: Effect::None,
        reason: "CallRefused".to_owned(),
        message: String::new(),
        retry_after: None,
        violations: Vec::new(),
        upstream_code: String::new(),
        upstream_request_id: String::new(),
        existing_external_name: String::new(),
    }
}
