//! Rules of a Create whose answer was lost, contradicts itself, or has to come from a person.

use std::borrow::Cow;

use jiff::Timestamp;
use regex::Regex;

use crate::{
    external::{Answer, Effect, Failure, FailureCode, OperationVerb, Outcome, OutcomeResult, Verb},
    kind::Kind,
    rule::Rule,
};

use super::{
    decision::Call,
    reconcile_memory::ReconcileMemory,
    record::{Intent, Record},
    snapshot::{ResolvedDesiredState, Snapshot},
};

/// Where a kind does not say how long a creation may take.
const LONGEST_CREATION: std::time::Duration = std::time::Duration::from_hours(1);

/// Nothing that a create does comes to be seen after this: not what its call did, nor the operation that it began, whether the answer told of it
/// (trace 44) or was lost (trace 46). What moves only when polled moves no more, and what was answered as done is done.
pub fn create_ends(snapshot: &Snapshot, memory: &ReconcileMemory, intent: &Intent) -> Timestamp {
    let may_go_on = match &intent.operation {
        Some(operation) => !operation.poll_driven && !Rule::ForgottenOperationMayGoOn.is_off(),
        None => !intent.operation_ended && !Rule::LostOperationMayGoOn.is_off(),
    };
    // Of several attempts another one may have begun an operation.
    let is_done = created_at(memory, intent).is_some() && (intent.attempt == 0 || intent.exclusive);
    if snapshot.kind.capabilities.visible_when_accepted || !may_go_on || is_done {
        return intent.deadline;
    }
    // Each attempt may be the one that began it, at the end of its call.
    intent.deadline + snapshot.kind.timeouts.create.unwrap_or(LONGEST_CREATION)
}

/// The end of the recorded operation is the end of the create: no other attempt can have begun another one.
pub fn operation_ends_the_create(intent: &Intent, handle: &str) -> bool {
    let held = intent
        .operation
        .as_ref()
        .filter(|operation| operation.handle == handle);
    held.is_some_and(|operation| operation.attempt == intent.attempt)
        && (intent.attempt == 0 || intent.exclusive)
}

/// A deletion need not wait for the creation that runs: what it makes is seen, so that an absence after the Delete tells the truth (trace 46).
pub fn may_be_deleted_while_created(snapshot: &Snapshot) -> bool {
    let capabilities = &snapshot.kind.capabilities;
    let is_visible = capabilities.visible_when_accepted || Rule::HiddenIsNotDeletedEarly.is_off();
    capabilities.delete_during_create && is_visible
}

/// A name that the Create did not bring is the name of something that was created: a failure that tells it has had an effect, whatever it says of
/// that (trace 48), and so has an operation that failed and tells it. There are two exceptions. What is not found any more was created, and is
/// gone again; what existed already is another owner's (trace 17).
pub fn contradicts_itself<'a>(call: &Call, answer: &'a Answer) -> Option<(&'a Outcome, &'a Failure)> {
    let outcome = answer.as_ref().ok()?;
    let OutcomeResult::Failure(failure) = &outcome.result else {
        return None;
    };
    let reported = !outcome.external_name.is_empty() && outcome.external_name != call.target.external_name;
    let speaks_of_the_create = match call.verb {
        Verb::Create => !matches!(failure.code, FailureCode::NotFound | FailureCode::AlreadyExists),
        // Any other failure of a poll is the poll's own.
        Verb::Poll => {
            call.operation == Some(OperationVerb::Create) && failure.code == FailureCode::OperationFailed
        }
        Verb::Observe | Verb::Update | Verb::Delete => false,
    };
    let contradicts = reported && speaks_of_the_create && failure.effect == Effect::None;
    (contradicts && !Rule::NamedFailureHadEffect.is_off()).then_some((outcome, failure))
}

/// The answer as it is believed.
pub fn believed<'a>(call: &Call, answer: &'a Answer) -> Cow<'a, Answer> {
    let Some((outcome, failure)) = contradicts_itself(call, answer) else {
        return Cow::Borrowed(answer);
    };
    let failure = Failure {
        effect: Effect::Unknown,
        ..failure.clone()
    };
    Cow::Owned(Ok(Outcome {
        result: OutcomeResult::Failure(failure),
        ..outcome.clone()
    }))
}

/// The record knows with which secrets the call goes, or that nobody knows any more which of several the resource holds.
pub fn secrets_are_recorded(record: &Record, intent: &Intent, desired: &ResolvedDesiredState) -> bool {
    let unknown = intent.attempt > 0 && record.sensitive_digest.is_empty();
    unknown || record.sensitive_digest == desired.sensitive_digest
}

/// This process was answered that the create had its effect: another repeat would tell it nothing new.
pub fn created_at(memory: &ReconcileMemory, intent: &Intent) -> Option<Timestamp> {
    let ((token, attempt), at) = memory.created.as_ref()?;
    (*token == intent.token && *attempt == intent.attempt).then_some(*at)
}

/// Why the kind cannot have a resource of this name; `None`: it can, or its pattern is none.
pub fn breaks_name_rules(kind: &Kind, name: &str) -> Option<String> {
    let rules = &kind.external_name;
    if rules.max_length > 0 && name.len() > rules.max_length {
        return Some(format!("{name:?} is longer than {} bytes", rules.max_length));
    }
    let pattern = Regex::new(&format!("^(?:{})$", rules.pattern)).ok();
    let pattern = pattern.filter(|_| !rules.pattern.is_empty())?;
    (!pattern.is_match(name)).then(|| format!("{name:?} does not match {:?}", rules.pattern))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::external::{Config, DesiredState, Document, Owner, Secrets, Target};
    use crate::kind::ResourceType;

    fn call(verb: Verb, operation: Option<OperationVerb>, name: &str) -> Call {
        let target = Target {
            resource_type: ResourceType {
                group: "example.org".to_owned(),
                version: "v1".to_owned(),
                kind: "Thing".to_owned(),
            },
            config: Arc::new(Config {
                id: String::new(),
                revision: String::new(),
                settings_digest: String::new(),
                identity: String::new(),
                settings: None,
                credentials: Secrets::default(),
                credentials_expire: None,
            }),
            owner: Owner {
                namespace: String::new(),
                name: String::new(),
                uid: String::new(),
                generation: 1,
            },
            external_name: name.to_owned(),
            ownership_marker: String::new(),
            former_marker: String::new(),
            provider_state: String::new(),
        };
        let desired = DesiredState {
            parameters: Document::new(),
            sensitive: Secrets::default(),
        };
        let mut call = Call::new(verb, target, desired, Timestamp::UNIX_EPOCH);
        call.operation = operation;
        call
    }

    fn failed(code: FailureCode, name: &str) -> Outcome {
        Outcome {
            external_name: name.to_owned(),
            canonical_id: String::new(),
            provider_state: String::new(),
            connection_details: Secrets::default(),
            warnings: Vec::new(),
            result: OutcomeResult::Failure(Failure {
                code,
                reason: "Reason".to_owned(),
                message: "message".to_owned(),
                effect: Effect::None,
                retry_after: None,
                violations: Vec::new(),
                upstream_code: String::new(),
                upstream_request_id: String::new(),
                existing_external_name: String::new(),
            }),
        }
    }

    #[test]
    fn only_a_new_name_of_what_was_created_contradicts_no_effect() {
        let create = call(Verb::Create, None, "");
        let poll = |operation| call(Verb::Poll, Some(operation), "");
        let table = [
            (create.clone(), FailureCode::Throttled, "i-1", true),
            (create.clone(), FailureCode::Throttled, "", false),
            (
                call(Verb::Create, None, "sent"),
                FailureCode::Throttled,
                "sent",
                false,
            ),
            (create.clone(), FailureCode::NotFound, "i-1", false),
            // The name of somebody else's: it is not to become ours (trace 17).
            (create, FailureCode::AlreadyExists, "i-1", false),
            (
                poll(OperationVerb::Create),
                FailureCode::OperationFailed,
                "i-1",
                true,
            ),
            (poll(OperationVerb::Create), FailureCode::Throttled, "i-1", false),
            (
                poll(OperationVerb::Update),
                FailureCode::OperationFailed,
                "i-1",
                false,
            ),
            (call(Verb::Update, None, ""), FailureCode::Throttled, "i-1", false),
        ];
        for (call, code, name, contradicts) in table {
            let answer = Ok(failed(code, name));
            let found = contradicts_itself(&call, &answer).is_some();
            assert_eq!(
                found, contradicts,
                "{:?} {:?} {code:?} {name:?}",
                call.verb, call.operation
            );
            let Ok(believed) = believed(&call, &answer).into_owned() else {
                panic!("an answer stays one");
            };
            let OutcomeResult::Failure(failure) = believed.result else {
                panic!("a failure stays one");
            };
            assert_eq!(failure.effect == Effect::Unknown, contradicts);
        }
    }
}
