//! Work that outlasts a call.

use std::time::Duration;

use bridge_core::external::{Effect, FailureCode, Verb};
use serde_json::json;

use crate::{
    fault_outcome::CallOutcome,
    kinds::{self, Pace},
    reference_model::{A, Model},
    script::Script,
};

fn long() -> kinds::Subject {
    kinds::token().paced(Pace::Long, Pace::AtOnce)
}

#[test]
fn an_operation_that_failed_without_effect_lets_a_new_token_be_drawn() {
    let mut model = Model::started(&long());
    model.cloud.next_creation_fails = Some(Effect::None);
    model.ends_ready();
    assert_eq!(model.tokens(), 2);
    assert_eq!(model.calls("create"), 2);
}

#[test]
fn one_that_failed_and_left_something_does_not() {
    for subject in [
        long(),
        kinds::distribution(),
        kinds::table(),
        kinds::named().paced(Pace::Long, Pace::Long),
    ] {
        let mut model = Model::started(&subject);
        model.cloud.next_creation_fails = Some(Effect::Partial);
        model.ends_ready();
        assert_eq!(model.tokens(), 1, "{}", subject.name);
    }
}

#[test]
fn an_expired_handle_is_not_polled_any_more() {
    let mut model = Model::started(&long());
    model.cloud.operations_expire = Some(Duration::from_secs(5));
    model.pass(A);
    model.advance(Duration::from_secs(20));
    model.rest();
    assert_eq!(model.calls("poll"), 0);
    model.ends_ready();
    assert_eq!(model.tokens(), 1);
}

#[test]
fn a_handle_that_the_plugin_does_not_know_is_not_polled_for_ever() {
    for subject in [long(), kinds::distribution(), kinds::table()] {
        let mut model = Model::started(&subject);
        model.rest_after(Script::on(Verb::Poll, CallOutcome::Unfit));
        model.ends_ready();
        assert_eq!(model.tokens(), 1, "{}", subject.name);
    }
}

#[test]
fn polls_come_when_they_are_due() {
    let mut model = Model::started(&long());
    model.pass(A);
    for _ in 0..10 {
        model.advance(Duration::from_secs(1));
        model.pass(A);
    }
    assert_eq!(model.calls("poll"), 0, "11 s was the advice");
    model.advance(Duration::from_secs(2));
    model.pass(A);
    assert_eq!(model.calls("poll"), 1);
    // A restart polls at once: nobody knows when the last one was.
    model.bridges[A].crash();
    model.pass(A);
    assert_eq!(model.calls("poll"), 2);
}

#[test]
fn progress_and_errors_are_shown() {
    let mut model = Model::started(&long());
    model.pass(A);
    assert_eq!(model.value("AsyncOperation"), "False/Ongoing");
    assert_eq!(model.value("Ready"), "False/Creating");
    model.cloud.progress = Some((40, "Installing".to_owned()));
    model.advance(Duration::from_secs(11));
    model.pass(A);
    let conditions = &model.object().managed.status.conditions;
    let shown = conditions.iter().find(|one| one.kind == "AsyncOperation");
    assert_eq!(
        shown.map(|one| one.message.as_str()),
        Some("creating: Installing (40 %)")
    );
    let failure = CallOutcome::Fails(FailureCode::Unavailable, Effect::Unknown);
    model.advance(Duration::from_secs(11));
    model.pass_with(A, &mut Script::on(Verb::Poll, failure));
    assert_eq!(model.value("Synced"), "False/ReconcileError");
    assert!(model.message().starts_with("operation failed"));
    model.ends_ready();
    assert_eq!(model.value("AsyncOperation"), "");
}

#[test]
fn an_overdue_operation_is_reported_and_continues() {
    let mut model = Model::started(&long());
    model.cloud.work_takes = Duration::from_mins(30);
    model.pass(A);
    for _ in 0..60 {
        model.advance(Duration::from_secs(12));
        model.pass(A);
    }
    assert_eq!(model.value("Synced"), "False/ReconcileError");
    assert!(model.message().contains("overdue"), "{}", model.message());
    let writes = model.writes;
    for _ in 0..5 {
        model.advance(Duration::from_secs(12));
        model.pass(A);
    }
    assert_eq!(model.writes, writes, "it is said once");
    model.advance(Duration::from_mins(30));
    model.ends_ready();
}

#[test]
fn a_spec_change_during_an_operation_waits_or_runs_concurrently() {
    for (concurrent, expected) in [(false, 0), (true, 1)] {
        let subject = long().can(|can| can.concurrent_update = concurrent);
        let mut model = Model::started(&subject);
        model.pass(A);
        model.edit("size", json!(2));
        model.pass(A);
        assert_eq!(model.calls("update"), expected, "{}", model.log.join("\n"));
        assert_eq!(model.value("AsyncOperation"), "False/Ongoing");
        model.ends_ready();
        assert_eq!(model.calls("update"), 1);
        assert_eq!(model.tokens(), 1);
    }
}

#[test]
fn nothing_is_created_beside_an_invisible_creation() {
    let subject = long().can(|can| {
        can.concurrent_update = true;
        can.consistency_window = Duration::from_secs(20);
    });
    let mut model = Model::started(&subject);
    model.cloud.visibility = Duration::from_secs(20);
    model.pass(A);
    model.edit("size", json!(2));
    model.ends_ready();
    assert_eq!(model.tokens(), 1);
}

#[test]
fn an_update_beside_a_creation_does_not_confirm_it() {
    let subject = kinds::named()
        .paced(Pace::Long, Pace::AtOnce)
        .can(|can| can.concurrent_update = true);
    let mut model = Model::started(&subject);
    model.pass(A);
    model.edit("size", json!(2));
    model.pass(A);
    assert_eq!(model.calls("update"), 1);
    assert_eq!(model.object().managed.status.progress.create_token, "");
    model.advance(Duration::from_secs(11));
    model.pass(A);
    assert_eq!(model.calls("poll"), 1, "it is followed to its end");
    model.ends_ready();
}

#[test]
fn a_deletion_waits_for_the_creation_or_does_not() {
    for at_once in [false, true] {
        for subject in [
            kinds::token(),
            kinds::named(),
            kinds::distribution(),
            kinds::table(),
        ] {
            let subject = subject
                .paced(Pace::Long, Pace::Long)
                .can(|can| can.delete_during_create = at_once);
            let mut model = Model::started(&subject);
            model.pass(A);
            model.etcd.delete(model.now);
            model.pass(A);
            assert_eq!(model.value("Ready"), "False/Deleting");
            let deletes = model.calls("delete");
            if !at_once {
                assert_eq!(deletes, 0, "{}", subject.name);
            }
            model.ends_gone();
            let waited = model.calls("delete");
            assert_eq!(
                waited,
                1,
                "{}: one is enough\n{}",
                subject.name,
                model.log.join("\n")
            );
        }
    }
}

#[test]
fn an_accepted_delete_is_not_repeated_while_its_operation_runs() {
    let mut model = Model::at_rest(&kinds::table());
    model.cloud.work_takes = Duration::from_mins(5);
    model.etcd.delete(model.now);
    for _ in 0..15 {
        model.pass(A);
        model.advance(Duration::from_secs(11));
    }
    assert_eq!(model.calls("delete"), 1);
    assert!(model.calls("poll") > 10);
    model.advance(Duration::from_mins(5));
    model.ends_gone();
}

#[test]
fn a_creation_that_moves_only_when_polled_counts_its_polls_as_the_call() {
    for subject in [kinds::marked(), kinds::named(), kinds::token()] {
        let subject = subject.paced(Pace::Driven, Pace::AtOnce);
        let mut model = Model::started(&subject);
        model.pass(A);
        assert_eq!(model.made().len(), 0);
        let before = model.record().create().map(|intent| intent.deadline);
        model.advance(Duration::from_secs(11));
        model.stop_before(A, "poll");
        let after = model.record().create().map(|intent| intent.deadline);
        assert!(after > before, "{}: its deadline is written first", subject.name);
        // The poll that makes it takes effect late, and nobody saw it go.
        model.step(A, &mut Script::on(Verb::Poll, CallOutcome::CrashLate));
        model.cloud.forget_operations();
        model.ends_ready();
        model.ends_gone();
    }
}

#[test]
fn no_delete_while_a_poll_may_still_drive_a_creation() {
    for subject in [kinds::marked(), kinds::named(), kinds::token()] {
        let subject = subject.paced(Pace::Driven, Pace::AtOnce);
        let mut model = Model::started(&subject);
        model.pass(A);
        // The first poll is lost on its way, and arrives late; the following ones finish the work.
        model.stop_before(A, "poll");
        model.step(A, &mut Script::on(Verb::Poll, CallOutcome::Late));
        for _ in 0..3 {
            let until = model.now + Duration::from_secs(2);
            model.advance_to(until);
            model.bridges[A].memory.poll_now();
            model.bridges[A].memory.forget_failures();
            model.pass(A);
        }
        assert_eq!(model.value("Ready"), "True/Available", "{}", subject.name);
        assert!(!model.flights.is_empty(), "{}", subject.name);
        model.ends_gone();
    }
}

#[test]
fn a_running_operation_is_followed_while_a_secret_is_missing() {
    for subject in [long(), kinds::table()] {
        let mut model = Model::started(&subject);
        model.pass(A);
        model.secret_missing = true;
        let polls = model.calls("poll");
        for _ in 0..4 {
            model.advance(Duration::from_secs(12));
            model.pass(A);
        }
        assert!(model.calls("poll") > polls, "{}", subject.name);
        assert_eq!(model.value("Synced"), "False/SecretNotFound", "{}", subject.name);
        assert_eq!(model.calls("create"), 1, "{}", subject.name);
        model.secret_missing = false;
        model.ends_ready();
    }
}

#[test]
fn an_observed_operation_is_reported_and_followed() {
    // Somebody changes it by hand: an update runs that this bridge did not begin.
    let subject = kinds::named().with(|manners| manners.update = Pace::Long);
    let mut model = Model::at_rest(&subject);
    model.cloud.begin_update_by_hand("thing", model.now);
    model.edit("size", json!(2));
    model.advance(Duration::from_secs(1));
    model.pass(A);
    model.verify();
    assert_eq!(model.calls("update"), 0, "it waits for what runs");
    assert_eq!(model.value("AsyncOperation"), "False/Ongoing");
    model.ends_ready();
    assert_eq!(model.calls("update"), 1);
    assert!(model.calls("poll") >= 1);
}

#[test]
fn a_rejected_poll_is_retried() {
    // It does not serve the kind at the moment: the handle is as good as before, and nobody is asked.
    let mut model = Model::started(&kinds::nothing().paced(Pace::Long, Pace::AtOnce));
    model.rest_after(Script::on(Verb::Poll, CallOutcome::Refused));
    model.ends_ready();
    assert!(model.calls("poll") >= 1);
}

#[test]
fn a_deletion_replaced_by_a_successor_is_not_polled() {
    for delete in [Pace::Long, Pace::Driven] {
        let mut model = Model::at_rest(&kinds::table().paced(Pace::AtOnce, delete));
        model.etcd.delete(model.now);
        model.pass(A);
        model.cloud.remove_by_hand(|_| true);
        model
            .cloud
            .foreign("thing", "m-other", &serde_json::Map::new(), model.now);
        model.rest();
        model.verify();
        assert!(model.etcd.object.is_none(), "{delete:?}");
        assert!(model.calls("poll") <= 1, "{delete:?}");
        assert_eq!(model.cloud.objects.len(), 1, "theirs stays");
    }
}
