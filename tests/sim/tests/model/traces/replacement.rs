//! Replacements: what is deleted so that another one takes its place, and upon which approval.

use std::time::Duration;

use bridge_core::{external::Verb, managed::names};
use serde_json::json;

use super::delete::{WithoutStatus, grow_old};
use crate::{
    fault_outcome::{CallOutcome, Well, WriteOutcome},
    kinds::{self, Pace, Subject},
    reference_model::{A, B, Model},
    script::Script,
};

/// At rest, with a field changed that only a replacement changes.
fn to_be_replaced(subject: &Subject) -> Model {
    let mut model = Model::at_rest(subject);
    grow_old(&mut model);
    model.edit("fixed", json!("b"));
    model.rest();
    assert_eq!(
        model.value("Synced"),
        "False/ReplacementRequired",
        "{}",
        subject.name
    );
    model
}

/// Kinds that bear markers.
fn marking() -> [Subject; 4] {
    [kinds::bucket(), kinds::queue(), kinds::table(), kinds::marked()]
}

#[test]
fn trace_51_later_drift_asks_again_after_an_approved_replacement() {
    for subject in kinds::families() {
        let mut model = to_be_replaced(&subject);
        model.approve("2");
        model.ends_ready();
        assert_eq!(model.object().managed.annotation(names::APPROVE_REPLACEMENT), "");
        assert!(model.events().contains(&"ReplacingExternalResource"));
        let second = model.made()[0].id;
        model.fixed_drifts();
        model.advance(Duration::from_mins(2));
        model.rest();
        model.verify();
        assert_eq!(
            model.value("Synced"),
            "False/ReplacementRequired",
            "{}",
            subject.name
        );
        // A manifest that still holds the old approval applies it again.
        model.approve("2");
        model.rest();
        model.verify();
        assert_eq!(model.made()[0].id, second, "{}", subject.name);
        assert_eq!(
            model.awaited_approval().as_deref(),
            Some("2-1"),
            "{}",
            subject.name
        );
        model.approve("2-1");
        model.ends_ready();
        assert_ne!(model.made()[0].id, second, "{}", subject.name);
    }
}

#[test]
fn what_is_being_replaced_is_not_ready_from_its_delete_on() {
    let mut seen = 0;
    for subject in kinds::families() {
        let mut model = to_be_replaced(&subject);
        assert_eq!(model.value("Ready"), "True/Available", "{}", subject.name);
        model.approve("2");
        while model.calls("create") < 2 {
            model.pass(A);
            if model.calls("delete") > 0 && model.calls("create") < 2 {
                let ready = model.value("Ready");
                assert!(ready.starts_with("False/"), "{}: {ready}", subject.name);
                seen += u32::from(ready == "False/Replacing");
            }
            model.advance(Duration::from_millis(500));
        }
        model.ends_ready();
    }
    assert!(seen > 0, "no kind says that it is replaced");
}

#[test]
fn trace_51_a_field_spelled_otherwise_is_replaced_once_for_each_approval() {
    for subject in kinds::families() {
        let mut model = Model::at_rest(&subject);
        grow_old(&mut model);
        model.cloud.spells_otherwise = true;
        model.edit("fixed", json!("b"));
        model.rest();
        for (approval, created) in [("2", 2), ("2-1", 3)] {
            assert_eq!(
                model.awaited_approval().as_deref(),
                Some(approval),
                "{}",
                subject.name
            );
            model.approve(approval);
            for _ in 0..3 {
                model.rest();
                model.advance(Duration::from_secs(61));
            }
            model.verify();
            assert_eq!(model.calls("create"), created, "{}", subject.name);
        }
    }
}

#[test]
fn trace_51_an_approval_without_a_question_is_used_up() {
    for subject in [kinds::named(), kinds::token(), kinds::table()] {
        let mut model = Model::at_rest(&subject);
        model.approve("1");
        model.rest();
        let writes = model.writes;
        model.approve("1");
        model.rest();
        assert_eq!(model.writes, writes, "{}: it is noted once", subject.name);
        model.fixed_drifts();
        model.advance(Duration::from_mins(2));
        model.rest();
        model.verify();
        assert_eq!(
            model.value("Synced"),
            "False/ReplacementRequired",
            "{}",
            subject.name
        );
        assert_eq!(model.calls("delete"), 0, "{}", subject.name);
    }
}

#[test]
fn trace_51_a_spec_that_is_edited_after_the_approval_asks_again() {
    for subject in kinds::families() {
        let mut model = to_be_replaced(&subject);
        model.approve("2");
        model.stop_before(A, "delete");
        model.edit("fixed", json!("c"));
        model.bridges[A].crash();
        model.rest();
        model.verify();
        assert_eq!(
            model.value("Synced"),
            "False/ReplacementRequired",
            "{}",
            subject.name
        );
        assert_eq!(model.calls("delete"), 0, "{}", subject.name);
        model.approve("3");
        model.ends_ready();
    }
}

#[test]
fn trace_51_what_took_the_name_is_not_replaced_upon_the_same_approval() {
    let mut model = to_be_replaced(&kinds::named());
    model.approve("2");
    model.stop_before(A, "delete");
    model.bridges[A].crash();
    model.cloud.remove_by_hand(|_| true);
    let parameters = json!({"size": 1, "fixed": "other"});
    let parameters = parameters.as_object().expect("an object");
    model.cloud.foreign("thing", "", parameters, model.now);
    model.rest();
    model.verify();
    assert_eq!(model.value("Synced"), "False/ReplacementRequired");
    assert_eq!(model.awaited_approval().as_deref(), Some("2-1"));
    assert_eq!(model.calls("delete"), 0);
}

#[test]
fn trace_51_drift_that_heals_itself_takes_the_begun_replacement_back() {
    let mut model = Model::at_rest(&kinds::named());
    grow_old(&mut model);
    model.fixed_drifts();
    model.advance(Duration::from_mins(2));
    model.rest();
    model.approve("1");
    model.stop_before(A, "delete");
    model.cloud.objects[0]
        .parameters
        .insert("fixed".to_owned(), json!("a"));
    model.bridges[A].crash();
    model.ends_ready();
    model.fixed_drifts();
    model.advance(Duration::from_mins(2));
    model.rest();
    assert_eq!(model.value("Synced"), "False/ReplacementRequired");
    assert_eq!(model.calls("delete"), 0);
}

#[test]
fn trace_51_a_crash_anywhere_replaces_exactly_once() {
    let writes = [
        WriteOutcome::CrashBefore,
        WriteOutcome::CrashAfter,
        WriteOutcome::LostAfter,
    ];
    let deletes = [
        CallOutcome::CrashBefore,
        CallOutcome::CrashLate,
        CallOutcome::CrashBeforePersist,
        CallOutcome::CrashAfterPersist,
        CallOutcome::LostAfter,
    ];
    for subject in kinds::families() {
        let first = writes.map(|fate| Script::write("begin the approved replacement", fate));
        let then = deletes.map(|fate| Script::on(Verb::Delete, fate));
        for script in first.into_iter().chain(then) {
            let mut model = to_be_replaced(&subject);
            let first = model.made()[0].id;
            model.approve("2");
            model.rest_after(script);
            model.ends_ready();
            assert_ne!(model.made()[0].id, first, "{}", subject.name);
            assert_eq!(model.cloud.removed.len(), 1, "{}", subject.name);
        }
    }
}

#[test]
fn trace_51_a_stopped_leader_does_not_use_an_approval_twice() {
    let mut model = to_be_replaced(&kinds::bucket());
    model.approve("2");
    model.stop_before(A, "write metadata: begin the approved replacement");
    model.lead(B);
    model.pass(B);
    model.rest();
    let second = model.made()[0].id;
    model.step(A, &mut Well);
    model.ends_ready();
    assert_eq!(model.made()[0].id, second);
}

#[test]
fn trace_52_what_lost_its_marker_is_marked_before_it_is_replaced() {
    for subject in marking() {
        let mut model = Model::at_rest(&subject);
        grow_old(&mut model);
        model.marker_is_lost();
        model.etcd.edit(|object| {
            object.parameters.insert("fixed".to_owned(), json!("b"));
        });
        model.approve("2");
        model.ends_ready();
        assert_eq!(model.cloud.objects.len(), 1, "{}", subject.name);
        assert_eq!(model.marked(), 1, "{}", subject.name);
        assert_eq!(model.calls("update"), 1, "{}", subject.name);
        model.ends_gone();
    }
}

#[test]
fn trace_52_what_was_adopted_unmarked_is_marked_before_it_is_replaced() {
    for subject in [kinds::bucket(), kinds::table()] {
        let mut model = Model::new(&subject);
        let parameters = json!({"size": 1, "fixed": "other"});
        let parameters = parameters.as_object().expect("an object");
        model.cloud.foreign("thing", "", parameters, model.now);
        model.create();
        model.rest();
        model.verify();
        assert_eq!(
            model.value("Synced"),
            "False/ReplacementRequired",
            "{}",
            subject.name
        );
        assert_eq!(model.marked(), 1, "{}", subject.name);
        let approval = model.awaited_approval().expect("an approval is asked for");
        model.approve(&approval);
        model.ends_ready();
        assert_eq!(model.cloud.objects.len(), 1, "{}", subject.name);
    }
}

#[test]
fn trace_52_what_cannot_be_marked_is_not_replaced() {
    for subject in marking() {
        let subject = subject.can(|can| can.can_update = false);
        let mut model = Model::at_rest(&subject);
        grow_old(&mut model);
        model.marker_is_lost();
        model.edit("fixed", json!("b"));
        model.approve("2");
        model.advance(Duration::from_mins(2));
        model.rest();
        model.verify();
        assert_eq!(
            model.value("Synced"),
            "False/ReplacementForbidden",
            "{}",
            subject.name
        );
        assert_eq!((model.calls("delete"), model.calls("create")), (0, 1));
        let marker = crate::reference_model::marker(&model.object().managed.uid);
        assert!(model.message().contains(&marker), "{}", model.message());
        model.cloud.objects[0].marker = marker;
        model.advance(Duration::from_mins(2));
        model.ends_ready();
    }
}

#[test]
fn trace_54_a_removal_is_never_polled_of_the_successor() {
    let subjects = [
        kinds::named(),
        kinds::queue(),
        kinds::named_with_token(),
        kinds::token(),
        kinds::marked(),
        kinds::distribution(),
    ];
    for subject in subjects {
        for pace in [Pace::Long, Pace::Driven] {
            let mut model = to_be_replaced(&subject.clone().paced(Pace::AtOnce, pace));
            model.approve("2");
            model.stop_before(A, "poll");
            let intent = "record the intent to create";
            model.stop_before_with(A, &format!("write metadata: {intent}"), &mut WithoutStatus);
            model.step(A, &mut Script::write(intent, WriteOutcome::CrashAfter));
            assert_eq!(model.tokens(), 2, "{} {pace:?}", subject.name);
            let stored = model.object().managed.status.progress.operation.clone();
            assert!(
                stored.is_some(),
                "{} {pace:?}: the status holds it still",
                subject.name
            );
            let polls = model.calls("poll");
            model.ends_ready();
            assert_eq!(model.calls("poll"), polls, "{} {pace:?}", subject.name);
        }
    }
}
