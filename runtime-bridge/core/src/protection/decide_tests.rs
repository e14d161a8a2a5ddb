//! What is decided from one snapshot, step by step.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{
    ControllerState, Known, NamedObject, Performed, Record, Resolution, Snapshot, Subject, UsageMemory,
    UsageView, decide,
    decision::Action,
    memory::{FailedWrite, LabelWrites},
    names,
    results::record as record_performed,
    sample,
    usage::Side,
};
use crate::{
    composite::{LiveObject, ObjectState, WriteFailure, WriteFailureKind},
    driver::{Follow, Leadership, Moment},
    managed::Decision,
};

mod late_labels;
mod other_usages;
mod replay;

fn decided(of: &Snapshot, memory: &UsageMemory) -> String {
    match decide(of, memory) {
        Decision::Act(Action::WriteStatus(write)) => {
            let conditions = write.status["conditions"].as_array().unwrap().iter();
            let said = conditions.map(|one| {
                let text = |field: &str| one[field].as_str().unwrap_or_default().to_owned();
                format!(
                    "{}={}/{}: {}",
                    text("type"),
                    text("status"),
                    text("reason"),
                    text("message")
                )
            });
            format!("status {}", said.collect::<Vec<_>>().join("; "))
        }
        Decision::Act(action) => action.to_string(),
        Decision::Rest(rest) => match rest.wake {
            Some(at) => format!("rest until {at}"),
            None => "rest".to_owned(),
        },
    }
}

fn first(of: &Snapshot) -> String {
    decided(of, &UsageMemory::default())
}

fn verified() -> UsageMemory {
    UsageMemory {
        verified: Some("1".to_owned()),
        unready_since: Some("2026-01-01T00:00:00Z".parse().unwrap()),
        ..UsageMemory::default()
    }
}

/// Every write of the label was answered.
fn settled() -> UsageMemory {
    UsageMemory {
        label_writes: LabelWrites {
            settled: Some("uid-db".to_owned()),
            unanswered: None,
        },
        ..verified()
    }
}

fn at(time: &str) -> Timestamp {
    time.parse().unwrap()
}

fn bare() -> LiveObject {
    sample::object("Db", "db")
}

/// Ready but for its status.
fn protecting() -> Snapshot {
    sample::snapshot(sample::recorded(), &sample::marked())
}

fn deleting() -> Snapshot {
    sample::snapshot(sample::deleting(sample::recorded()), &sample::marked())
}

fn using(of: &mut Snapshot, state: ObjectState) {
    of.using = Known::Object(sample::reference("App", "app"), state);
}

fn going(mut object: LiveObject, since: &str) -> ObjectState {
    object.object_mut()["metadata"]["deletionTimestamp"] = since.into();
    sample::exists(object)
}

const READY: &str = "status Ready=True/Available: ";
const LETS_GO: &str = "take the label off Db db";
const WAITS: &str = "status Ready=False/Deleting: Waiting for the using resource (which is a \"App\" named \"app\") to be deleted.";

#[test]
fn without_authority_nothing_is_done() {
    let mut of = sample::snapshot(sample::usage(), &bare());
    of.may_act = false;
    assert_eq!(first(&of), "rest");
}

#[test]
fn a_usage_is_ready_after_three_writes() {
    let of = sample::snapshot(sample::usage(), &bare());
    assert_eq!(first(&of), "write finalizer, details, what it is about, owner");
    let Decision::Act(Action::Write(write)) = decide(&of, &UsageMemory::default()) else {
        panic!("it is written");
    };
    let recorded = sample::recorded();
    let metadata = &recorded.object()["metadata"];
    assert_eq!(json!(write.finalizers), metadata["finalizers"]);
    assert_eq!(json!(write.annotations), metadata["annotations"]);
    assert_eq!(json!(write.owners), metadata["ownerReferences"]);
    assert_eq!(write.spec, recorded.object()["spec"]);

    let of = sample::snapshot(sample::recorded(), &bare());
    assert_eq!(first(&of), "verify resourceVersion");
    assert_eq!(decided(&of, &verified()), "label Db db as in use");
    let Decision::Act(Action::Mark(write)) = decide(&of, &verified()) else {
        panic!("it is marked");
    };
    let marked = sample::marked();
    let patch = write.mark.patch();
    assert_eq!(patch["metadata"]["labels"], marked.object()["metadata"]["labels"]);
    let mut annotations = marked.object()["metadata"]["annotations"].clone();
    annotations[names::LET_GO_BY] = Value::Null;
    assert_eq!(patch["metadata"]["annotations"], annotations);
    assert_eq!(
        (write.uid.as_str(), write.resource_version.as_str()),
        ("uid-db", "5")
    );
    assert_eq!(first(&protecting()), READY);
}

#[test]
fn a_usage_at_rest_writes_nothing() {
    let mut of = protecting();
    let Decision::Act(Action::WriteStatus(write)) = decide(&of, &UsageMemory::default()) else {
        panic!("it says so");
    };
    of.usage.0.object_mut()["status"] = write.status;
    assert_eq!(first(&of), "rest");
    of.guard = Err("not yet".to_owned());
    let mut memory = verified();
    memory.unready_since = Some(of.now);
    // After a restart the guard is not proved for a moment.
    assert_eq!(decided(&of, &memory), "rest until 2026-01-01T01:00:30Z");
    of.now += Duration::from_secs(30);
    assert_eq!(
        decided(&of, &memory),
        "status Ready=False/GuardNotProved: not yet"
    );
}

#[test]
fn selectors_are_written_down_as_they_were_resolved() {
    let mut of = sample::snapshot(sample::usage(), &bare());
    for side in ["of", "by"] {
        let named = &mut of.usage.0.object_mut()["spec"][side];
        named["resourceRef"] = Value::Null;
        named["resourceSelector"] = json!({"matchLabels": {"a": "b"}});
    }
    let written = |of: &Snapshot| match decide(of, &UsageMemory::default()) {
        Decision::Act(Action::Write(write)) => write,
        other => panic!("{other:?}"),
    };
    let spec = written(&of).spec;
    assert_eq!(spec["of"]["resourceRef"], json!({"name": "db"}));
    assert_eq!(spec["by"]["resourceRef"], json!({"name": "app"}));
    let mut elsewhere = sample::reference("Db", "db");
    elsewhere.namespace = Some("other".to_owned());
    of.of = Resolution::Found(elsewhere, Arc::new(bare()));
    assert_eq!(
        written(&of).spec["of"]["resourceRef"],
        json!({"name": "db", "namespace": "other"})
    );
}

#[test]
fn what_is_not_found_is_named_after_a_while() {
    let with = |of: Resolution, by: Option<Resolution>| {
        let mut snapshot = sample::snapshot(sample::usage(), &bare());
        for side in ["of", "by"] {
            let selector = json!({"matchLabels": {"x": "y", "a": "b"}, "matchControllerRef": side == "by"});
            snapshot.usage.0.object_mut()["spec"][side]["resourceRef"] = Value::Null;
            snapshot.usage.0.object_mut()["spec"][side]["resourceSelector"] = selector;
        }
        (snapshot.of, snapshot.by) = (of, by);
        snapshot
    };
    let found = || Resolution::Found(sample::reference("Db", "db"), Arc::new(bare()));
    let absent = |kind: &str, name: &str| Resolution::Absent(sample::reference(kind, name));
    let cases = [
        (
            with(absent("Db", "db"), None),
            "cannot get used resource: Db.example.org \"team/db\" does not exist",
        ),
        (
            with(found(), Some(absent("App", "app"))),
            "cannot get using resource: App.example.org \"team/app\" does not exist",
        ),
        (
            with(Resolution::Unmatched, None),
            "cannot resolve selector at \"spec.of.resourceSelector\": no \"Db\" found matching labels: \
             map[\"a\":\"b\" \"x\":\"y\"]",
        ),
        (
            with(found(), Some(Resolution::Unmatched)),
            "cannot resolve selector at \"spec.by.resourceSelector\": no \"App\" found matching labels: \
             map[\"a\":\"b\" \"x\":\"y\"] and with same controller reference",
        ),
        (
            with(
                Resolution::KindGone("the cluster does not serve Db in example.org/v1".to_owned()),
                None,
            ),
            "cannot get used resource: the cluster does not serve Db in example.org/v1",
        ),
        (
            with(Resolution::Unknown("forbidden".to_owned()), None),
            "cannot get used resource: forbidden",
        ),
        (
            with(
                Resolution::Invalid("Db.example.org is namespaced".to_owned()),
                None,
            ),
            "cannot get used resource: Db.example.org is namespaced",
        ),
    ];
    for (of, message) in cases {
        let expected = format!("status Ready=False/ResourceNotFound: {message}");
        assert_eq!(decided(&of, &verified()), expected);
        let mut memory = verified();
        memory.unready_since = Some(of.now);
        let waits = decided(&of, &memory);
        assert_eq!(waits, "rest until 2026-01-01T01:00:05Z", "{message}");
    }
}

#[test]
fn what_cannot_be_labelled_is_named() {
    let of = sample::snapshot(sample::recorded(), &bare());
    let mut memory = verified();
    memory.failed = Some(FailedWrite {
        message: "forbidden".to_owned(),
        is_conflict: false,
        failures: 1,
        retry_at: of.now + Duration::from_mins(1),
    });
    let expected = "status Ready=False/NotMarked: cannot label the used resource as in use: forbidden";
    assert_eq!(decided(&of, &memory), expected);
}

#[test]
fn a_cycle_is_named_while_nothing_is_deleted() {
    let mut of = protecting();
    of.cycle = "Usage team/a, Usage team/protect-db".to_owned();
    let expected = "these usages form a cycle, in which each object waits for another: Usage team/a, Usage team/protect-db";
    assert_eq!(first(&of), format!("{READY}{expected}"));
}

#[test]
fn a_usage_without_a_used_object_goes_at_once() {
    let mut of = deleting();
    of.by = None;
    of.using = Known::Nothing;
    of.used = Known::Object(sample::reference("Db", "db"), ObjectState::KindGone);
    assert_eq!(first(&of), "remove finalizer");
    of.used = Known::Object(sample::reference("Db", "db"), ObjectState::Absent);
    assert_eq!(first(&of), "observe used resource");
    let mut memory = verified();
    memory.gone.insert("uid-db".to_owned());
    assert_eq!(decided(&of, &memory), "remove finalizer");
    // A person took the finalizer off.
    of.usage.0.object_mut()["metadata"]["finalizers"] = Value::Null;
    assert_eq!(first(&of), "rest");
}

mod by_controller {
    use super::*;

    fn with(controller: ControllerState) -> Snapshot {
        let mut of = deleting();
        of.controller = controller;
        of
    }

    fn read(controller: ControllerState) -> UsageMemory {
        UsageMemory {
            controller: Some(controller),
            ..verified()
        }
    }

    #[test]
    fn a_decomposed_usage_goes_though_what_uses_the_resource_lives() {
        let of = with(ControllerState::Lives);
        assert_eq!(first(&of), "observe controller");
        assert_eq!(decided(&of, &read(ControllerState::Lives)), LETS_GO);
    }

    #[test]
    fn a_live_read_goes_before_what_the_store_shows() {
        let of = with(ControllerState::Lives);
        assert_eq!(
            decided(&of, &read(ControllerState::Going { orphans: false })),
            WAITS
        );
        assert_eq!(decided(&of, &read(ControllerState::Gone)), WAITS);
    }

    #[test]
    fn under_the_deletion_of_its_controller_a_usage_waits_for_what_uses_the_resource() {
        for controller in [ControllerState::Going { orphans: false }, ControllerState::Gone] {
            let mut of = with(controller);
            assert_eq!(first(&of), WAITS);
            // Not to be seen is not to be gone; another one of its name is not it.
            let mut successor = sample::object("App", "app");
            successor.object_mut()["metadata"]["uid"] = "another".into();
            for state in [ObjectState::Absent, sample::exists(successor)] {
                using(&mut of, state);
                assert_eq!(first(&of), "observe using resource");
                let mut memory = verified();
                memory.gone.insert("uid-app".to_owned());
                assert_eq!(decided(&of, &memory), LETS_GO);
            }
            using(&mut of, ObjectState::KindGone);
            assert_eq!(first(&of), LETS_GO);
        }
    }

    #[test]
    fn what_waits_for_the_usage_is_not_waited_for() {
        let mut of = with(ControllerState::Going { orphans: false });
        of.ancestors.insert("uid-app".to_owned());
        assert_eq!(first(&of), LETS_GO);
    }

    #[test]
    fn a_controller_that_cannot_be_read_is_waited_for_visibly() {
        let of = with(ControllerState::Unknown("forbidden".to_owned()));
        assert_eq!(
            first(&of),
            "status Ready=False/Deleting: cannot get its controller: forbidden"
        );
        let of = with(ControllerState::Lives);
        let mut memory = verified();
        memory.failed_read = Some((of.now + Duration::from_secs(5), "forbidden".to_owned()));
        let expected = "status Ready=False/Deleting: cannot read what it waits for: forbidden";
        assert_eq!(decided(&of, &memory), expected);
    }

    #[test]
    fn a_usage_that_waits_protects() {
        let mut of = with(ControllerState::Gone);
        of.used = Known::Object(sample::reference("Db", "db"), sample::exists(bare()));
        assert_eq!(decided(&of, &verified()), "label Db db as in use");
    }
}

mod standalone {
    use super::*;

    #[test]
    fn what_is_deleted_together_goes_in_order() {
        // The usage is being deleted since 00:59:00.
        for (since, together) in [
            ("2026-01-01T00:58:57Z", false),
            ("2026-01-01T00:58:58Z", true),
            ("2026-01-01T00:59:02Z", true),
            ("2026-01-01T00:59:03Z", false),
        ] {
            let mut of = deleting();
            using(&mut of, going(sample::object("App", "app"), since));
            let expected = if together { WAITS } else { LETS_GO };
            assert_eq!(first(&of), expected, "{since}");
        }
    }

    #[test]
    fn a_grace_period_is_no_part_of_the_time_between() {
        let mut of = deleting();
        let mut pod = sample::object("App", "app");
        pod.object_mut()["metadata"]["deletionGracePeriodSeconds"] = json!(30);
        using(&mut of, going(pod, "2026-01-01T00:59:31Z"));
        assert_eq!(first(&of), WAITS);
    }

    #[test]
    fn what_may_be_deleted_with_the_usage_is_looked_at_when_that_time_is_over() {
        let mut of = deleting();
        of.now = at("2026-01-01T00:59:01Z");
        assert_eq!(first(&of), "rest until 2026-01-01T00:59:03Z");
        of.now = at("2026-01-01T00:59:03Z");
        let mut memory = verified();
        assert_eq!(decided(&of, &memory), "observe using resource");
        memory.using_lived = Some(at("2026-01-01T00:59:02Z"));
        assert_eq!(decided(&of, &memory), "observe using resource");
        memory.using_lived = Some(of.now);
        assert_eq!(decided(&of, &memory), LETS_GO);
    }

    /// Else it would be read again and again, within one reconcile.
    #[test]
    fn what_a_live_read_does_not_find_is_gone_whatever_its_watch_still_shows() {
        let mut of = deleting();
        of.now = at("2026-01-01T00:59:03Z");
        let mut memory = verified();
        assert_eq!(decided(&of, &memory), "observe using resource");
        memory.gone.insert("uid-app".to_owned());
        assert_eq!(decided(&of, &memory), LETS_GO);
    }

    /// Its using object was added after it was recorded, and has no uid yet by which its absence could be remembered.
    #[test]
    fn what_no_uid_names_and_its_watch_still_shows_is_read_again_later() {
        let mut usage = sample::recorded();
        let record = Record {
            by: None,
            ..sample::record()
        };
        let metadata = &mut usage.0.object_mut()["metadata"];
        metadata["annotations"][names::RECORD] = record.to_string().into();
        metadata["ownerReferences"] = json!([]);
        let mut of = sample::snapshot(sample::deleting(usage), &sample::marked());
        of.now = at("2026-01-01T00:59:03Z");
        let mut memory = verified();
        assert_eq!(decided(&of, &memory), "observe using resource");
        let moment = Moment {
            now: of.now,
            leadership: Leadership {
                leads: true,
                term: 1,
                draining: false,
            },
            jitter: 0.5,
        };
        let action = Action::Observe(Subject::Resource(Side::Using));
        let absent = Performed::Observed(ObjectState::Absent);
        let _: Follow<()> = record_performed(&mut memory, &of, &action, absent, of.now, &moment);
        let (until, _) = memory.failed_read.clone().unwrap();
        assert!(until > of.now);
        assert_ne!(decided(&of, &memory), "observe using resource");
    }
}

/// Takes in what the write that is decided on was answered.
fn marked(memory: &mut UsageMemory, of: &Snapshot, result: Result<(), WriteFailure>) {
    let Decision::Act(action) = decide(of, memory) else {
        panic!("it writes");
    };
    let moment = Moment {
        now: of.now,
        leadership: Leadership {
            leads: true,
            term: 0,
            draining: false,
        },
        jitter: 0.5,
    };
    let _: Follow<()> = record_performed(memory, of, &action, Performed::Written(result), of.now, &moment);
}

#[test]
fn what_is_read_is_printed_by_what_it_is() {
    let printed = |subject: Subject| Action::Observe(subject).to_string();
    assert_eq!(printed(Subject::Resource(Side::Used)), "observe used resource");
    assert_eq!(printed(Subject::Resource(Side::Using)), "observe using resource");
    assert_eq!(printed(Subject::Controller), "observe controller");
    assert_eq!(printed(Subject::Owner), "observe owner");
}
