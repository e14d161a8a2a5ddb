//! What does not work, and what is in the way.

use std::time::Duration;

use bridge_core::{
    external::{Effect, FailureCode, Verb},
    kind::DiffMode,
    managed::{Blocker, ObservedState, Problem, Suspension, names},
};
use serde_json::json;

use crate::{
    bridge::Phase,
    fault_outcome::{CallOutcome, ObserveOutcome},
    kinds::{self, CALL},
    reference_model::{A, Model, Writes},
    script::Script,
};

fn problem(reason: &str) -> Problem {
    Problem {
        reason: reason.to_owned(),
        message: "something is in the way".to_owned(),
    }
}

#[test]
fn an_invalid_spec_is_tried_again_rarely_or_upon_request() {
    for subject in kinds::families() {
        let mut model = Model::new(&subject);
        model.create();
        model.edit("invalid", json!(true));
        for _ in 0..6 {
            model.rest();
            model.advance(Duration::from_secs(61));
        }
        assert_eq!(model.value("Synced"), "False/ReconcileError", "{}", subject.name);
        assert!(
            model.message().starts_with("create failed: InvalidSpec"),
            "{}",
            model.message()
        );
        assert_eq!(
            (model.calls("create"), model.tokens()),
            (1, 1),
            "{}",
            subject.name
        );
        model.etcd.annotate(names::RECONCILE_REQUESTED, Some("now"));
        model.rest();
        assert_eq!(model.calls("create"), 2, "{}: somebody asks for it", subject.name);
        for _ in 0..6 {
            model.advance(Duration::from_mins(1));
            model.rest();
        }
        assert_eq!(model.calls("create"), 2, "{}: not soon", subject.name);
        model.advance(Duration::from_mins(5));
        model.rest();
        assert_eq!(model.calls("create"), 3, "{}: ten minutes later", subject.name);
        model.etcd.edit(|object| {
            object.parameters.remove("invalid");
        });
        model.ends_ready();
    }
}

#[test]
fn an_invalid_change_likewise() {
    let mut model = Model::at_rest(&kinds::named());
    model.edit("invalid", json!(true));
    for _ in 0..6 {
        model.rest();
        model.advance(Duration::from_secs(61));
    }
    assert_eq!(model.calls("update"), 1);
    model.etcd.annotate(names::RECONCILE_REQUESTED, Some("now"));
    model.rest();
    assert_eq!(model.calls("update"), 2, "somebody asks for it");
    assert!(model.message().starts_with("update failed: InvalidSpec"));
    assert_eq!(model.value("Ready"), "True/Available");
    model.etcd.edit(|object| {
        object.parameters.remove("invalid");
    });
    model.ends_ready();
}

#[test]
fn a_rejection_with_unknown_effect_backs_off() {
    let mut model = Model::started(&kinds::token());
    let mut script = Script::default();
    for _ in 0..6 {
        script = script.and_on(
            Verb::Create,
            CallOutcome::Fails(FailureCode::InvalidSpec, Effect::Unknown),
        );
    }
    let began = model.now;
    model.rest_after(script);
    model.ends_ready();
    assert!(model.now >= began + Duration::from_secs(20));
    assert_eq!(model.tokens(), 1);
}

#[test]
fn an_unreported_derived_name_is_not_recorded_as_empty() {
    let mut model = Model::new(&kinds::queue());
    model.cloud.keeps_names_to_itself = true;
    model.create();
    model.rest();
    assert_eq!(model.value("Synced"), "False/ExternalNameMissing");
    assert_eq!(model.tokens(), 0);
    model.cloud.keeps_names_to_itself = false;
    model.advance(Duration::from_mins(2));
    model.ends_ready();
    model.ends_gone();
}

#[test]
fn slow_reads_do_not_block_a_call() {
    let mut model = Model::at_rest(&kinds::named());
    model.edit("size", json!(2));
    model.bridges[A].dirty = true;
    for _ in 0..20 {
        model.step(A, &mut crate::fault_outcome::Well);
        // Collecting the desired state takes more than half of a call's time.
        if matches!(model.bridges[A].stage(), crate::bridge::Stage::Deciding) {
            model.advance(CALL * 6 / 10);
        }
    }
    model.verify();
    assert_eq!(model.calls("update"), 1, "{}", model.log.join("\n"));
}

#[test]
fn what_an_answer_calls_it_is_known_at_once() {
    // The observation in an answer may leave the id to the outcome.
    let mut model = Model::started(&kinds::named());
    model.stop_before(A, "write status");
    let last_observation = model.bridges[A]
        .memory
        .last_observation()
        .cloned()
        .expect("the answer showed it");
    let ObservedState::Exists(observation) = last_observation.found else {
        panic!("it is there")
    };
    assert_eq!(observation.canonical_id, "id-1");
}

#[test]
fn a_failed_observation_is_not_absence() {
    let codes = [
        FailureCode::Unauthenticated,
        FailureCode::PermissionDenied,
        FailureCode::Unavailable,
        FailureCode::NotFound,
        FailureCode::Internal,
        FailureCode::InvalidConfig,
    ];
    for code in codes {
        for subject in [kinds::named(), kinds::marked()] {
            let mut model = Model::new(&subject);
            model.create();
            model.pass_with(A, &mut Script::look(ObserveOutcome::Fails(code)));
            let refused = u32::from(code == FailureCode::NotFound);
            assert_eq!(
                model.calls("create"),
                refused,
                "{code:?}: looked again at once, and found it absent"
            );
            model.ends_ready();
            model.advance(Duration::from_secs(61));
            model.pass_with(A, &mut Script::look(ObserveOutcome::Fails(code)));
            assert_eq!(model.value("Ready"), "True/Available", "{code:?}");
            model.ends_ready();
            assert_eq!(model.calls("create"), 1, "{code:?}");
        }
    }
}

#[test]
fn the_retry_state_clears_after_success() {
    for fate in [
        CallOutcome::LostAfter,
        CallOutcome::DoneButFails(FailureCode::Timeout, Effect::Unknown),
    ] {
        for subject in kinds::families() {
            if subject.name == "nothing" {
                continue; // It asks.
            }
            let mut model = Model::started(&subject);
            model.rest_after(Script::on(Verb::Create, fate));
            model.ends_ready();
            model.edit("size", json!(2));
            model.rest_after(Script::on(Verb::Update, fate));
            model.ends_ready();
        }
    }
}

#[test]
fn failures_back_off_and_are_reported_once() {
    let mut model = Model::at_rest(&kinds::named());
    let mut script = Script::default();
    let failure = CallOutcome::Fails(FailureCode::Conflict, Effect::None);
    for _ in 0..6 {
        script = script.and_on(Verb::Update, failure);
    }
    let began = model.now;
    model.edit("size", json!(2));
    model.rest_after(script);
    model.ends_ready();
    // 1, 2, 4, 8, 16 and 32 s, jitter in the middle: a sixth off.
    assert!(model.now >= began + Duration::from_secs(52), "{}", model.now);
    let reported = model.events();
    let count = reported
        .iter()
        .filter(|event| **event == "CannotUpdateExternalResource")
        .count();
    assert_eq!(count, 6);
}

#[test]
fn events_do_not_inflate_the_backoff_nor_cut_it_short() {
    let mut model = Model::at_rest(&kinds::named());
    model.edit("size", json!(2));
    let failure = CallOutcome::Fails(FailureCode::PermissionDenied, Effect::None);
    model.pass_with(A, &mut Script::on(Verb::Update, failure));
    for _ in 0..20 {
        model.advance(Duration::from_secs(1));
        model.pass(A);
    }
    assert_eq!(model.calls("update"), 0, "30 s, a sixth off");
    model.edit("size", json!(3));
    model.pass(A);
    assert_eq!(model.calls("update"), 1, "another desired state is another try");
}

#[test]
fn an_update_that_brings_nothing_about_is_not_repeated_for_ever() {
    let mut model = Model::at_rest(&kinds::named());
    model.cloud.ignores_updates = true;
    model.edit("size", json!(2));
    let until = model.now + Duration::from_mins(5);
    while model.now < until {
        model.pass(A);
        model.advance(Duration::from_secs(5));
    }
    assert!(
        (3..20).contains(&model.calls("update")),
        "{}",
        model.calls("update")
    );
    assert!(model.message().contains("/size"), "{}", model.message());
    model.verify();
}

#[test]
fn a_suspension_stops_calls_but_shows_the_deletion() {
    let mut model = Model::at_rest(&kinds::named());
    model.suspension = Some(Suspension {
        until: model.now + Duration::from_mins(10),
        problem: problem("Throttled"),
    });
    let looks = model.calls("observe");
    model.edit("size", json!(2));
    model.rest();
    assert_eq!(model.value("Synced"), "False/Throttled");
    model.etcd.delete(model.now);
    model.rest();
    assert_eq!(model.value("Ready"), "False/Deleting");
    assert_eq!((model.calls("observe"), model.calls("delete")), (looks, 0));
    model.advance(Duration::from_mins(10));
    model.ends_gone();
}

#[test]
fn a_suspension_does_not_block_an_orphaning_policy() {
    let mut model = Model::at_rest(&kinds::named());
    model.config = Err(problem("ProviderConfigNotFound"));
    model.etcd.annotate(names::ORPHAN, Some("uid-1"));
    model.etcd.delete(model.now);
    model.rest();
    assert!(model.etcd.object.is_none());
}

#[test]
fn a_missing_config_is_reported_and_awaited() {
    let mut model = Model::new(&kinds::named());
    let fine = std::mem::replace(&mut model.config, Err(problem("ProviderConfigNotFound")));
    model.create();
    model.rest();
    assert_eq!(model.value("Ready"), "False/Creating");
    assert!(
        model
            .message()
            .starts_with("connect failed: something is in the way")
    );
    assert_eq!(model.value("Synced"), "False/ProviderConfigNotFound");
    let writes = model.writes;
    for _ in 0..4 {
        model.advance(Duration::from_secs(61));
        model.pass(A);
    }
    assert_eq!(model.writes, writes);
    model.config = fine;
    model.ends_ready();
}

#[test]
fn without_the_lease_nothing_is_begun() {
    for subject in kinds::all() {
        let mut model = Model::started(&subject);
        model.bridges[A].leads = false;
        model.pass(A);
        assert_eq!((model.calls("observe"), model.writes.of_the_object()), (0, 0));
        model.bridges[A].take_the_lead();
        model.ends_ready();
        model.etcd.delete(model.now);
        model.bridges[A].leads = false;
        model.pass(A);
        assert_eq!(model.calls("delete"), 0);
    }
}

#[test]
fn foreign_finalizers_are_awaited_visibly() {
    let mut model = Model::at_rest(&kinds::named());
    model.etcd.touch(|object| {
        let finalizers = &mut object.managed.finalizers;
        finalizers.extend(["foregroundDeletion", "orphan", "example.org/theirs"].map(str::to_owned));
    });
    model.etcd.delete(model.now);
    model.rest();
    assert_eq!(model.calls("delete"), 0);
    let conditions = &model.object().managed.status.conditions;
    let ready = conditions.iter().find(|one| one.kind == "Ready").expect("Ready");
    assert_eq!(ready.reason, "Deleting");
    assert_eq!(
        ready.message,
        "waiting for finalizers of others: example.org/theirs"
    );
    model.etcd.touch(|object| {
        object
            .managed
            .finalizers
            .retain(|one| one != "example.org/theirs");
    });
    model.rest();
    assert!(model.cloud.objects.is_empty());
    assert!(
        !model.object().managed.has_finalizer(),
        "Kubernetes' own are not waited for"
    );
}

#[test]
fn what_must_go_first_goes_first() {
    let mut model = Model::at_rest(&kinds::token());
    model.blocker = Some(Blocker {
        message: "in use by Thing default/other".to_owned(),
        is_unknown: false,
    });
    model.etcd.delete(model.now);
    while !model.value("Ready").ends_with("/Deleting") {
        model.step(A, &mut Script::default());
    }
    let object = model.object();
    let ready = object.managed.condition("Ready").unwrap();
    assert_eq!(ready.message, "in use by Thing default/other", "said at once");
    model.rest();
    assert_eq!(
        (model.value("Ready"), model.calls("delete")),
        ("False/Deleting".to_owned(), 0)
    );
    model.blocker = None;
    model.ends_gone();
}

#[test]
fn being_removed_upstream_is_neither_ready_nor_updated() {
    let mut model = Model::at_rest(&kinds::table());
    model.cloud.objects[0].state = crate::cloud::State::Deleting(model.now + Duration::from_mins(3));
    model.edit("size", json!(2));
    model.pass(A);
    assert_eq!(model.value("Ready"), "False/Deleting");
    assert_eq!(model.calls("update"), 0);
    model.ends_ready();
    assert_eq!(model.calls("create"), 2, "made anew when it is gone");
}

#[test]
fn a_reconcile_request_annotation_triggers_an_observe() {
    let mut model = Model::at_rest(&kinds::named());
    let looks = model.calls("observe");
    model.etcd.annotate(names::RECONCILE_REQUESTED, Some("token-7"));
    model.rest();
    assert_eq!(model.calls("observe"), looks + 1);
    assert_eq!(model.object().managed.status.last_handled, "token-7");
    model.etcd.annotate(names::POLL_INTERVAL, Some("1h"));
    model.advance(Duration::from_secs(61));
    model.pass(A);
    let looks = model.calls("observe");
    model.advance(Duration::from_mins(50));
    model.pass(A);
    assert_eq!(model.calls("observe"), looks, "the interval is the user's");
}

#[test]
fn a_suspension_writes_nothing_to_objects_at_rest() {
    let mut model = Model::at_rest(&kinds::named());
    model.writes = Writes::default();
    let until = model.now + Duration::from_mins(10);
    model.suspension = Some(Suspension {
        until,
        problem: problem("Throttled"),
    });
    for _ in 0..5 {
        model.advance(Duration::from_secs(61));
        model.pass(A);
    }
    assert_eq!(model.writes, Writes::default());
    let Phase::Resting(Some(wake)) = model.bridges[A].phase else {
        panic!("it rests");
    };
    assert!(wake > until, "not all at the same moment");
}

#[test]
fn a_suspension_is_reported_on_objects_awaiting_their_first_call() {
    let mut model = Model::started(&kinds::named());
    model.suspension = Some(Suspension {
        until: model.now + Duration::from_mins(10),
        problem: problem("Throttled"),
    });
    model.pass(A);
    assert_eq!(model.value("Synced"), "False/Throttled");
    assert_eq!(model.value("Ready"), "False/Creating");
}

#[test]
fn unrepresentable_times_are_ignored() {
    let mut model = Model::at_rest(&kinds::marked());
    model
        .etcd
        .annotate(names::CREATE_SUCCEEDED, Some("9999-12-30T21:59:59Z"));
    model.etcd.annotate(names::POLL_INTERVAL, Some("100000000h"));
    model.ends_ready();
    model.etcd.annotate(names::POLL_INTERVAL, Some("2000000h"));
    model.pass(A);
    model.etcd.annotate(names::POLL_INTERVAL, None);
    let record = model.object().managed.annotation(names::RECORD).to_owned();
    let far = record.replacen('{', r#"{"deadline":"9999-12-30T21:59:59Z","#, 1);
    model.etcd.annotate(names::RECORD, Some(&far));
    model.pass(A);
    assert_eq!(model.value("Synced"), "False/RecordUnreadable");
    model.etcd.annotate(names::RECORD, Some(&record));
    model.ends_gone();
}

#[test]
fn a_request_to_reconcile_is_answered_with_an_event_once() {
    let mut model = Model::at_rest(&kinds::named());
    let answers = |model: &Model| {
        let events = model.events();
        events
            .iter()
            .filter(|reason| **reason == "ReconcileRequestHandled")
            .count()
    };
    model.etcd.annotate(names::RECONCILE_REQUESTED, Some("now"));
    model.rest();
    assert_eq!(answers(&model), 1);
    assert_eq!(model.object().managed.status.last_handled, "now");
    model.advance(Duration::from_secs(61));
    model.rest();
    assert_eq!(answers(&model), 1);
}

#[test]
fn in_plugin_diff_mode_its_verdict_leads_to_an_update() {
    let compared = kinds::named().can(|can| can.diff_mode = DiffMode::Plugin);
    let mut model = Model::started(&compared);
    model.ends_ready();
    assert_eq!(model.calls("update"), 0);
    model.edit("size", json!(2));
    model.ends_ready();
    assert_eq!(model.calls("update"), 1);
    model.advance(Duration::from_secs(61));
    model.rest();
    assert_eq!(model.calls("update"), 1, "it says that nothing differs");
}
