//! Creates whose answer nobody has.

use std::time::Duration;

use bridge_core::{
    external::{Effect, FailureCode, Verb},
    managed::{Problem, Suspension, names},
};
use serde_json::json;

use crate::{
    fault_outcome::{CallOutcome, ObserveOutcome, Well, WriteOutcome},
    kinds::{self, Pace, Subject},
    reference_model::{A, B, Model},
    script::Script,
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
        model.rest_after(Script::on(Verb::Create, CallOutcome::CrashLate));
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
    // It asked for its lease right before it lost it.
    model.bridges[A].leads = true;
    model.step(A, &mut Well);
    model.bridges[A].leads = false;
    model.pass(A);
    assert_eq!(model.calls("create"), 1);
    model.ends_ready();
}

#[test]
fn trace_03_an_observation_from_before_the_deadline_proves_nothing() {
    let mut model = Model::started(&kinds::marked());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::CrashLate));
    // The process stands still between the look and what it makes of it.
    model.rest_after(Script::look(ObserveOutcome::Slow(Duration::from_secs(40))));
    assert_eq!(model.calls("create"), 1);
    model.ends_ready();
}

#[test]
fn trace_03_a_delayed_observation_proves_nothing() {
    // Its marker could not be seen when the call ran; the process stood still, and took it for an old look.
    let mut model = Model::started(&windowed(kinds::table(), 20).paced(Pace::AtOnce, Pace::AtOnce));
    model.cloud.marker_visibility = Duration::from_secs(20);
    model.stop_before(A, "create");
    model.step(A, &mut Well);
    model.advance(Duration::from_mins(1));
    model.ends_ready();
    assert_eq!(model.tokens(), 1);
    assert!(
        model.record().create().is_some(),
        "its create was taken for one that made nothing"
    );
}

#[test]
fn trace_04_a_late_create_may_be_invisible_when_looked_for() {
    let mut model = Model::started(&windowed(kinds::marked(), 20));
    model.cloud.visibility = Duration::from_secs(20);
    model.rest_after(Script::on(Verb::Create, CallOutcome::CrashLate));
    assert_eq!(model.calls("create"), 1);
    model.ends_ready();
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
fn trace_08_a_poll_without_effect_keeps_the_intent() {
    let forgotten = CallOutcome::Fails(FailureCode::OperationExpired, Effect::None);
    for subject in [kinds::token(), kinds::marked(), kinds::named()] {
        let subject = subject
            .paced(Pace::Long, Pace::AtOnce)
            .with(|manners| manners.name_at_end = true);
        let mut model = Model::started(&subject);
        model.rest_after(Script::on(Verb::Poll, forgotten));
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
    model.advance(Duration::from_mins(11));
    model.rest();
    model.verify();
    assert_eq!(model.value("Synced"), "False/CreateOutcomeUnknown");
    assert_eq!(model.made().len(), 1);
}

#[test]
fn trace_44_what_a_forgotten_operation_makes_may_be_seen_only_when_it_ends() {
    // Found by reading: absence was judged by the deadline of the call, minutes before the operation that it began had ended.
    for subject in [kinds::marked(), kinds::named(), kinds::queue(), kinds::nothing()] {
        let subject = subject
            .paced(Pace::Long, Pace::AtOnce)
            .with(|manners| manners.name_at_end = true)
            .shown_at_end();
        let mut model = Model::started(&subject);
        model.cloud.work_takes = Duration::from_mins(5);
        model.pass(A);
        model.cloud.forget_operations();
        model.advance(Duration::from_mins(2));
        model.rest();
        assert_eq!(model.tokens(), 1, "{}", subject.name);
        assert_ne!(
            model.value("Synced"),
            "False/CreateOutcomeUnknown",
            "{}",
            subject.name
        );
        if subject.name == "nothing" {
            // Its creation may take ten minutes.
            model.advance(Duration::from_mins(9));
            model.rest();
            assert_eq!(model.value("Synced"), "False/CreateOutcomeUnknown");
            continue;
        }
        model.ends_ready();
        assert_eq!(model.tokens(), 1, "{}", subject.name);
    }
}

#[test]
fn trace_44_an_operation_that_failed_has_ended() {
    let unknown = CallOutcome::Fails(FailureCode::OperationFailed, Effect::Unknown);
    let subject = kinds::marked()
        .paced(Pace::Long, Pace::AtOnce)
        .with(|manners| manners.name_at_end = true);
    let mut model = Model::started(&subject);
    model.pass(A);
    model.advance(Duration::from_secs(11));
    model.pass_with(A, &mut Script::on(Verb::Poll, unknown));
    assert_eq!(model.record().intent.map(|intent| intent.operation), Some(None));
}

#[test]
fn trace_11_a_stale_process_repeats_nothing() {
    let mut model = Model::started(&kinds::token());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::LostAfter));
    model.stop_before(A, "write metadata: record that the create is repeated");
    // The user pauses; A does not know yet.
    model.etcd.annotate(names::PAUSED, Some("true"));
    model.rest();
    assert_eq!(model.calls("create"), 1);
    assert_eq!(model.value("Synced"), "False/ReconcilePaused");
    model.etcd.annotate(names::PAUSED, None);
    model.ends_ready();
}

#[test]
fn trace_14_recovery_does_not_observe_by_an_older_name() {
    let mut model = Model::at_rest(&kinds::marked());
    model.cloud.remove_by_hand(|_| true);
    model.advance(Duration::from_mins(2));
    model.rest_after(Script::on(Verb::Create, CallOutcome::CrashBeforePersist));
    model.ends_ready();
    assert_eq!(model.calls("create"), 2);
}

#[test]
fn trace_14_recovery_does_not_use_the_name_of_an_earlier_attempt() {
    // What A's attempt began fails, and its token is free again: B's repeat makes another, and its answer is lost. Then A's comes.
    let subject = kinds::distribution()
        .paced(Pace::Long, Pace::AtOnce)
        .can(|can| can.token_retention = Duration::from_secs(18))
        .with(|manners| manners.frees_tokens = true);
    let mut model = Model::started(&subject);
    model.cloud.next_creation_fails = Some(Effect::None);
    model.cloud.work_takes = Duration::from_secs(1);
    model.stop_before(A, "create");
    model.step(A, &mut Well);
    model.advance(Duration::from_secs(2));
    model.lead(B);
    model.stop_before(B, "create \"\" attempt 1");
    model.step(B, &mut Script::on(Verb::Create, CallOutcome::LostAfter));
    model.pass(A);
    assert_ne!(model.record().external_name, model.made()[0].name);
    model.ends_ready();
    assert_eq!(model.tokens(), 1);
}

#[test]
fn trace_16_a_delayed_write_changes_nothing_later() {
    let mut model = Model::started(&kinds::token());
    let late = WriteOutcome::Late(Duration::from_secs(30));
    model.rest_after(Script::write("intent to create", late));
    let before = model.object().clone();
    model.advance(Duration::from_mins(1));
    assert_eq!(model.object(), &before);
    model.ends_ready();
    assert_eq!(model.calls("create"), 1);
}

#[test]
fn trace_16_a_delayed_write_spares_the_next_object() {
    let mut model = Model::started(&kinds::named());
    let late = WriteOutcome::Late(Duration::from_secs(20));
    model.pass_with(A, &mut Script::write("intent to create", late));
    model.etcd.delete(model.now);
    model.pass(A);
    assert!(model.etcd.object.is_none());
    let uid = model.create();
    model.ends_ready();
    assert_eq!(model.record().uid, uid);
}

#[test]
fn trace_16_a_former_objects_record_is_ignored() {
    for subject in [kinds::token(), kinds::marked(), kinds::nothing()] {
        let mut model = Model::at_rest(&subject);
        let former = model.object().managed.clone();
        model.etcd.annotate(names::ORPHAN, Some(&former.uid));
        model.etcd.delete(model.now);
        model.rest();
        let uid = model.create();
        model
            .etcd
            .annotate(names::RECORD, Some(former.annotation(names::RECORD)));
        model.ends_ready();
        assert_eq!(model.record().uid, uid, "{}", subject.name);
    }
}

#[test]
fn trace_21_a_crash_between_making_and_marking_ends_marked() {
    let mut model = Model::started(&kinds::bucket());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::LostAfter));
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
        model.rest_after(Script::on(Verb::Poll, CallOutcome::Fails(code, Effect::None)));
        assert_eq!(model.tokens(), 1);
        model.ends_ready();
    }
}

#[test]
fn trace_29_an_observation_from_before_the_create_does_not_confirm_it() {
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
    assert_ne!(model.value("Ready"), "True/Available", "{}", model.log.join("\n"));
    model.ends_ready();
}

#[test]
fn trace_11_a_stale_process_updates_nothing() {
    // The user edits the spec, and pauses; A has seen the edit alone.
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

/// Names differ within one place, such as a region, and the spec says which.
fn placed(subject: Subject) -> Subject {
    windowed(subject, 20).with(|manners| manners.placed = true)
}

#[test]
fn trace_33_an_unanswered_create_is_observed_as_recorded() {
    for subject in [kinds::named(), kinds::bucket(), kinds::table(), kinds::marked()] {
        for fate in [CallOutcome::CrashBeforePersist, CallOutcome::CrashLate] {
            let mut model = Model::started(&placed(subject.clone()));
            model.pass_with(A, &mut Script::on(Verb::Create, fate));
            model.edit("fixed", json!("b"));
            model.rest();
            model.verify();
            assert_eq!(model.made().len(), 1, "{}", model.log.join("\n"));
            assert_eq!(
                model.value("Synced"),
                "False/ReplacementRequired",
                "{}",
                subject.name
            );
            model.ends_gone();
        }
    }
}

#[test]
fn trace_37_an_unsent_intent_asks_no_person() {
    // Found by reading: of a hundred creations in an account that throttles, each whose intent was just written asked a person.
    let held = |model: &Model| Suspension {
        until: model.now + Duration::from_mins(2),
        problem: Problem {
            reason: "Throttled".to_owned(),
            message: "slow down".to_owned(),
        },
    };
    for subject in kinds::families() {
        let mut model = Model::started(&subject);
        model.stop_before(A, "write metadata: record the intent to create");
        model.step(A, &mut Script::default());
        model.suspension = Some(held(&model));
        model.pass(A);
        assert_eq!(model.calls("create"), 1, "{}: it is one call more", subject.name);
        model.ends_ready();

        let mut model = Model::started(&subject);
        model.rest_after(Script::write(
            "record the intent to create",
            WriteOutcome::LostAfter,
        ));
        model.ends_ready();
        assert_eq!(
            (model.calls("create"), model.tokens()),
            (1, 2),
            "{}",
            subject.name
        );

        let mut model = Model::started(&subject);
        model.stop_before(A, "write metadata: record the intent to create");
        model.step(A, &mut Script::default());
        let config = std::mem::replace(
            &mut model.config,
            Err(Problem {
                reason: "BadKey".to_owned(),
                message: "refused".to_owned(),
            }),
        );
        model.pass(A);
        model.advance(Duration::from_mins(5));
        model.config = config;
        model.ends_ready();
        assert_eq!(model.calls("create"), 1, "{}", subject.name);
    }
}

#[test]
fn trace_37_a_late_write_keeps_the_newer_unsent_intent() {
    // Found by reading: only the newest intent was remembered as unsent.
    for subject in kinds::families() {
        let mut model = Model::started(&subject);
        let late = WriteOutcome::Late(Duration::from_secs(1));
        model.stop_before(A, "write metadata: record the intent to create");
        model.step(A, &mut Script::write("record the intent to create", late));
        model.stop_before(A, "write metadata: record the intent to create");
        model.advance(Duration::from_secs(2));
        model.ends_ready();
        assert_eq!(model.calls("create"), 1, "{}", subject.name);
    }
}

#[test]
fn trace_37_an_intent_repeated_by_another_process_counts_as_sent() {
    for subject in [kinds::token(), kinds::named_with_token()] {
        let mut model = Model::started(&subject);
        model.stop_before(A, "write metadata: record the intent to create");
        model.step(A, &mut Script::default());
        model.lead(B);
        model.stop_before(B, "create");
        model.step(B, &mut Script::on(Verb::Create, CallOutcome::Late));
        model.lead(A);
        model.ends_ready();
    }
}
