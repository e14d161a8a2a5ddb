//! Creates whose answer nobody has.

use std::time::Duration;

use bridge_core::{
    external::{Effect, FailureCode, Verb},
    managed::names,
};
use serde_json::json;

use crate::{
    fate::{CallFate, LookFate, Well, WriteFate},
    kinds::{self, Pace, Subject},
    script::Script,
    world::{A, B, Model},
};

fn windowed(subject: Subject, seconds: u64) -> Subject {
    subject.can(|can| can.consistency_window = Duration::from_secs(seconds))
}

#[test]
fn trace_01_a_late_create_after_a_crash_makes_one() {
    for subject in [
        kinds::marked(),
        kinds::table(),
        kinds::named(),
        kinds::distribution(),
    ] {
        let mut model = Model::started(&subject);
        model.rest_after(Script::on(Verb::Create, CallFate::CrashLate));
        model.ends_ready();
        model.ends_gone();
    }
}

#[test]
fn trace_01_the_lease_moves_between_intent_and_create() {
    for subject in [kinds::marked(), kinds::table(), kinds::named(), kinds::token()] {
        let mut model = Model::started(&subject);
        model.stop_before(A, "create");
        model.lead(B);
        model.pass(B);
        model.pass(A);
        model.ends_ready();
        assert_eq!(model.made().len(), 1);
    }
}

#[test]
fn trace_01_nothing_is_sent_after_its_deadline() {
    let mut model = Model::started(&kinds::marked());
    model.stop_before(A, "create");
    model.lead(B);
    model.rest();
    assert_eq!(model.calls("create"), 1, "B made it when A could no more");
    model.pass(A);
    assert_eq!(model.calls("create"), 1);
    model.ends_ready();
}

#[test]
fn trace_03_a_look_from_before_the_deadline_is_worth_nothing_after_it() {
    let mut model = Model::started(&kinds::marked());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallFate::CrashLate));
    // The process stands still between the look and what it makes of it.
    model.rest_after(Script::look(LookFate::Slow(Duration::from_secs(40))));
    assert_eq!(model.calls("create"), 1);
    model.ends_ready();
}

#[test]
fn trace_03_nor_is_what_an_answer_showed_when_it_lay_about() {
    // Its marker could not be seen when the call ran; the process stood still, and took it for an old look.
    let mut model = Model::started(&windowed(kinds::table(), 20).paced(Pace::AtOnce, Pace::AtOnce));
    model.cloud.marker_visibility = Duration::from_secs(20);
    model.stop_before(A, "create");
    model.step(A, &mut Well);
    model.advance(Duration::from_mins(1));
    model.ends_ready();
    assert_eq!(model.tokens(), 1);
    assert!(!model.record().adopted, "it was ours from the beginning");
}

#[test]
fn trace_04_a_late_create_may_be_invisible_when_looked_for() {
    let mut model = Model::started(&windowed(kinds::marked(), 20));
    model.cloud.visibility = Duration::from_secs(20);
    model.rest_after(Script::on(Verb::Create, CallFate::CrashLate));
    assert_eq!(model.calls("create"), 1);
    model.ends_ready();
}

#[test]
fn trace_06_a_throttled_repeat_draws_no_new_token() {
    let mut model = Model::started(&kinds::token());
    let throttled = CallFate::Fails(FailureCode::Throttled, Effect::None);
    model.rest_after(Script::on(Verb::Create, CallFate::LostAfter).and_on(Verb::Create, throttled));
    assert_eq!(model.tokens(), 1);
    model.ends_ready();
}

#[test]
fn trace_07_a_failure_of_ones_own_attempt_does_not_erase_anothers() {
    let mut model = Model::started(&kinds::token());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallFate::LostAfter));
    model.stop_before(A, "create \"\" attempt 1");
    let throttled = CallFate::Fails(FailureCode::Throttled, Effect::None);
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
    model.step(A, &mut Script::on(Verb::Create, CallFate::LostAfter));
    model.stop_before(A, "create \"\" attempt 1");
    let refused = CallFate::Fails(FailureCode::InvalidSpec, Effect::None);
    model.step(A, &mut Script::on(Verb::Create, refused));
    model.lead(B);
    model.stop_before(B, "create \"\" attempt 2");
    model.pass(A);
    assert!(model.record().create().is_some_and(|intent| !intent.turn_over));
}

#[test]
fn trace_08_a_forgotten_operation_loses_its_handle_and_not_its_intent() {
    for subject in [
        kinds::token(),
        windowed(kinds::marked(), 5),
        kinds::distribution(),
    ] {
        let subject = subject
            .paced(Pace::Long, Pace::AtOnce)
            .with(|manners| manners.name_at_end = true);
        let mut model = Model::started(&subject);
        model.pass(A);
        assert_eq!(model.record().external_name, "", "{}", subject.name);
        model.cloud.forget_operations();
        model.ends_ready();
        assert_eq!(model.tokens(), 1, "{}", subject.name);
    }
}

#[test]
fn trace_08_where_nothing_helps_a_person_is_asked() {
    let subject = kinds::nothing()
        .paced(Pace::Long, Pace::AtOnce)
        .with(|manners| manners.name_at_end = true);
    let mut model = Model::started(&subject);
    model.pass(A);
    model.cloud.forget_operations();
    model.rest();
    model.verify();
    assert_eq!(model.says("Synced"), "False/CreateOutcomeUnknown");
    assert_eq!(model.made().len(), 1);
}

#[test]
fn trace_09_the_recorded_parameters_are_sent() {
    let mut model = Model::started(&kinds::token());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallFate::CrashBeforePersist));
    model.edit("size", json!(2));
    model.ends_ready();
    assert_eq!(model.tokens(), 1);
    assert_eq!(model.calls("update"), 1, "what was edited meanwhile is an update");
}

#[test]
fn trace_09_and_no_name_that_an_answer_told() {
    let mut model = Model::started(&kinds::token().paced(Pace::Long, Pace::AtOnce));
    model.pass(A);
    assert_eq!(model.record().external_name, "cloud-1");
    model.cloud.forget_operations();
    model.rest_after(Script::look(LookFate::Absent));
    model.ends_ready();
    assert_eq!((model.calls("create"), model.tokens()), (2, 1));
}

#[test]
fn trace_10_a_token_counts_only_if_the_whole_repeat_lies_within_its_retention() {
    // 10 s for the call and 5 s for the clocks: a repeat would have to be over after 12 s.
    let short = kinds::token().can(|can| can.token_retention = Duration::from_secs(12));
    let mut model = Model::started(&short);
    model.rest_after(Script::on(Verb::Create, CallFate::LostAfter));
    model.verify();
    assert_eq!(model.says("Synced"), "False/CreateOutcomeUnknown");
    assert_eq!(model.calls("create"), 1);
    let long = kinds::token().can(|can| can.token_retention = Duration::from_mins(1));
    let mut model = Model::started(&long);
    model.rest_after(Script::on(Verb::Create, CallFate::LostAfter));
    model.ends_ready();
}

#[test]
fn trace_11_a_stale_process_repeats_nothing() {
    let mut model = Model::started(&kinds::token());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallFate::LostAfter));
    model.stop_before(A, "write metadata: record that the create is repeated");
    // The user pauses; A does not know yet.
    model.etcd.annotate(names::PAUSED, Some("true"));
    model.rest();
    assert_eq!(model.calls("create"), 1);
    assert_eq!(model.says("Synced"), "False/ReconcilePaused");
    model.etcd.annotate(names::PAUSED, None);
    model.ends_ready();
}

#[test]
fn trace_14_recovery_does_not_look_by_an_older_name() {
    let mut model = Model::at_rest(&kinds::marked());
    model.cloud.remove_by_hand(|_| true);
    model.advance(Duration::from_mins(2));
    model.rest_after(Script::on(Verb::Create, CallFate::CrashBeforePersist));
    model.ends_ready();
    assert_eq!(model.calls("create"), 2);
}

#[test]
fn trace_16_a_delayed_write_changes_nothing_later() {
    let mut model = Model::started(&kinds::token());
    let late = WriteFate::Late(Duration::from_secs(30));
    model.rest_after(Script::write("intent to create", late));
    let before = model.object().clone();
    model.advance(Duration::from_mins(1));
    assert_eq!(model.object(), &before);
    model.ends_ready();
    assert_eq!(model.calls("create"), 1);
}

#[test]
fn trace_16_nor_on_the_next_object_of_that_name() {
    let mut model = Model::started(&kinds::named());
    let late = WriteFate::Late(Duration::from_secs(20));
    model.pass_with(A, &mut Script::write("intent to create", late));
    model.etcd.delete(model.now);
    model.pass(A);
    assert!(model.etcd.object.is_none());
    let uid = model.create();
    model.ends_ready();
    assert_eq!(model.record().uid, uid);
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
fn trace_21_a_crash_between_making_and_marking_ends_marked() {
    let mut model = Model::started(&kinds::bucket());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallFate::LostAfter));
    model.cloud.objects[0].marker.clear();
    model.bridges[A].crash();
    model.rest();
    model.advance(Duration::from_mins(1));
    model.ends_ready();
    assert_eq!(model.made()[0].marker, "m-uid-1");
    assert!(
        model
            .events()
            .iter()
            .all(|event| *event != "AdoptedExternalResource")
    );
    model.ends_gone();
}

#[test]
fn trace_23_a_throttled_poll_settles_nothing() {
    for code in [
        FailureCode::Throttled,
        FailureCode::Unavailable,
        FailureCode::Internal,
    ] {
        let subject = kinds::token().paced(Pace::Long, Pace::AtOnce);
        let mut model = Model::started(&subject);
        model.rest_after(Script::on(Verb::Poll, CallFate::Fails(code, Effect::None)));
        assert_eq!(model.tokens(), 1);
        model.ends_ready();
    }
}

#[test]
fn trace_24_the_end_of_a_repeat_settles_nothing_while_attempt_0_may_be_under_way() {
    let subject = kinds::token()
        .paced(Pace::Long, Pace::AtOnce)
        .with(|manners| manners.frees_tokens = true);
    let mut model = Model::started(&subject);
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallFate::Late));
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
fn trace_24_nor_the_end_of_attempt_0_while_a_repeat_may_be_under_way() {
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
    model.step(B, &mut Script::on(Verb::Create, CallFate::Late));
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
fn trace_24_nor_the_end_of_an_older_operation_while_the_last_attempt_may_be_under_way() {
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
    let refused = CallFate::Fails(FailureCode::InvalidSpec, Effect::None);
    model.stop_before_with(B, "create \"\" attempt 2", &mut Script::on(Verb::Create, refused));
    model.step(B, &mut Script::on(Verb::Create, CallFate::Late));
    model.pass(A);
    model.lead(A);
    model.rest();
    model.verify();
    assert_eq!((model.tokens(), model.made().len()), (1, 1));
    assert_eq!(model.says("Synced"), "False/CreateOutcomeUnknown");
}

#[test]
fn trace_29_a_look_from_before_the_create_does_not_confirm_it() {
    // B saw the former resource, which was then removed by hand; A's create of the next one never arrives.
    let mut model = Model::at_rest(&kinds::named());
    model.advance(Duration::from_mins(5));
    model.rest();
    model.advance(Duration::from_secs(50));
    model.lead(B);
    model.pass(B);
    model.lead(A);
    model.cloud.remove_by_hand(|_| true);
    model.stop_before(A, "create");
    model.bridges[A].crash();
    model.lead(B);
    model.pass(B);
    assert_ne!(model.says("Ready"), "True/Available", "{}", model.log.join("\n"));
    model.ends_ready();
}

#[test]
fn trace_11_nor_does_it_update() {
    // The user wishes for something, and pauses; A has seen the wish alone.
    let mut model = Model::at_rest(&kinds::named());
    model.advance(Duration::from_mins(1));
    model.edit("size", json!(2));
    model.stop_before(A, "observe");
    model.bridges[A].lags_until = Some(model.now + Duration::from_mins(1));
    model.etcd.annotate(names::PAUSED, Some("true"));
    model.pass(A);
    model.verify();
    assert_eq!(model.calls("update"), 0);
}

/// Names are told apart within one place, such as a region, and the wish says which.
fn placed(subject: Subject) -> Subject {
    windowed(subject, 20).with(|manners| manners.placed = true)
}

#[test]
fn trace_33_an_unanswered_create_is_looked_for_where_it_was_wished() {
    for subject in [kinds::named(), kinds::bucket(), kinds::table(), kinds::marked()] {
        for fate in [CallFate::CrashBeforePersist, CallFate::CrashLate] {
            let mut model = Model::started(&placed(subject.clone()));
            model.pass_with(A, &mut Script::on(Verb::Create, fate));
            model.edit("fixed", json!("b"));
            model.rest();
            model.verify();
            assert_eq!(model.made().len(), 1, "{}", model.log.join("\n"));
            assert_eq!(
                model.says("Synced"),
                "False/ReplacementRequired",
                "{}",
                subject.name
            );
            model.ends_gone();
        }
    }
}
