//! As few writes as safety allows (design 4.1), counted.

use std::time::Duration;

use bridge_core::managed::status;
use serde_json::json;

use crate::{
    kinds::{self, Pace, Subject},
    reference_model::{A, Model, Writes},
};

/// Writes from here on.
fn counted(model: &mut Model, what: impl FnOnce(&mut Model)) -> Writes {
    model.writes = Writes::default();
    what(model);
    model.verify();
    model.writes
}

/// Writes from the user's apply to Ready, and what they were.
fn to_ready(subject: &Subject) -> (u32, u32, u32) {
    let mut model = Model::started(subject);
    let writes = counted(&mut model, Model::rest);
    assert_eq!(model.value(status::READY), "True/Available");
    (writes.of_the_object(), writes.metadata, writes.status)
}

fn to_gone(subject: &Subject) -> (u32, u32, u32) {
    let mut model = Model::at_rest(subject);
    model.advance(Duration::from_mins(1));
    model.rest();
    let writes = counted(&mut model, Model::ends_gone);
    (writes.of_the_object(), writes.metadata, writes.status)
}

#[test]
fn from_create_to_ready() {
    // All, metadata, status. Where an operation begins one status says so.
    let table = [
        (kinds::named(), (2, 1, 1)),
        (kinds::bucket(), (2, 1, 1)),
        (kinds::queue(), (2, 1, 1)),
        (kinds::named_with_token(), (2, 1, 1)),
        (kinds::table(), (3 + 1, 2, 2)),
        (kinds::token(), (3, 2, 1)),
        (kinds::marked(), (3, 2, 1)),
        (kinds::nothing(), (3, 2, 1)),
        (kinds::distribution(), (4 + 1, 3, 2)),
        (kinds::bucket().with(|manners| manners.bare = true), (2, 1, 1)),
        (kinds::token().with(|manners| manners.bare = true), (3, 2, 1)),
    ];
    for (subject, expected) in table {
        assert_eq!(to_ready(&subject), expected, "{}", subject.name);
    }
}

#[test]
fn writes_from_delete_to_removal() {
    // All, metadata, status; the last one is the finalizer's. Where an operation begins one status says so.
    let table = [
        (kinds::named(), (2, 0, 1)),
        (kinds::bucket(), (2, 0, 1)),
        (kinds::queue(), (2, 0, 1)),
        (kinds::table().paced(Pace::AtOnce, Pace::AtOnce), (2, 0, 1)),
        (kinds::table(), (2 + 1, 0, 2)),
        (kinds::token(), (2, 0, 1)),
        (kinds::marked(), (2, 0, 1)),
        (kinds::nothing(), (2, 0, 1)),
        (kinds::distribution(), (2 + 1, 0, 2)),
        // One write more for each poll that drives it, and one that says that it waits: an earlier poll may still be on its way.
        (
            kinds::named().paced(Pace::AtOnce, Pace::Driven),
            (2 + 1 + 1 + 1, 1, 3),
        ),
    ];
    for (subject, expected) in table {
        assert_eq!(to_gone(&subject), expected, "{}", subject.name);
    }
}

#[test]
fn a_spec_change_costs_one_status_write() {
    for subject in kinds::families() {
        let mut model = Model::at_rest(&subject);
        model.advance(Duration::from_mins(1));
        model.rest();
        let writes = counted(&mut model, |model| {
            model.edit("size", json!(2));
            model.rest();
        });
        assert_eq!(
            writes.of_the_object(),
            1,
            "{}: {}",
            subject.name,
            model.log.join("\n")
        );
        assert_eq!(writes.status, 1);
        assert_eq!(model.calls("update"), 1);
        assert_eq!(model.made()[0].parameters["size"], 2);
    }
}

#[test]
fn a_long_change_is_one_status_more() {
    let subject = kinds::table().with(|manners| manners.update = Pace::Long);
    let mut model = Model::at_rest(&subject);
    let writes = counted(&mut model, |model| {
        model.edit("size", json!(2));
        model.rest();
    });
    assert_eq!((writes.of_the_object(), writes.status), (2, 2));
    assert_eq!(model.calls("update"), 1);
}

#[test]
fn drift_is_corrected_and_reported_without_a_status_write() {
    let mut model = Model::at_rest(&kinds::bucket());
    model.cloud.objects[0]
        .parameters
        .insert("size".to_owned(), json!(5));
    let writes = counted(&mut model, |model| {
        model.advance(Duration::from_mins(1));
        model.rest();
    });
    assert_eq!(model.made()[0].parameters["size"], 1);
    assert_eq!(writes, Writes::default());
    assert_eq!(drift(&model), ["Corrected drift in /size"]);
}

/// What was reported of drift.
fn drift(model: &Model) -> Vec<&str> {
    let reported = model.bridges.iter().flat_map(|bridge| &bridge.reported);
    let drift = reported.filter(|event| event.reason == "CorrectedDrift");
    drift.map(|event| event.message.as_str()).collect()
}

#[test]
fn what_the_user_asks_for_is_no_drift() {
    for subject in kinds::families() {
        let mut model = Model::at_rest(&subject);
        model.edit("size", json!(7));
        model.ends_ready();
        assert!(
            model.events().contains(&"UpdatedExternalResource"),
            "{}",
            subject.name
        );
        assert!(drift(&model).is_empty(), "{}: {:?}", subject.name, drift(&model));
    }
}

#[test]
fn drift_is_reported_by_a_process_that_never_saw_it_otherwise() {
    let mut model = Model::at_rest(&kinds::bucket());
    model.cloud.objects[0]
        .parameters
        .insert("size".to_owned(), json!(5));
    model.bridges[A].crash();
    model.rest();
    assert_eq!(drift(&model), ["Corrected drift in /size"]);
}

#[test]
fn a_resource_that_is_created_anew_is_reported_each_time() {
    for subject in kinds::families() {
        let mut model = Model::at_rest(&subject);
        for times in 1..3 {
            model.advance(Duration::from_mins(10));
            model.rest();
            model.cloud.remove_by_hand(|_| true);
            model.advance(Duration::from_mins(2));
            model.ends_ready();
            let events = model.events();
            let recreated = events
                .iter()
                .filter(|event| **event == "RecreatingExternalResource");
            assert_eq!(recreated.count(), times, "{}", subject.name);
        }
    }
}

#[test]
fn nothing_is_written_at_rest() {
    for subject in kinds::all() {
        let mut model = Model::at_rest(&subject);
        let looks = model.calls("observe");
        let writes = counted(&mut model, |model| {
            for _ in 0..20 {
                model.advance(Duration::from_secs(61));
                model.pass(A);
            }
        });
        assert_eq!(writes, Writes::default(), "{}", subject.name);
        assert_eq!(
            model.calls("observe"),
            looks + 20,
            "{}: one look for each poll",
            subject.name
        );
        assert_eq!(model.calls("update"), 0, "{}", subject.name);
    }
}

#[test]
fn a_restart_writes_nothing() {
    for subject in kinds::all() {
        let mut model = Model::at_rest(&subject);
        let writes = counted(&mut model, |model| {
            model.bridges[A].crash();
            model.rest();
        });
        assert_eq!(writes, Writes::default(), "{}", subject.name);
    }
}

#[test]
fn a_connection_secret_is_written_once() {
    let mut model = Model::new(&kinds::bucket());
    model.create();
    model
        .etcd
        .edit(|object| object.managed.wants_connection_secret = true);
    model.rest();
    assert_eq!(
        model.writes.secret, 1,
        "what the creation gave and what it showed go together"
    );
    for _ in 0..5 {
        model.advance(Duration::from_secs(61));
        model.pass(A);
    }
    assert_eq!(model.writes.secret, 1);
}

#[test]
fn progress_is_written_seldom() {
    let mut model = Model::started(&kinds::distribution());
    let writes = counted(&mut model, |model| {
        for second in 0..20_u8 {
            model.cloud.progress = Some((second * 5, format!("Step{second}")));
            model.advance(Duration::from_secs(1));
            model.bridges[A].memory.poll_now();
            model.pass(A);
        }
    });
    assert!(model.calls("poll") >= 18);
    // When it began, and then every 10 s at most.
    assert_eq!(writes.status, 1 + 1, "{}", model.log.join("\n"));
}

#[test]
fn updates_without_effect_are_reported_once() {
    for subject in kinds::families() {
        let mut model = Model::at_rest(&subject);
        model.cloud.ignores_updates = true;
        model.edit("size", json!(2));
        let minutes = |model: &mut Model| {
            for _ in 0..10 {
                model.advance(Duration::from_secs(61));
                model.pass(A);
            }
        };
        minutes(&mut model);
        let message = model.message();
        assert!(
            message.starts_with("update failed: it still differs after repeated updates: "),
            "{message}"
        );
        let updates = model.calls("update");
        let writes = counted(&mut model, minutes);
        assert!(model.calls("update") >= updates + 5, "{}", subject.name);
        assert_eq!(writes, Writes::default(), "{}", subject.name);
    }
}

#[test]
fn a_deletion_without_effect_is_reported_once() {
    let mut model = Model::at_rest(&kinds::token());
    model.cloud.keeps_what_is_deleted = true;
    model.etcd.delete(model.now);
    let minutes = |model: &mut Model| {
        for _ in 0..40 {
            model.advance(Duration::from_secs(5));
            model.pass(A);
        }
    };
    minutes(&mut model);
    let deletes = model.calls("delete");
    let writes = counted(&mut model, minutes);
    assert!(model.calls("delete") > deletes + 3);
    assert_eq!(writes, Writes::default());
}
