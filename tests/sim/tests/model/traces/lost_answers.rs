//! Creates whose answer was lost or contradicts itself, and absences that are believed too early.

use std::time::Duration;

use bridge_core::{
    external::{Effect, FailureCode, Verb},
    managed::{Policies, names},
};
use serde_json::json;

use crate::{
    bridge::{Phase, Stage},
    fault_outcome::{CallOutcome, Well},
    kinds::{self, Pace, Subject},
    reference_model::{A, Model, config},
    script::Script,
};

/// Its creation takes five minutes, and shows nothing before it ends.
fn shown_at_end(subject: Subject) -> Model {
    let subject = subject.paced(Pace::Long, Pace::AtOnce).shown_at_end();
    let mut model = Model::started(&subject);
    model.cloud.work_takes = Duration::from_mins(5);
    model
}

/// So many minutes pass, and what falls due is done.
fn pass_minutes(model: &mut Model, minutes: u32) {
    for _ in 0..minutes {
        model.rest();
        model.advance(Duration::from_mins(1));
    }
}

/// The user deletes it, and it goes in time, with what was made for it.
fn ends_gone_in_time(model: &mut Model) {
    model.etcd.delete(model.now);
    pass_minutes(model, 12);
    model.ends_gone();
}

#[test]
fn trace_46_a_lost_answer_is_waited_for_until_creation_must_have_ended() {
    for subject in [
        kinds::marked(),
        kinds::named(),
        kinds::queue(),
        kinds::table(),
        kinds::distribution(),
        kinds::named_with_token(),
    ] {
        for fate in [
            CallOutcome::LostAfter,
            CallOutcome::CrashBeforePersist,
            CallOutcome::Late,
        ] {
            let mut model = shown_at_end(subject.clone());
            model.rest_after(Script::on(Verb::Create, fate));
            pass_minutes(&mut model, 3);
            assert_eq!(model.tokens(), 1, "{} {fate:?}", subject.name);
            pass_minutes(&mut model, 4);
            model.ends_ready();
            assert_eq!(model.tokens(), 1, "{} {fate:?}", subject.name);
            model.ends_gone();
        }
    }
}

#[test]
fn trace_46_a_deletion_waits_for_a_creation_nobody_can_see() {
    for subject in [kinds::marked(), kinds::named(), kinds::queue(), kinds::table()] {
        for during in [false, true] {
            let subject = subject.clone().can(|can| can.delete_during_create = during);
            let mut model = shown_at_end(subject);
            model.stop_before(A, "create");
            model.step(A, &mut Script::on(Verb::Create, CallOutcome::CrashBeforePersist));
            ends_gone_in_time(&mut model);
        }
    }
}

#[test]
fn trace_46_nothing_is_deleted_before_it_can_be_seen() {
    // The cloud would take it, but knows nothing of that name yet.
    for subject in [kinds::named(), kinds::table(), kinds::token()] {
        let mut model = shown_at_end(subject.can(|can| can.delete_during_create = true));
        model.pass(A);
        assert!(model.record().create().is_some());
        model.ends_gone();
    }
}

#[test]
fn trace_46_a_person_is_asked_when_the_creation_must_have_ended() {
    let mut model = shown_at_end(kinds::nothing());
    model.rest_after(Script::on(Verb::Create, CallOutcome::LostAfter));
    model.advance(Duration::from_mins(8));
    model.rest();
    assert_ne!(model.value("Synced"), "False/CreateOutcomeUnknown");
    model.advance(Duration::from_mins(3));
    model.rest();
    assert_eq!(model.value("Synced"), "False/CreateOutcomeUnknown");
}

#[test]
fn trace_46_a_repeat_counts_from_its_own_time() {
    // The repeat, not attempt 0, is what begins the creation; then the token is of no more use.
    let subject = kinds::distribution().can(|can| can.token_retention = Duration::from_secs(75));
    let mut model = shown_at_end(subject.undeclared(Duration::from_mins(5)));
    model.stop_before(A, "create");
    model.bridges[A].crash();
    model.advance(Duration::from_secs(30));
    model.rest_after(Script::on(Verb::Create, CallOutcome::LostAfter));
    model.ends_ready();
    assert_eq!(model.tokens(), 1);
}

#[test]
fn trace_46_what_shows_at_once_is_not_waited_for() {
    let mut model = Model::started(&kinds::marked().paced(Pace::Long, Pace::AtOnce));
    model.rest_after(Script::on(Verb::Create, CallOutcome::LostBefore));
    model.advance(Duration::from_secs(20));
    model.rest();
    assert_eq!(
        model.tokens(),
        2,
        "its absence is believed after deadline and margin"
    );
}

#[test]
fn trace_46_an_operation_that_failed_is_not_waited_for() {
    let subject = kinds::marked().paced(Pace::Long, Pace::AtOnce).shown_at_end();
    let mut model = Model::started(&subject);
    model.pass(A);
    model.cloud.remove_by_hand(|_| true);
    model.advance(Duration::from_secs(12));
    let failed = CallOutcome::Fails(FailureCode::OperationFailed, Effect::Unknown);
    model.pass_with(A, &mut Script::on(Verb::Poll, failed));
    model.advance(Duration::from_secs(30));
    model.rest();
    assert_eq!(model.tokens(), 2, "{}", model.log.join("\n"));
}

#[test]
fn trace_46_an_answered_creation_is_not_waited_for() {
    let mut model = Model::started(&kinds::named().undeclared(Duration::from_hours(1)));
    model.stop_before(A, "create");
    model.step(A, &mut Script::default());
    assert!(model.record().create().is_some());
    // Removed before anything but the answer has shown it.
    model.edit("size", json!(2));
    model.cloud.remove_by_hand(|_| true);
    pass_minutes(&mut model, 3);
    assert_eq!(model.tokens(), 2, "{}", model.log.join("\n"));
    model.ends_ready();
}

/// Its creation takes five minutes, shows nothing before it ends, and is to be seen 20 seconds after that.
fn shown_after_end(subject: Subject) -> Model {
    let window = |can: &mut bridge_core::kind::Capabilities| can.consistency_window = Duration::from_secs(30);
    let subject = subject
        .can(window)
        .with(|manners| (manners.bare, manners.name_at_end) = (true, true));
    let mut model = shown_at_end(subject);
    model.cloud.visibility = model.cloud.work_takes + Duration::from_secs(20);
    model.pass(A);
    assert!(
        model
            .record()
            .create()
            .is_some_and(|intent| intent.operation.is_some())
    );
    model.advance(model.cloud.work_takes + Duration::from_secs(1));
    model
}

#[test]
fn trace_55_a_creation_that_took_long_may_be_hidden_when_it_ends() {
    // Found by reading: its absence was judged from the deadline of the call that had begun it.
    let mut model = shown_after_end(kinds::named());
    model.pass(A);
    // It is observed before it can be seen.
    model.edit("size", json!(2));
    pass_minutes(&mut model, 3);
    model.ends_ready();
    assert_eq!(model.tokens(), 1, "{}", model.log.join("\n"));
}

#[test]
fn trace_56_a_failed_creation_that_took_long_may_be_hidden_when_it_ends() {
    let failed = CallOutcome::Fails(FailureCode::OperationFailed, Effect::Unknown);
    for deleted in [false, true] {
        let mut model = shown_after_end(kinds::marked());
        model.pass_with(A, &mut Script::on(Verb::Poll, failed));
        assert!(
            model
                .record()
                .create()
                .is_some_and(|intent| intent.operation_ended)
        );
        if deleted {
            ends_gone_in_time(&mut model);
        } else {
            pass_minutes(&mut model, 3);
            model.ends_ready();
            assert_eq!(model.tokens(), 1, "{}", model.log.join("\n"));
        }
    }
}

#[test]
fn trace_47_an_absence_of_half_a_second_creates_nothing() {
    for subject in [kinds::marked(), kinds::token(), kinds::nothing(), kinds::named()] {
        let mut model = Model::at_rest(&subject);
        model.advance(Duration::from_secs(61));
        model.cloud.blip = Some(model.now + Duration::from_millis(500));
        model.rest();
        model.verify();
        assert_eq!(model.calls("create"), 1, "{}", subject.name);
        // What is gone for good is made anew, a little later.
        model.cloud.remove_by_hand(|_| true);
        model.advance(Duration::from_secs(61));
        model.ends_ready();
        assert_eq!(model.calls("create"), 2, "{}", subject.name);
    }
}

#[test]
fn trace_48_a_failure_that_tells_a_name_has_had_an_effect() {
    for subject in [
        kinds::token(),
        kinds::nothing(),
        kinds::marked(),
        kinds::distribution(),
    ] {
        for pace in [Pace::AtOnce, Pace::Long] {
            for code in [
                FailureCode::Throttled,
                FailureCode::PermissionDenied,
                FailureCode::InvalidSpec,
            ] {
                let mut model = Model::started(&subject.clone().paced(pace, Pace::AtOnce));
                model.rest_after(Script::on(Verb::Create, CallOutcome::NamedWithoutEffect(code)));
                assert!(
                    model.events().contains(&"ContradictoryAnswer"),
                    "{} {:?}",
                    subject.name,
                    model.events()
                );
                model.advance(Duration::from_mins(5));
                model.ends_ready();
                assert_eq!(model.tokens(), 1, "{} {code:?}", subject.name);
                model.ends_gone();
            }
        }
    }
}

#[test]
fn trace_48_a_refused_name_that_was_sent_contradicts_nothing() {
    let mut model = Model::started(&kinds::named());
    let throttled = CallOutcome::Fails(FailureCode::Throttled, Effect::None);
    model.rest_after(Script::on(Verb::Create, throttled));
    assert!(!model.events().contains(&"ContradictoryAnswer"));
    model.ends_ready();
}

/// A pass, and how often it decides.
fn decisions_of_pass(model: &mut Model) -> u32 {
    model.bridges[A].dirty = true;
    let mut decisions = 0;
    loop {
        if let Phase::Waiting(wait) = &model.bridges[A].phase {
            model.advance_to(wait.until);
        }
        model.step(A, &mut Well);
        match model.bridges[A].stage() {
            Stage::Resting(_) => return decisions,
            Stage::Deciding => decisions += 1,
            _ => {}
        }
    }
}

#[test]
fn a_spec_edited_during_creation_is_not_created_again_and_again() {
    for bare in [false, true] {
        let subject = kinds::named_with_token()
            .can(|can| can.consistency_window = Duration::from_secs(20))
            .with(|manners| manners.bare = bare);
        let mut model = Model::started(&subject);
        model.cloud.visibility = Duration::from_secs(20);
        model.stop_before(A, "create");
        model.step(A, &mut Script::on(Verb::Create, CallOutcome::CrashBeforePersist));
        model.pass(A);
        assert_eq!(model.calls("create"), 1, "its process died");
        model.edit("size", json!(2));
        let decisions = decisions_of_pass(&mut model);
        assert_eq!(model.calls("create"), 2, "bare {bare}\n{}", model.log.join("\n"));
        assert!(decisions < 25, "{decisions}\n{}", model.log.join("\n"));
        model.ends_ready();
        assert_eq!((model.calls("create"), model.tokens()), (2, 1), "bare {bare}");
    }
}

#[test]
fn a_stop_before_any_observation_is_looked_at_again() {
    let mut model = Model::started(&kinds::token());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::LostAfter));
    model.bridges[A].crash();
    model.config = Ok(config("account-2"));
    model.pass(A);
    assert_eq!(model.value("Synced"), "False/ConfigIdentityChanged");
    assert_eq!(model.calls("observe"), 0);
    assert!(matches!(model.bridges[A].phase, Phase::Resting(Some(_))));
    // Nobody tells that it was put back.
    model.config = Ok(config("account-1"));
    model.ends_ready();
}

#[test]
fn a_delete_brings_the_state_that_its_observation_returned() {
    for subject in [kinds::named(), kinds::queue(), kinds::marked(), kinds::table()] {
        for delete in [Pace::AtOnce, Pace::Long, Pace::Driven] {
            let subject = subject.clone().paced(Pace::AtOnce, delete);
            let subject = subject.with(|manners| manners.stateful = true);
            let mut model = Model::started(&subject);
            model.stop_before(A, "create");
            model.step(A, &mut Script::on(Verb::Create, CallOutcome::CrashBeforePersist));
            model.ends_gone();
            assert_eq!(model.calls("delete"), 1, "{} {delete:?}", subject.name);
        }
    }
}

#[test]
fn a_delete_brings_the_state_of_what_a_person_named() {
    let subject = kinds::nothing().with(|manners| manners.stateful = true);
    let mut model = Model::started(&subject);
    model.rest_after(Script::on(Verb::Create, CallOutcome::LostAfter));
    model.etcd.delete(model.now);
    model.rest();
    let question = model.object().managed.status.progress.question.clone();
    let answer = format!("exists/{}/cloud-1", question.expect("a question").id);
    model.etcd.annotate(names::CREATE_OUTCOME, Some(&answer));
    model.ends_gone();
    assert_eq!(model.calls("delete"), 1);
}

#[test]
fn a_policy_without_create_still_waits_for_what_is_hidden() {
    let mut model = shown_at_end(kinds::marked());
    model.rest_after(Script::on(Verb::Create, CallOutcome::LostAfter));
    model.etcd.edit(|object| {
        object.managed.policies = Policies::of(&json!({"managementPolicies": ["Observe", "Delete"]}));
    });
    pass_minutes(&mut model, 2);
    ends_gone_in_time(&mut model);
}
