//! Creates that are repeated: tokens, and the attempts under them.

use std::time::Duration;

use bridge_core::external::{Effect, FailureCode, Verb};
use serde_json::json;

use crate::{
    fault_outcome::{CallOutcome, ObserveOutcome, Well},
    invariants::record_of,
    kinds::{self, Pace},
    reference_model::{A, B, Model},
    script::Script,
};

#[test]
fn trace_06_a_throttled_repeat_draws_no_new_token() {
    let mut model = Model::started(&kinds::token());
    let throttled = CallOutcome::Fails(FailureCode::Throttled, Effect::None);
    model.rest_after(Script::on(Verb::Create, CallOutcome::LostAfter).and_on(Verb::Create, throttled));
    assert_eq!(model.tokens(), 1);
    model.ends_ready();
}

#[test]
fn trace_07_a_failure_of_ones_own_attempt_does_not_erase_anothers() {
    let mut model = Model::started(&kinds::token());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::LostAfter));
    model.stop_before(A, "create \"\" attempt 1");
    let throttled = CallOutcome::Fails(FailureCode::Throttled, Effect::None);
    model.step(A, &mut Script::on(Verb::Create, throttled));
    // A waits for the answer; B takes over and rewrites the intent.
    model.lead(B);
    model.stop_before(B, "create \"\" attempt 2");
    model.pass(A);
    let record = model.record();
    assert_eq!(record.create().map(|intent| intent.attempt), Some(2));
    model.pass(B);
    model.ends_ready();
    assert_eq!(model.tokens(), 1);
}

#[test]
fn trace_07_even_where_the_failure_ends_the_tokens_turn() {
    let mut model = Model::started(&kinds::token());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::LostAfter));
    model.stop_before(A, "create \"\" attempt 1");
    let refused = CallOutcome::Fails(FailureCode::InvalidSpec, Effect::None);
    model.step(A, &mut Script::on(Verb::Create, refused));
    model.lead(B);
    model.stop_before(B, "create \"\" attempt 2");
    model.pass(A);
    assert!(
        model
            .record()
            .create()
            .is_some_and(|intent| !intent.token_exhausted)
    );
}

#[test]
fn trace_07_a_failure_of_a_resolved_token_erases_nothing() {
    // A stands still with a refusal; B settles that create, and the next one is on its way when A goes on.
    let mut model = Model::started(&kinds::marked());
    let throttled = CallOutcome::Fails(FailureCode::Throttled, Effect::None);
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, throttled));
    model.lead(B);
    model.stop_before(B, "create");
    model.step(B, &mut Script::on(Verb::Create, CallOutcome::Late));
    let token = |model: &Model| model.record().create().map(|intent| intent.token.clone());
    let second = token(&model);
    model.pass(A);
    assert_eq!(token(&model), second);
    model.ends_ready();
    assert_eq!(model.tokens(), 2);
}

#[test]
fn trace_09_the_recorded_parameters_are_sent() {
    let mut model = Model::started(&kinds::token());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::CrashBeforePersist));
    model.edit("size", json!(2));
    model.ends_ready();
    assert_eq!(model.tokens(), 1);
    assert_eq!(model.calls("update"), 1, "what was edited meanwhile is an update");
}

#[test]
fn trace_09_a_reported_name_is_not_sent() {
    let mut model = Model::started(&kinds::token().paced(Pace::Long, Pace::AtOnce));
    model.pass(A);
    assert_eq!(model.record().external_name, "cloud-1");
    model.cloud.forget_operations();
    model.rest_after(Script::look(ObserveOutcome::Absent));
    model.ends_ready();
    assert_eq!((model.calls("create"), model.tokens()), (2, 1));
    let mut records = model.etcd.history.iter().filter_map(|version| record_of(version));
    let refused = records.any(|record| record.create().is_some_and(|intent| intent.token_exhausted));
    assert!(!refused, "{}", model.log.join("\n"));
}

#[test]
fn trace_10_a_token_counts_only_if_the_whole_repeat_lies_within_its_retention() {
    // 10 s for the call and 5 s for the clocks: a repeat would have to be over after 12 s.
    let short = kinds::token().can(|can| can.token_retention = Duration::from_secs(12));
    let mut model = Model::started(&short);
    model.rest_after(Script::on(Verb::Create, CallOutcome::LostAfter));
    model.verify();
    assert_eq!(model.value("Synced"), "False/CreateOutcomeUnknown");
    assert_eq!(model.calls("create"), 1);
    let long = kinds::token().can(|can| can.token_retention = Duration::from_mins(1));
    let mut model = Model::started(&long);
    model.rest_after(Script::on(Verb::Create, CallOutcome::LostAfter));
    model.ends_ready();
}

#[test]
fn trace_19_a_confirmed_token_is_not_used_again() {
    let mut model = Model::at_rest(&kinds::named_with_token());
    for _ in 0..3 {
        model.advance(Duration::from_secs(61));
        model.pass(A);
    }
    assert_eq!(model.calls("create"), 1);
    model.cloud.remove_by_hand(|_| true);
    model.advance(Duration::from_mins(2));
    model.ends_ready();
    assert_eq!(model.tokens(), 2);
    assert_eq!(model.calls("create"), 2);
}

#[test]
fn trace_24_a_repeats_end_resolves_nothing_during_attempt_0() {
    let subject = kinds::token()
        .paced(Pace::Long, Pace::AtOnce)
        .with(|manners| manners.frees_tokens = true);
    let mut model = Model::started(&subject);
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::Late));
    // The repeat begins an operation that fails at once, and the cloud forgets the token with it.
    model.cloud.next_creation_fails = Some(Effect::None);
    model.cloud.work_takes = Duration::from_secs(5);
    model.stop_before(A, "poll");
    model.step(A, &mut Well);
    model.ends_ready();
    assert_eq!(model.tokens(), 1);
    assert_eq!(model.made().len(), 1);
}

#[test]
fn trace_24_the_end_of_attempt_0_resolves_nothing_during_a_repeat() {
    // Found by the random schedules: A's answer comes after B's repeat.
    let subject = kinds::token()
        .paced(Pace::Long, Pace::AtOnce)
        .with(|manners| manners.frees_tokens = true);
    let mut model = Model::started(&subject);
    model.cloud.next_creation_fails = Some(Effect::None);
    model.cloud.work_takes = Duration::from_secs(5);
    model.stop_before(A, "create");
    model.step(A, &mut Well);
    model.lead(B);
    model.stop_before(B, "create \"\" attempt 1");
    model.step(B, &mut Script::on(Verb::Create, CallOutcome::Late));
    model.pass(A);
    model.lead(A);
    model.ends_ready();
    assert_eq!(model.tokens(), 1);
}

#[test]
fn trace_24_an_older_answer_does_not_take_the_place_of_a_newer_operation() {
    let subject = kinds::token()
        .paced(Pace::Long, Pace::AtOnce)
        .with(|manners| manners.frees_tokens = true);
    let mut model = Model::started(&subject);
    model.cloud.next_creation_fails = Some(Effect::None);
    model.cloud.work_takes = Duration::from_secs(1);
    model.stop_before(A, "create");
    model.step(A, &mut Well);
    // What A's attempt began fails, and its token is free again; B's repeat makes another before A has its answer.
    model.advance(Duration::from_secs(2));
    model.cloud.work_takes = kinds::WORK;
    model.lead(B);
    model.pass(B);
    let held = model
        .record()
        .create()
        .and_then(|intent| intent.operation.clone());
    assert_eq!(held.as_ref().map(|operation| operation.attempt), Some(1));
    model.pass(A);
    assert_eq!(
        model
            .record()
            .create()
            .and_then(|intent| intent.operation.clone()),
        held
    );
    assert_eq!(model.record().external_name, model.made()[0].name);
    model.ends_ready();
    assert_eq!(model.tokens(), 1);
}

#[test]
fn trace_24_an_older_operations_end_resolves_nothing() {
    let subject = kinds::token()
        .paced(Pace::Long, Pace::AtOnce)
        .with(|manners| manners.frees_tokens = true);
    let mut model = Model::started(&subject);
    model.cloud.next_creation_fails = Some(Effect::None);
    model.cloud.work_takes = Duration::from_secs(1);
    model.stop_before(A, "create");
    model.step(A, &mut Well);
    // A stands still with the answer. The repeat is refused, and is repeated alone; that one is on its way when A goes on.
    model.advance(Duration::from_secs(2));
    model.lead(B);
    let refused = CallOutcome::Fails(FailureCode::InvalidSpec, Effect::None);
    model.stop_before_with(B, "create \"\" attempt 2", &mut Script::on(Verb::Create, refused));
    model.step(B, &mut Script::on(Verb::Create, CallOutcome::Late));
    model.pass(A);
    model.lead(A);
    model.ends_ready();
    assert_eq!(model.tokens(), 1);
}

#[test]
fn trace_24_absence_of_an_older_attempts_name_resolves_nothing() {
    let subject = kinds::token()
        .paced(Pace::Long, Pace::AtOnce)
        .with(|manners| manners.frees_tokens = true);
    let mut model = Model::started(&subject);
    model.cloud.next_creation_fails = Some(Effect::None);
    model.cloud.work_takes = Duration::from_secs(1);
    model.stop_before(A, "create");
    model.step(A, &mut Well);
    // A stands still with the answer. The repeat is refused, and is repeated alone; that one is on its way when A goes on.
    model.advance(Duration::from_secs(2));
    model.lead(B);
    let refused = CallOutcome::Fails(FailureCode::InvalidSpec, Effect::None);
    model.stop_before_with(B, "create \"\" attempt 2", &mut Script::on(Verb::Create, refused));
    model.step(B, &mut Script::on(Verb::Create, CallOutcome::Late));
    // Nor may the token be repeated any more: only a person can tell.
    model.etcd.edit(|object| object.managed.policies.create = false);
    model.pass(A);
    model.lead(A);
    model.rest();
    model.verify();
    assert_eq!((model.tokens(), model.made().len()), (1, 1));
    assert_eq!(model.value("Synced"), "False/CreateOutcomeUnknown");
}

#[test]
fn trace_25_a_refused_token_does_not_stick() {
    // The intent stands, nothing was sent, its parameters are invalid, and the user corrects them.
    for subject in [kinds::token(), kinds::named_with_token(), kinds::distribution()] {
        let mut model = Model::started(&subject);
        model.edit("invalid", json!(true));
        model.stop_before(A, "create");
        model.bridges[A].crash();
        model.etcd.edit(|object| {
            object.parameters.remove("invalid");
        });
        model.rest();
        model.ends_ready();
        assert_eq!(model.tokens(), 2, "{}", subject.name);
    }
}

#[test]
fn trace_25_a_hindered_exclusive_repeat_asks_no_person() {
    for hindered in [
        CallOutcome::Fails(FailureCode::Throttled, Effect::None),
        CallOutcome::LostBefore,
    ] {
        let mut model = Model::started(&kinds::token());
        model.edit("invalid", json!(true));
        model.stop_before(A, "create");
        model.bridges[A].crash();
        model.etcd.edit(|object| {
            object.parameters.remove("invalid");
        });
        model.stop_before(A, "create \"\" attempt 2");
        assert!(model.record().create().is_some_and(|intent| intent.exclusive));
        model.step(A, &mut Script::on(Verb::Create, hindered));
        model.ends_ready();
        assert_eq!(model.tokens(), 2);
        assert!(!model.events().contains(&"CreateOutcomeUnknown"));
    }
}

#[test]
fn trace_25_a_repeat_goes_alone_only_when_nothing_earlier_can_come() {
    let mut model = Model::started(&kinds::token());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::Late));
    let refused = CallOutcome::Fails(FailureCode::InvalidSpec, Effect::None);
    model.stop_before_with(A, "create \"\" attempt 2", &mut Script::on(Verb::Create, refused));
    assert!(model.record().create().is_some_and(|intent| intent.exclusive));
    assert!(model.flights.is_empty(), "{}", model.log.join("\n"));
    model.ends_ready();
    assert_eq!(model.tokens(), 1);
}
