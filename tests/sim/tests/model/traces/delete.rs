//! Deletions, and what is left, or taken, by them.

use std::time::Duration;

use bridge_core::{
    external::{Effect, FailureCode, Verb},
    managed::{Call, ObserveCall, names},
};
use jiff::SignedDuration;
use serde_json::json;

use crate::{
    fault_outcome::{CallOutcome, ObserveOutcome, Outcomes, Well, WriteOutcome},
    kinds::{self, Pace},
    reference_model::{A, B, Model},
    script::Script,
};

/// All goes well, save that no status can be written.
pub(super) struct WithoutStatus;

impl Outcomes for WithoutStatus {
    fn call(&mut self, call: &Call) -> CallOutcome {
        Well.call(call)
    }

    fn look(&mut self, asked: &ObserveCall) -> ObserveOutcome {
        Well.look(asked)
    }

    fn write(&mut self, what: &str, _: bool) -> WriteOutcome {
        if what == "status" {
            WriteOutcome::LostBefore
        } else {
            WriteOutcome::Lands
        }
    }
}

/// No call of its creation can be on its way any more.
pub(super) fn grow_old(model: &mut Model) {
    model.advance(Duration::from_mins(1));
    model.rest();
}

#[test]
fn trace_02_a_late_create_is_not_left_by_a_deletion() {
    for subject in [
        kinds::named(),
        kinds::bucket(),
        kinds::marked(),
        kinds::table(),
        kinds::token(),
    ] {
        let mut model = Model::started(&subject);
        model.stop_before(A, "create");
        model.step(A, &mut Script::on(Verb::Create, CallOutcome::CrashLate));
        model.ends_gone();
        assert_eq!(model.cloud.removed.len(), 1, "{}", subject.name);
    }
}

#[test]
fn trace_05_a_token_kind_learns_the_name_to_delete() {
    let mut model = Model::started(&kinds::token());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::CrashBeforePersist));
    model.advance(Duration::from_secs(1));
    model.bridges[A].crash();
    model.ends_gone();
    assert_eq!((model.calls("create"), model.calls("delete")), (2, 1));
}

#[test]
fn trace_05_an_unobservable_kind_keeps_its_finalizer_and_asks() {
    let mut model = Model::started(&kinds::nothing());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::LostAfter));
    model.bridges[A].crash();
    model.etcd.delete(model.now);
    model.rest();
    model.verify();
    assert_eq!(model.value("Synced"), "False/CreateOutcomeUnknown");
    assert_eq!(model.value("Ready"), "False/Deleting");
    let question = model
        .object()
        .managed
        .status
        .progress
        .question
        .clone()
        .expect("a question");
    let answer = format!("exists/{}/{}", question.id, model.made()[0].name);
    model.etcd.annotate(names::CREATE_OUTCOME, Some(&answer));
    model.ends_gone();
    assert_eq!(model.calls("delete"), 1);
}

#[test]
fn trace_12_no_delete_while_a_create_may_be_on_its_way() {
    // The cloud forgets the token with what it made: A's first create would make another after the deletion.
    let subject = kinds::token().with(|manners| manners.frees_tokens = true);
    let mut model = Model::started(&subject);
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::CrashLate));
    model.lead(B);
    model.rest();
    model.ends_gone();
}

#[test]
fn trace_12_a_restart_does_not_forget_it() {
    let subject = kinds::token().with(|manners| manners.frees_tokens = true);
    let mut model = Model::started(&subject);
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::CrashLate));
    model.pass(A);
    model.etcd.delete(model.now);
    model.bridges[A].crash();
    model.pass(A);
    assert_eq!(model.calls("delete"), 0, "{}", model.log.join("\n"));
    model.ends_gone();
}

#[test]
fn trace_12_the_answer_of_a_repeat_ends_no_attempt_before_it() {
    let outcomes = [
        CallOutcome::NamedWithoutEffect(FailureCode::Throttled),
        CallOutcome::NamedWithoutEffect(FailureCode::InvalidSpec),
        CallOutcome::Fails(FailureCode::Throttled, Effect::None),
        CallOutcome::Fails(FailureCode::NotFound, Effect::None),
        CallOutcome::Fails(FailureCode::Throttled, Effect::Partial),
    ];
    for outcome in outcomes {
        for pace in [Pace::AtOnce, Pace::Long, Pace::Driven] {
            let subject = kinds::token()
                .with(|manners| manners.frees_tokens = true)
                .paced(pace, Pace::AtOnce);
            let mut model = Model::started(&subject);
            model.stop_before(A, "create");
            model.step(A, &mut Script::on(Verb::Create, CallOutcome::CrashLate));
            model.stop_before(A, "create");
            model.step(A, &mut Script::on(Verb::Create, outcome));
            model.etcd.delete(model.now);
            model.ends_gone();
        }
    }
}

#[test]
fn trace_13_a_delete_that_comes_late_spares_the_successor() {
    let mut model = Model::at_rest(&kinds::named());
    grow_old(&mut model);
    model.etcd.delete(model.now);
    model.stop_before(A, "delete");
    model.lead(B);
    model.rest();
    assert!(model.etcd.object.is_none());
    model.create();
    model.rest();
    // It asked for its lease right before it lost it.
    model.bridges[A].leads = true;
    model.step(A, &mut Well);
    model.bridges[A].leads = false;
    model.pass(A);
    model.ends_ready();
    assert_eq!(model.calls("create"), 2);
}

#[test]
fn trace_13_a_delete_with_a_late_effect_spares_the_successor() {
    let mut model = Model::at_rest(&kinds::named());
    grow_old(&mut model);
    model.etcd.delete(model.now);
    model.stop_before(A, "delete");
    model.step(A, &mut Script::on(Verb::Delete, CallOutcome::CrashLate));
    model.lead(B);
    model.rest();
    model.create();
    model.rest();
    model.advance(Duration::from_mins(1));
    model.ends_ready();
}

#[test]
fn trace_15_one_absence_is_not_enough_to_let_go() {
    for subject in kinds::families() {
        let mut model = Model::at_rest(&subject);
        model.etcd.delete(model.now);
        model.rest_after(Script::look(ObserveOutcome::Absent));
        model.ends_gone();
        assert!(model.calls("delete") >= 1, "{}", subject.name);
    }
}

#[test]
fn trace_15_invisible_just_after_the_creation_is_not_gone() {
    for subject in [
        kinds::named(),
        kinds::token(),
        kinds::marked(),
        kinds::distribution(),
    ] {
        let subject = subject.can(|can| can.consistency_window = Duration::from_secs(20));
        let mut model = Model::started(&subject);
        model.cloud.visibility = Duration::from_secs(20);
        model.pass(A);
        model.ends_gone();
        assert!(model.calls("delete") >= 1, "{}", subject.name);
    }
}

#[test]
fn trace_15_an_already_done_delete_does_not_prove_removal() {
    for subject in [kinds::named(), kinds::token(), kinds::marked(), kinds::nothing()] {
        let subject = subject.can(|can| can.consistency_window = Duration::from_secs(20));
        let mut model = Model::started(&subject);
        model.cloud.visibility = Duration::from_secs(20);
        model.pass(A);
        model.etcd.delete(model.now);
        let missed = CallOutcome::Fails(FailureCode::NotFound, Effect::None);
        model.rest_after(Script::on(Verb::Delete, missed));
        model.ends_gone();
    }
}

#[test]
fn trace_15_an_earlier_observation_does_not_prove_removal() {
    // Looks and calls reach copies of the cloud's data that are not equally new.
    for subject in [kinds::named(), kinds::token(), kinds::marked()] {
        let subject = subject.can(|can| can.consistency_window = Duration::from_secs(20));
        let mut model = Model::started(&subject);
        model.pass(A);
        model.etcd.delete(model.now);
        model.stop_before(A, "delete");
        let missed = CallOutcome::Fails(FailureCode::NotFound, Effect::None);
        model.step(A, &mut Script::on(Verb::Delete, missed));
        model.rest_after(Script::look(ObserveOutcome::Absent));
        model.ends_gone();
    }
}

#[test]
fn trace_15_a_delete_of_a_former_resource_does_not_count() {
    // Found by reading: a replacement leaves an answered Delete behind, and one false absence let the next resource leak.
    let mut model = Model::at_rest(&kinds::named());
    model.edit("fixed", json!("b"));
    model.rest();
    model.approve("2");
    model.ends_ready();
    model.advance(Duration::from_mins(5));
    model.etcd.delete(model.now);
    model.rest_after(Script::look(ObserveOutcome::Absent));
    model.ends_gone();
    assert_eq!(model.calls("delete"), 2);
}

#[test]
fn trace_18_deletion_goes_by_the_name_of_the_record() {
    for subject in [kinds::named(), kinds::token()] {
        let mut model = Model::at_rest(&subject);
        model
            .cloud
            .foreign("elsewhere", "", &serde_json::Map::new(), model.now);
        model.etcd.annotate(names::EXTERNAL_NAME, Some("elsewhere"));
        model.rest();
        assert_eq!(model.value("Synced"), "False/ExternalNameChanged");
        model.ends_gone();
        assert!(model.cloud.objects.iter().any(|one| one.name == "elsewhere"));
    }
}

#[test]
fn trace_20_a_foreign_successor_survives_our_delete() {
    let mut model = Model::at_rest(&kinds::table());
    model.etcd.delete(model.now);
    model.stop_before(A, "delete");
    model.cloud.remove_by_hand(|_| true);
    model
        .cloud
        .foreign("thing", "m-other", &serde_json::Map::new(), model.now);
    model.rest();
    model.verify();
    assert!(model.etcd.object.is_none());
    assert_eq!(model.cloud.objects.len(), 1, "theirs stays");
    assert!(model.events().contains(&"LeftExternalResource"));
}

#[test]
fn trace_27_deletion_adopts_nothing() {
    for subject in [kinds::named(), kinds::bucket(), kinds::queue(), kinds::table()] {
        let mut model = Model::started(&subject);
        model.stop_before(A, "create");
        let name = if subject.name == "queue" {
            "https://cloud/thing"
        } else {
            "thing"
        };
        model.cloud.foreign(name, "", &serde_json::Map::new(), model.now);
        model.rest();
        assert_eq!(model.value("Synced"), "False/AlreadyExists", "{}", subject.name);
        model.etcd.delete(model.now);
        model.rest();
        model.verify();
        assert!(model.etcd.object.is_none(), "{}", subject.name);
        assert_eq!(
            (model.cloud.objects.len(), model.calls("delete")),
            (1, 0),
            "{}",
            subject.name
        );
    }
}

#[test]
fn trace_27_deletion_adopts_nothing_that_appears_meanwhile() {
    let mut model = Model::at_rest(&kinds::table());
    model.etcd.delete(model.now);
    model.stop_before(A, "observe");
    model.cloud.remove_by_hand(|_| true);
    model
        .cloud
        .foreign("thing", "", &serde_json::Map::new(), model.now);
    model.rest();
    model.verify();
    assert!(model.etcd.object.is_none());
    assert_eq!(model.cloud.objects.len(), 1);
}

#[test]
fn trace_27_a_removal_of_a_foreign_resource_is_not_driven() {
    for subject in [kinds::named(), kinds::bucket(), kinds::table()] {
        let subject = subject.paced(Pace::AtOnce, Pace::Driven);
        let mut model = Model::started(&subject);
        model.stop_before(A, "create");
        model
            .cloud
            .foreign("thing", "", &serde_json::Map::new(), model.now);
        model.rest();
        assert_eq!(model.value("Synced"), "False/AlreadyExists", "{}", subject.name);
        model.cloud.begin_removal_by_hand("thing");
        model.etcd.delete(model.now);
        model.rest();
        model.verify();
        assert!(model.etcd.object.is_none(), "{}", subject.name);
        assert_eq!(model.cloud.objects.len(), 1, "{}", subject.name);
        assert_eq!(
            (model.calls("poll"), model.calls("delete")),
            (0, 0),
            "{}",
            subject.name
        );
    }
}

#[test]
fn trace_31_a_removal_by_hand_leaves_an_open_create_open() {
    let mut model = Model::started(&kinds::named().paced(Pace::AtOnce, Pace::Driven));
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::CrashBeforePersist));
    let name = model.made()[0].name.clone();
    model.cloud.begin_removal_by_hand(&name);
    model.etcd.delete(model.now);
    model.stop_before(A, "poll");
    assert!(model.record().create().is_some(), "{}", model.log.join("\n"));
    model.ends_gone();
}

#[test]
fn trace_31_an_older_intent_does_not_drive_a_removal() {
    // The Delete of a replacement was rejected, and its intent stays in the record; then the object is deleted.
    let mut model = Model::at_rest(&kinds::named().paced(Pace::AtOnce, Pace::Driven));
    grow_old(&mut model);
    model.edit("fixed", json!("b"));
    model.approve("2");
    let failure = CallOutcome::Fails(FailureCode::Unavailable, Effect::None);
    let mut script = Script::on(Verb::Delete, failure);
    model.pass_with(A, &mut script);
    assert!(script.used_up(), "{}", model.log.join("\n"));
    model.etcd.delete(model.now);
    model.stop_before(A, "poll");
    model.step(A, &mut Script::on(Verb::Poll, CallOutcome::Late));
    model.rest();
    assert!(model.etcd.object.is_none());
    assert!(model.flights.is_empty(), "{}", model.log.join("\n"));
    model.create();
    model.rest();
    model.advance(Duration::from_mins(1));
    model.ends_ready();
}

#[test]
fn trace_31_a_poll_that_drives_a_removal_spares_the_successor() {
    let subject = kinds::named().paced(Pace::AtOnce, Pace::Driven);
    let mut model = Model::at_rest(&subject);
    grow_old(&mut model);
    model.etcd.delete(model.now);
    model.stop_before(A, "poll");
    model.lead(B);
    model.rest();
    assert!(model.etcd.object.is_none());
    model.create();
    model.rest();
    model.pass(A);
    model.advance(Duration::from_mins(1));
    model.ends_ready();
}

#[test]
fn trace_31_a_late_poll_spares_the_successor() {
    let subject = kinds::named().paced(Pace::AtOnce, Pace::Driven);
    let mut model = Model::at_rest(&subject);
    grow_old(&mut model);
    model.etcd.delete(model.now);
    model.stop_before(A, "poll");
    model.step(A, &mut Script::on(Verb::Poll, CallOutcome::Late));
    model.rest();
    assert!(model.etcd.object.is_none());
    assert!(model.flights.is_empty(), "{}", model.log.join("\n"));
    model.create();
    model.rest();
    model.advance(Duration::from_mins(1));
    model.ends_ready();
}

#[test]
fn trace_31_a_removal_is_not_driven_while_paused() {
    for subject in [
        kinds::named().paced(Pace::AtOnce, Pace::Driven),
        kinds::distribution(),
    ] {
        let mut model = Model::at_rest(&subject);
        model.etcd.delete(model.now);
        model.pass(A);
        model.etcd.annotate(names::PAUSED, Some("true"));
        let polls = model.calls("poll");
        for _ in 0..5 {
            model.advance(Duration::from_secs(20));
            model.pass(A);
        }
        assert_eq!(model.calls("poll"), polls, "{}", subject.name);
        model.etcd.annotate(names::PAUSED, None);
        model.ends_gone();
    }
}

#[test]
fn trace_31_a_process_does_not_poll_on_a_foreign_intent() {
    // Both have recorded that they drive it on, B last, by a clock that is ahead: its deadline is not A's.
    let subject = kinds::named().paced(Pace::AtOnce, Pace::Driven);
    let mut model = Model::at_rest(&subject);
    grow_old(&mut model);
    model.bridges[B].offset = SignedDuration::from_secs(4);
    model.etcd.delete(model.now);
    model.stop_before(A, "write metadata: record that the operation is driven on");
    model.step(A, &mut Well);
    model.lead(B);
    model.stop_before(B, "poll");
    model.lead(A);
    model.pass(A);
    model.verify();
    model.ends_gone();
}

#[test]
fn trace_31_a_deletion_with_a_closed_intent_is_not_driven() {
    // A replacement: no status can be written, so that it tells of the removal still when the successor is made.
    let subject = kinds::named().paced(Pace::AtOnce, Pace::Driven);
    let mut model = Model::at_rest(&subject);
    grow_old(&mut model);
    model.edit("fixed", json!("b"));
    model.approve("2");
    model.stop_before(A, "poll");
    model.stop_before_with(A, "create", &mut WithoutStatus);
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::CrashBeforePersist));
    model.step(A, &mut Well);
    let successor = model.made()[0].id;
    model.ends_ready();
    assert_eq!(model.made()[0].id, successor);
}

#[test]
fn trace_32_a_removal_whose_handle_is_lost_is_begun_again() {
    for subject in [
        kinds::named().paced(Pace::AtOnce, Pace::Driven),
        kinds::distribution(),
    ] {
        let mut model = Model::at_rest(&subject);
        model.etcd.delete(model.now);
        model.stop_before(A, "delete");
        model.step(A, &mut Script::on(Verb::Delete, CallOutcome::CrashAfterPersist));
        model.rest();
        model.ends_gone();
        assert!(model.calls("delete") >= 2, "{}", subject.name);
    }
}

#[test]
fn a_failed_delete_is_retried_and_reported() {
    let mut model = Model::at_rest(&kinds::named());
    model.etcd.delete(model.now);
    let failure = CallOutcome::Fails(FailureCode::Unavailable, Effect::Unknown);
    model.pass_with(A, &mut Script::on(Verb::Delete, failure));
    assert_eq!(model.value("Synced"), "False/ReconcileError");
    assert_eq!(model.value("Ready"), "False/Deleting");
    assert!(model.message().starts_with("delete failed"));
    model.ends_gone();
}

#[test]
fn a_second_delete_that_is_answered_ends_the_deletion_at_once() {
    let mut model = Model::at_rest(&kinds::named());
    grow_old(&mut model);
    model.etcd.delete(model.now);
    let begun = model.now;
    model.rest_after(Script::on(
        Verb::Delete,
        CallOutcome::Fails(FailureCode::Unavailable, Effect::None),
    ));
    model.verify();
    assert!(model.etcd.object.is_none());
    assert!(
        model.now < begun + SignedDuration::from_secs(10),
        "{}",
        model.log.join("\n")
    );
}

#[test]
fn trace_35_an_answer_of_unknown_effect_ends_no_call() {
    // Found by reading: the plugin gave up, the next Delete succeeded, and the first took effect upon the successor.
    let mut model = Model::at_rest(&kinds::named());
    grow_old(&mut model);
    model.etcd.delete(model.now);
    model.rest_after(Script::on(Verb::Delete, CallOutcome::GivesUp));
    assert!(model.etcd.object.is_none());
    model.create();
    model.rest();
    model.advance(Duration::from_mins(1));
    model.ends_ready();
}
