//! Sensitive values and connection details.

use std::time::Duration;

use bridge_core::{
    external::{FailureCode, OperationVerb, Verb},
    kind::ConnectionKey,
    managed::{Details, names, status},
};
use serde_json::json;

use crate::{
    cloud::secrets,
    fault_outcome::CallOutcome,
    kinds::{self, Pace, Subject},
    reference_model::{A, Model},
    script::Script,
};

fn password(value: &str) -> bridge_core::external::Secrets {
    secrets(&[("/password", value)])
}

fn at_rest_with(value: &str) -> Model {
    let mut model = Model::started(&kinds::named());
    model.sensitive = password(value);
    model.rest();
    model
}

#[test]
fn a_changed_secret_is_one_update_and_then_rest() {
    let mut model = at_rest_with("canary-1");
    assert_eq!(model.calls("update"), 0);
    model.sensitive = password("canary-2");
    model.rest();
    assert_eq!(model.calls("update"), 1);
    assert_eq!(model.made()[0].sensitive, password("canary-2"));
    let writes = model.writes;
    for _ in 0..5 {
        model.advance(Duration::from_secs(61));
        model.pass(A);
    }
    assert_eq!((model.calls("update"), model.writes), (1, writes));
    model.bridges[A].crash();
    model.ends_ready();
    assert_eq!(model.calls("update"), 1, "nor does a restart repeat it");
}

#[test]
fn a_lost_key_updates_nothing() {
    let mut model = at_rest_with("canary-1");
    let digest = model.record().sensitive_digest;
    model.key = "key-2";
    model.advance(Duration::from_secs(61));
    model.ends_ready();
    assert_eq!((model.calls("create"), model.calls("update")), (1, 0));
    assert_ne!(
        model.record().sensitive_digest,
        digest,
        "the digest is written anew"
    );
    model.sensitive = password("canary-2");
    model.ends_ready();
    assert_eq!(model.calls("update"), 1, "and tells the next change");
}

#[test]
fn a_token_is_repeated_with_the_secret_of_today() {
    for fate in [
        CallOutcome::CrashBefore,
        CallOutcome::CrashBeforePersist,
        CallOutcome::CrashLate,
    ] {
        let mut model = Model::started(&kinds::token());
        model.sensitive = password("canary-1");
        model.stop_before(A, "create");
        model.step(A, &mut Script::on(Verb::Create, fate));
        model.sensitive = password("canary-2");
        model.ends_ready();
        assert!(!model.events().contains(&"CreateOutcomeUnknown"), "{fate:?}");
        assert_eq!(model.tokens(), 1, "{fate:?}");
        assert_eq!(model.made()[0].sensitive, password("canary-2"), "{fate:?}");
        let updates = model.calls("update");
        model.bridges[A].crash();
        model.ends_ready();
        assert_eq!(model.calls("update"), updates, "{fate:?}: one is enough");
    }
}

#[test]
fn a_secret_that_turns_back_after_a_repeat_is_applied_again() {
    // Which of the two values the resource holds nobody knows.
    let mut model = Model::started(&kinds::token());
    model.sensitive = password("canary-1");
    model.stop_before(A, "create");
    model.bridges[A].crash();
    model.sensitive = password("canary-2");
    model.stop_before(A, "create \"\" attempt 1");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::CrashBeforePersist));
    model.sensitive = password("canary-1");
    model.ends_ready();
    assert_eq!(model.made()[0].sensitive, password("canary-1"));
}

#[test]
fn a_secret_that_changes_between_rewrite_and_repeat_is_applied() {
    let mut model = Model::started(&kinds::token());
    model.sensitive = password("canary-1");
    model.stop_before(A, "create");
    model.bridges[A].crash();
    model.stop_before(A, "write metadata: record that the create is repeated");
    model.step(A, &mut crate::fault_outcome::Well);
    model.sensitive = password("canary-2");
    model.ends_ready();
    assert_eq!(model.tokens(), 1);
    assert_eq!(model.made()[0].sensitive, password("canary-2"));
}

#[test]
fn a_deletion_learns_the_name_though_the_secret_is_gone() {
    let mut model = Model::started(&kinds::token());
    model.sensitive = password("canary-1");
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::CrashBeforePersist));
    model.secret_missing = true;
    model.etcd.delete(model.now);
    model.rest();
    // The repeat may be under way so long.
    model.advance(Duration::from_secs(16));
    model.ends_gone();
    assert_eq!(model.calls("delete"), 1);
    assert!(!model.events().contains(&"CreateOutcomeUnknown"));
}

#[test]
fn a_secret_that_changes_between_intent_and_create_is_not_sent_under_it() {
    for subject in [kinds::named(), kinds::token()] {
        let mut model = Model::started(&subject);
        model.sensitive = password("canary-1");
        model.stop_before(A, "write metadata: record the intent to create");
        model.step(A, &mut crate::fault_outcome::Well);
        model.sensitive = password("canary-2");
        model.ends_ready();
        assert_eq!(model.made()[0].sensitive, password("canary-2"));
        assert_eq!(
            (model.calls("create"), model.tokens()),
            (1, 2),
            "{}",
            subject.name
        );
    }
}

#[test]
fn a_missing_secret_stops_calls_but_no_deletion() {
    let mut model = at_rest_with("canary-1");
    model.secret_missing = true;
    model.advance(Duration::from_secs(61));
    model.pass(A);
    assert_eq!(model.value("Synced"), "False/SecretNotFound");
    assert_eq!(model.value("Ready"), "True/Available", "what is there is there");
    model.ends_gone();
}

#[test]
fn a_deletion_without_the_secret_still_learns_the_name_where_none_was_sent() {
    let mut model = Model::started(&kinds::token());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::LostAfter));
    model.secret_missing = true;
    model.ends_gone();
    assert_eq!(model.calls("delete"), 1);
}

#[test]
fn an_update_that_fails_in_the_end_is_not_taken_for_applied() {
    let subject = kinds::named().with(|manners| manners.update = Pace::Long);
    let mut model = Model::started(&subject);
    model.sensitive = password("canary-1");
    model.rest();
    model.sensitive = password("canary-2");
    let failed = CallOutcome::Fails(FailureCode::OperationFailed, bridge_core::external::Effect::None);
    model.rest_after(Script::on(Verb::Poll, failed));
    model.verify();
    assert_eq!(model.calls("update"), 2);
    assert_eq!(model.made()[0].sensitive, password("canary-2"));
}

/// An Update that applies a new secret, and becomes an operation that runs.
fn changing(subject: &Subject) -> Model {
    let subject = subject.clone().with(|manners| manners.update = Pace::Long);
    let mut model = Model::started(&subject);
    model.sensitive = password("canary-1");
    model.rest();
    model.sensitive = password("canary-2");
    model
}

fn ends_with(mut model: Model, value: &str) {
    model.ends_ready();
    assert_eq!(
        model.made()[0].sensitive,
        password(value),
        "{}",
        model.log.join("\n")
    );
    let updates = model.calls("update");
    model.bridges[A].crash();
    model.advance(Duration::from_mins(2));
    model.ends_ready();
    assert_eq!(model.calls("update"), updates, "nor does a restart repeat it");
}

#[test]
fn trace_53_a_secret_counts_as_applied_when_its_operation_completes() {
    for subject in [kinds::named(), kinds::token()] {
        for crashes in [false, true] {
            let mut model = changing(&subject);
            model.pass(A);
            assert_eq!(model.calls("update"), 1);
            assert_eq!(model.record().sensitive_digest, "");
            if crashes {
                model.bridges[A].crash();
            }
            model.ends_ready();
            assert_eq!(model.calls("update"), 1, "{}", subject.name);
            ends_with(model, "canary-2");
        }
    }
}

#[test]
fn trace_53_a_secret_is_applied_again_whose_operation_comes_to_nothing() {
    for subject in [kinds::named(), kinds::token()] {
        // Forgotten.
        let mut model = changing(&subject);
        model.pass(A);
        model.cloud.lose_updates();
        ends_with(model, "canary-2");
        // Its handle is lost: the process died before the status was written.
        let mut model = changing(&subject);
        model.pass_with(A, &mut Script::on(Verb::Update, CallOutcome::CrashAfterPersist));
        model.cloud.lose_updates();
        ends_with(model, "canary-2");
        // Expired.
        let mut model = changing(&subject);
        model.cloud.operations_expire = Some(Duration::from_secs(5));
        model.pass(A);
        model.cloud.lose_updates();
        model.cloud.operations_expire = None;
        ends_with(model, "canary-2");
        // The handle is one that the plugin cannot read.
        let mut model = changing(&subject);
        model.pass(A);
        model.cloud.lose_updates();
        model.rest_after(Script::on(Verb::Poll, CallOutcome::Unfit));
        ends_with(model, "canary-2");
    }
}

#[test]
fn trace_53_a_secret_taken_back_after_a_lost_operation_is_applied() {
    let mut model = changing(&kinds::named());
    model.pass(A);
    // It goes on, though its handle is forgotten.
    model.cloud.forget_operations();
    model.sensitive = password("canary-1");
    ends_with(model, "canary-1");
}

#[test]
fn trace_53_a_secret_that_changes_while_one_is_applied_is_applied_next() {
    let mut model = changing(&kinds::named());
    model.pass(A);
    model.sensitive = password("canary-3");
    model.ends_ready();
    assert_eq!(model.calls("update"), 2);
    ends_with(model, "canary-3");
}

#[test]
fn connection_details_reach_the_secret_once_each() {
    let subject = kinds::distribution();
    let mut model = Model::new(&subject);
    model.create();
    model
        .etcd
        .edit(|object| object.managed.wants_connection_secret = true);
    model.pass(A);
    assert!(
        model.secret.0.contains_key("password"),
        "what comes only once is published at once"
    );
    let operation = model.object().managed.status.progress.operation.clone();
    assert_eq!(
        operation.map(|operation| operation.verb),
        Some(OperationVerb::Create)
    );
    model.rest();
    assert_eq!(model.writes.secret, 2, "then what is known when it is there");
    model.cloud.objects[0].name = "cloud-1".to_owned();
    for _ in 0..3 {
        model.advance(Duration::from_secs(61));
        model.pass(A);
    }
    assert_eq!(model.writes.secret, 2);
}

/// A kind whose creation tells a password that nothing tells again, and brings no observation.
fn answers_a_create() -> Model {
    let subject = kinds::token().with(|manners| manners.bare = true);
    let mut model = Model::started(&subject);
    model
        .etcd
        .edit(|object| object.managed.wants_connection_secret = true);
    model.stop_before(A, "create");
    model
}

#[test]
fn one_time_details_are_published_during_shutdown() {
    let mut model = answers_a_create();
    model.step(A, &mut crate::fault_outcome::Well);
    model.bridges[A].leads = false;
    model.pass(A);
    assert!(
        model.secret.0.contains_key("password"),
        "{}",
        model.log.join("\n")
    );
    assert_eq!(model.calls("observe"), 0);
}

#[test]
fn one_time_details_are_published_before_the_next_observation() {
    let mut model = answers_a_create();
    model.stop_before(A, "observe");
    assert!(
        model.secret.0.contains_key("password"),
        "{}",
        model.log.join("\n")
    );
}

#[test]
fn a_connection_secret_that_is_spoiled_is_put_right() {
    let mut model = Model::started(&kinds::bucket());
    model
        .etcd
        .edit(|object| object.managed.wants_connection_secret = true);
    model.rest();
    let published = std::mem::take(&mut model.secret);
    assert!(!published.0.is_empty());
    model.pass(A);
    assert_eq!(model.secret, published, "whatever the last look said");

    model.secret = password("of somebody else");
    model.etcd.annotate(names::PAUSED, Some("true"));
    model.rest();
    assert_eq!(model.secret, password("of somebody else"), "not while paused");
    model.etcd.annotate(names::PAUSED, None);
    model.secret.0.clear();
    model.etcd.delete(model.now);
    model.rest();
    assert!(model.secret.0.is_empty(), "nor for an object that goes");
}

#[test]
fn details_of_what_somebody_else_has_are_not_published() {
    for subject in [kinds::bucket(), kinds::table()] {
        let mut model = Model::new(&subject);
        let parameters = json!({"size": 1, "fixed": "a"});
        let parameters = parameters.as_object().cloned().unwrap_or_default();
        model.cloud.foreign("thing", "m-other", &parameters, model.now);
        model.create();
        model
            .etcd
            .touch(|object| object.managed.wants_connection_secret = true);
        model.rest();
        assert_eq!(model.value("Synced"), "False/DoublyOwned", "{}", subject.name);
        assert!(model.secret.0.is_empty(), "{}", subject.name);
        // Once a person has said that it is this object's.
        model.etcd.annotate(names::ADOPT, Some("m-other"));
        model.rest();
        assert_eq!(model.value("Ready"), "True/Available", "{}", subject.name);
        assert!(!model.secret.0.is_empty(), "{}", subject.name);
    }
}

/// With a password that the upstream tells once, in the answer to the create.
fn told_once(subject: &Subject) -> Model {
    let mut subject = subject.clone();
    std::sync::Arc::make_mut(&mut subject.kind).connection_keys = vec![ConnectionKey {
        name: "password".to_owned(),
        description: String::new(),
        one_time: true,
    }];
    let mut model = Model::started(&subject);
    model
        .etcd
        .touch(|object| object.managed.wants_connection_secret = true);
    model
}

#[test]
fn published_one_time_details_raise_no_condition() {
    for subject in kinds::families() {
        let mut model = told_once(&subject);
        model.ends_ready();
        model.bridges[A].crash();
        model.advance(Duration::from_mins(2));
        model.ends_ready();
        assert_eq!(model.value(status::CONNECTION_DETAILS), "", "{}", subject.name);
        assert_eq!(model.record().details, Details::Complete, "{}", subject.name);
    }
}

#[test]
fn details_of_a_former_resource_are_not_those_of_the_next() {
    for subject in [kinds::named(), kinds::token(), kinds::marked(), kinds::table()] {
        let mut model = told_once(&subject);
        model.ends_ready();
        model.cloud.remove_by_hand(|_| true);
        model.advance(Duration::from_mins(2));
        model.rest_after(Script::on(Verb::Create, CallOutcome::LostAfter));
        model.ends_ready();
        let lost = model.value(status::CONNECTION_DETAILS);
        assert_eq!(lost, "False/Lost", "{}", subject.name);
        let events = model.events();
        let reported = events.iter().filter(|event| **event == "ConnectionDetailsLost");
        assert_eq!(reported.count(), 1, "{}", subject.name);
    }
}

#[test]
fn lost_one_time_details_are_reported() {
    for subject in [kinds::named(), kinds::token(), kinds::marked(), kinds::table()] {
        for fate in [
            CallOutcome::LostAfter,
            CallOutcome::CrashBeforePersist,
            CallOutcome::CrashAfterPersist,
        ] {
            let mut model = told_once(&subject);
            model.rest_after(Script::on(Verb::Create, fate));
            model.ends_ready();
            // A kind that repeats its token may be told again; this cloud does not.
            assert_eq!(
                model.value(status::CONNECTION_DETAILS),
                "False/Lost",
                "{} {fate:?}",
                subject.name
            );
            let reported = model
                .events()
                .iter()
                .filter(|event| **event == "ConnectionDetailsLost")
                .count();
            assert_eq!(reported, 1, "{} {fate:?}", subject.name);
            // The next resource brings new ones.
            model.cloud.remove_by_hand(|_| true);
            model.advance(Duration::from_mins(2));
            model.ends_ready();
            assert_eq!(
                model.value(status::CONNECTION_DETAILS),
                "",
                "{} {fate:?}",
                subject.name
            );
        }
    }
}
