//! What an answer settles, and how far it is believed.

use std::borrow::Cow;

use crate::managed::record::Intent;
use crate::{
    external::{Answer, Call, Effect, Failure, FailureCode, OperationVerb, Outcome, OutcomeResult, Verb},
    rule::Rule,
};

/// After this answer the call does nothing more. A plugin that cannot tell the effect has given up, not the upstream (trace 35).
pub fn is_terminal(result: &OutcomeResult) -> bool {
    match result {
        OutcomeResult::Completed(_) | OutcomeResult::Operation(_) => true,
        OutcomeResult::Failure(failure) => {
            failure.effect == Effect::None || Rule::UnknownEffectEndsNothing.is_off()
        }
    }
}

/// `EFFECT_NONE` settles an intent only as the answer to attempt 0 while no other exists, or to one *alone* whose request itself was refused
/// (traces 6, 7, 25).
pub fn rejection_resolves(intent: &Intent, attempt: u32, failure: &Failure) -> bool {
    failure.effect == Effect::None
        && attempt == intent.attempt
        && (Rule::NoEffectResolvesFirstAttempt.is_off()
            || attempt == 0
            || (intent.exclusive && rejects_request(failure.code)))
}

/// The end of the recorded operation settles only if it was that of attempt 0 while no other exists, or of one *alone* (traces 23, 24): an
/// attempt that is still on its way may find the token free again.
pub fn failed_operation_resolves(intent: &Intent, handle: &str, failure: &Failure) -> bool {
    let of_attempt = intent
        .operation
        .as_ref()
        .filter(|operation| operation.handle == handle)
        .map(|operation| operation.attempt);
    let speaks_of_it = match failure.code {
        FailureCode::OperationFailed => true,
        FailureCode::OperationExpired if Rule::ExpiredOperationResolvesNothing.is_off() => true,
        _ => Rule::OperationFailedSpeaksAlone.is_off(),
    };
    let is_of_newest = Rule::OperationOfNewestAttemptResolves.is_off() || of_attempt == Some(intent.attempt);
    let is_alone = Rule::OperationOfRepeatResolvesNothing.is_off() || intent.attempt == 0 || intent.exclusive;
    speaks_of_it && failure.effect == Effect::None && is_of_newest && is_alone
}

/// A repeat refused like this ends the token's turn: the next recovery's is next. Not found: what it made is gone again.
pub fn exhausts_token(attempt: u32, failure: &Failure) -> bool {
    !Rule::RejectedRepeatExhaustsToken.is_off()
        && attempt > 0
        && failure.effect == Effect::None
        && (rejects_request(failure.code)
            || matches!(
                failure.code,
                FailureCode::AlreadyExists | FailureCode::TokenReused | FailureCode::NotFound
            ))
}

fn rejects_request(code: FailureCode) -> bool {
    matches!(
        code,
        FailureCode::InvalidSpec | FailureCode::ImmutableField | FailureCode::Unsupported
    )
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::Timestamp;

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
