//! Names that somebody else has, or takes, and what others do to what is ours.

use std::time::Duration;

use bridge_core::{
    external::Verb,
    kind::CreateRecovery,
    managed::{Policies, names},
};
use serde_json::{Map, json};

use crate::{
    fault_outcome::{CallOutcome, ObserveOutcome},
    kinds::{self, Pace, Subject},
    reference_model::{A, B, Model},
    script::Script,
};

fn parameters() -> Map<String, serde_json::Value> {
    json!({"size": 1, "fixed": "a"})
        .as_object()
        .cloned()
        .unwrap_or_default()
}

fn taken(subject: &Subject) -> Model {
    let mut model = Model::started(subject);
    model.stop_before(A, "create");
    let name = if subject.name == "queue" {
        "https://cloud/thing"
    } else {
        "thing"
    };
    model.cloud.foreign(name, "", &parameters(), model.now);
    model.rest();
    model.verify();
    model
}

#[test]
fn trace_17_a_conflicting_name_is_foreign_until_adopted() {
    for subject in [kinds::named(), kinds::bucket(), kinds::queue(), kinds::table()] {
        let mut model = taken(&subject);
        assert_eq!(model.value("Synced"), "False/AlreadyExists", "{}", subject.name);
        assert!(model.message().contains(names::ADOPT));
        // A restart does not forget it.
        model.bridges[A].crash();
        model.rest();
        assert_eq!(model.value("Synced"), "False/AlreadyExists", "{}", subject.name);
        model.etcd.annotate(names::ADOPT, Some("another-name"));
        model.rest();
        assert_eq!(model.value("Synced"), "False/AlreadyExists", "{}", subject.name);
        let answer = "; the annotation says \"another-name\"";
        assert!(model.message().ends_with(answer), "{}", model.message());
        let name = model.cloud.objects[0].name.clone();
        model.etcd.annotate(names::ADOPT, Some(&name));
        model.rest();
        model.verify();
        assert_eq!(model.value("Ready"), "True/Available", "{}", subject.name);
        assert!(model.events().contains(&"AdoptedExternalResource"));
    }
}

#[test]
fn trace_17_a_conflict_reported_to_a_repeat_counts() {
    let mut model = Model::started(&kinds::named_with_token());
    model.stop_before(A, "create");
    model.bridges[A].crash();
    model.stop_before(A, "create \"thing\" attempt 1");
    model.cloud.foreign("thing", "", &parameters(), model.now);
    model.rest();
    model.verify();
    assert_eq!(
        model.value("Synced"),
        "False/AlreadyExists",
        "{}",
        model.log.join("\n")
    );
    model.etcd.delete(model.now);
    model.rest();
    assert!(model.etcd.object.is_none());
    assert_eq!((model.cloud.objects.len(), model.calls("delete")), (1, 0));
}

#[test]
fn trace_17_the_name_is_created_when_it_is_free_again() {
    let mut model = taken(&kinds::bucket());
    model.cloud.remove_by_hand(|_| true);
    model.advance(Duration::from_mins(2));
    model.ends_ready();
}

#[test]
fn trace_18_a_changed_name_stops_everything_but_deletion() {
    for (subject, name) in [
        (kinds::named(), Some("elsewhere")),
        (kinds::token(), Some("elsewhere")),
        (kinds::marked(), None),
        (kinds::named(), None),
    ] {
        let mut model = Model::at_rest(&subject);
        let was = model.object().managed.annotation(names::EXTERNAL_NAME).to_owned();
        model.etcd.annotate(names::EXTERNAL_NAME, name);
        model.advance(Duration::from_mins(3));
        model.rest();
        assert_eq!(
            model.value("Synced"),
            "False/ExternalNameChanged",
            "{}",
            subject.name
        );
        assert_eq!(model.calls("create"), 1);
        assert!(model.message().contains(&was));
        model.etcd.annotate(names::EXTERNAL_NAME, Some(&was));
        model.ends_ready();
    }
}

#[test]
fn trace_18_also_while_the_creation_is_unanswered() {
    let mut model = Model::started(&kinds::token());
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::LostAfter));
    model.etcd.annotate(names::EXTERNAL_NAME, Some("elsewhere"));
    model.rest();
    assert_eq!(model.value("Synced"), "False/ExternalNameChanged");
    model.etcd.annotate(names::EXTERNAL_NAME, None);
    model.ends_ready();
    assert_eq!(model.tokens(), 1);
}

#[test]
fn trace_40_a_resource_another_object_creates_is_not_adopted() {
    for subject in [
        kinds::named(),
        kinds::bucket().can(|can| can.holds_marker = false),
    ] {
        let mut model = Model::started(&subject);
        model.add_lane();
        model.stop_before(A, "create");
        model.step(A, &mut Script::on(Verb::Create, CallOutcome::CrashBeforePersist));
        model.pass(A);
        // The process that comes after looks at the newcomer first.
        model.crash(A);
        let newcomer = |model: &mut Model| {
            model.create();
            model.rest();
            assert_eq!(
                model.value("Synced"),
                "False/DoublyOwned",
                "{}",
                model.log.join("\n")
            );
        };
        model.beside(newcomer);
        model.ends_ready();
        let leaves = |model: &mut Model| {
            model.etcd.delete(model.now);
            model.rest();
            assert!(model.etcd.object.is_none());
        };
        model.beside(leaves);
        model.ends_ready();
        assert_eq!(model.calls("delete"), 0);
        model.ends_gone();
    }
}

#[test]
fn trace_45_nothing_is_begun_beside_a_creator_of_the_name() {
    // Found by reading: one chart in two namespaces; with both answers lost each believed that it had made what is there.
    for subject in [kinds::named(), kinds::bucket()] {
        let mut model = Model::started(&subject);
        model.add_lane();
        model.stop_before(A, "write metadata: record the intent to create");
        let second = |model: &mut Model| {
            model.create();
            model.rest();
            model.value("Synced")
        };
        let value = model.beside(second);
        let value = value.as_deref();
        assert_eq!(value, Some("False/DoublyOwned"), "{}", model.log.join("\n"));
        // The first one's deadline has passed meanwhile, so that either may be first now; the other one stops.
        for _ in 0..3 {
            model.advance(Duration::from_secs(61));
            model.rest();
            model.beside(Model::rest);
        }
        let ready = |model: &mut Model| model.value("Ready") == "True/Available";
        let both = [ready(&mut model), model.beside(ready).unwrap_or_default()];
        assert_eq!(
            both.iter().filter(|ready| **ready).count(),
            1,
            "{}",
            model.log.join("\n")
        );
        assert_eq!(model.cloud.objects.len(), 1, "{}", subject.name);
    }
}

#[test]
fn trace_45_of_two_creators_of_a_name_neither_owns_it() {
    // The second is begun by a process that does not see yet what the first has recorded.
    let mut model = Model::started(&kinds::named());
    model.add_lane();
    let unbegun = model.object().clone();
    model.stop_before(A, "create");
    model.lead(B);
    model.bridges[B].store = Some(unbegun);
    let second = |model: &mut Model| {
        model.lead(B);
        model.create();
        model.stop_before(B, "create");
    };
    model.beside(second);
    // It asked for its lease right before it lost it.
    model.bridges[A].leads = true;
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::CrashBeforePersist));
    model.bridges[A].leads = false;
    model.beside(|model| model.step(B, &mut Script::on(Verb::Create, CallOutcome::CrashBeforePersist)));
    let asks = |model: &mut Model| {
        model.rest();
        assert_eq!(
            model.value("Synced"),
            "False/DoublyOwned",
            "{}",
            model.log.join("\n")
        );
    };
    asks(&mut model);
    model.beside(asks);
    let leaves = |model: &mut Model| {
        model.etcd.delete(model.now);
        model.rest();
        assert!(model.etcd.object.is_none());
    };
    model.beside(leaves);
    assert_eq!(model.calls("delete"), 0);
    model.ends_ready();
}

#[test]
fn trace_45_names_in_different_places_are_two() {
    let subject = kinds::named().with(|manners| manners.placed = true);
    let mut model = Model::started(&subject);
    model.add_lane();
    model.stop_before(A, "create");
    let elsewhere = |model: &mut Model| {
        model.create();
        model.edit("fixed", json!("south"));
        model.ends_ready();
    };
    model.beside(elsewhere);
    model.ends_ready();
}

#[test]
fn trace_45_what_another_has_is_its_whatever_this_one_asks_for() {
    // Found by reading: what differed in a fixed field was taken for another place, adopted, and deleted with the second object.
    for fixed in [Some("b"), None] {
        let mut model = Model::started(&kinds::named());
        model.ends_ready();
        model.add_lane();
        let second = |model: &mut Model| {
            model.create();
            model.etcd.edit(|object| match fixed {
                Some(fixed) => drop(object.parameters.insert("fixed".to_owned(), json!(fixed))),
                None => drop(object.parameters.remove("fixed")),
            });
            model.rest();
            assert_eq!(
                model.value("Synced"),
                "False/DoublyOwned",
                "{}",
                model.log.join("\n")
            );
            model.etcd.delete(model.now);
            model.rest();
            assert!(model.etcd.object.is_none());
        };
        model.beside(second);
        assert_eq!(model.calls("delete"), 0);
        model.ends_ready();
    }
}

#[test]
fn trace_28_adoption_waits_until_no_create_can_come() {
    // Attempt 0 is on its way; somebody else is faster; a person gives his to us at once.
    let subject = kinds::table().paced(Pace::AtOnce, Pace::AtOnce);
    let with_token = subject
        .clone()
        .can(|can| can.create_recovery.push(CreateRecovery::ClientToken));
    for subject in [subject, with_token] {
        let mut model = Model::started(&subject);
        model.stop_before(A, "create");
        model.step(A, &mut Script::on(Verb::Create, CallOutcome::Late));
        model.cloud.foreign("thing", "", &parameters(), model.now);
        model.etcd.annotate(names::ADOPT, Some("thing"));
        model.stop_before(A, "write metadata: adopt");
        assert!(model.flights.is_empty(), "{}", model.log.join("\n"));
        model.rest();
        assert_eq!(model.value("Ready"), "True/Available");
        model.ends_gone();
    }
}

#[test]
fn trace_36_adoption_by_a_person_waits_for_unanswered_creates() {
    // A restored object: its resource is found by the marker of its former self, and a create is on its way.
    for fate in [CallOutcome::Late, CallOutcome::LostBefore] {
        let mut model = Model::started(&kinds::marked());
        model.stop_before(A, "create");
        model.step(A, &mut Script::on(Verb::Create, fate));
        model.cloud.foreign("old", "m-old", &parameters(), model.now);
        model.etcd.annotate(names::ADOPT, Some("m-old"));
        model.rest();
        model.verify();
        let log = model.log.join("\n");
        assert!(model.flights.is_empty(), "{log}");
        assert_eq!(model.value("Ready"), "True/Available", "{log}");
        // What the create made goes first, and is the only one; without it the old one is.
        let made = usize::from(fate == CallOutcome::Late);
        assert_eq!(model.made().len(), made, "{log}");
        let name = model.record().external_name;
        assert_eq!(name == "old", made == 0, "{log}");
        model.ends_gone();
        assert_eq!(model.cloud.objects.len(), made, "{log}");
    }
}

#[test]
fn trace_36_adoption_under_a_known_name_waits_too() {
    let mut model = Model::started(&kinds::table().paced(Pace::AtOnce, Pace::AtOnce));
    model.stop_before(A, "create");
    model.step(A, &mut Script::on(Verb::Create, CallOutcome::Late));
    model.cloud.foreign("thing", "m-old", &parameters(), model.now);
    model.etcd.annotate(names::ADOPT, Some("m-old"));
    model.stop_before(A, "write metadata: adopt");
    assert!(model.flights.is_empty(), "{}", model.log.join("\n"));
    model.rest();
    assert_eq!(model.value("Ready"), "True/Available");
    model.ends_gone();
}

#[test]
fn trace_29_two_absences_count_only_a_window_apart() {
    let subject = kinds::marked().can(|can| can.consistency_window = Duration::from_secs(20));
    let mut model = Model::at_rest(&subject);
    model.advance(Duration::from_mins(2));
    // For ten seconds it reads as absent; the second look began then, and its answer comes when the window is over.
    model.cloud.blip = Some(model.now + Duration::from_secs(10));
    model.pass(A);
    assert_eq!(model.value("Ready"), "False/Unavailable");
    model.advance(Duration::from_secs(5));
    model.etcd.annotate(names::RECONCILE_REQUESTED, Some("now"));
    model.pass_with(
        A,
        &mut Script::look(ObserveOutcome::Slow(Duration::from_secs(40))),
    );
    model.ends_ready();
    assert_eq!(model.calls("create"), 1);
}

#[test]
fn trace_29_an_absence_from_before_the_create_does_not_count() {
    // B looked when there was nothing, A made it, and one look of B's is wrong.
    let mut model = Model::started(&kinds::marked());
    model.lead(B);
    model.stop_before(B, "write metadata");
    model.lead(A);
    model.rest();
    model.pass(B);
    assert_eq!(model.calls("create"), 1);
    model.lead(B);
    model.rest_after(Script::look(ObserveOutcome::Absent));
    model.ends_ready();
    assert_eq!(model.calls("create"), 1);
}

#[test]
fn a_deleted_resource_with_a_known_name_is_recreated() {
    for subject in kinds::families() {
        let subject = subject.can(|can| can.consistency_window = Duration::from_secs(20));
        let mut model = Model::at_rest(&subject);
        model.advance(Duration::from_mins(2));
        model.cloud.remove_by_hand(|_| true);
        model.rest();
        model.ends_ready();
        assert_eq!(model.calls("create"), 2, "{}", subject.name);
    }
}

#[test]
fn trace_41_an_undesired_deletion_is_not_driven() {
    // Somebody began to remove it, and could have thought better of it.
    for policies in [json!({}), json!({"managementPolicies": ["Observe"]})] {
        for subject in [kinds::distribution(), kinds::marked(), kinds::nothing()] {
            let mut model = Model::at_rest(&subject.paced(Pace::AtOnce, Pace::Driven));
            model
                .etcd
                .edit(|object| object.managed.policies = Policies::of(&policies));
            let name = model.made()[0].name.clone();
            model.cloud.begin_removal_by_hand(&name);
            model.advance(Duration::from_mins(2));
            model.rest();
            model.verify();
            assert_eq!(model.calls("poll"), 0, "{}", model.log.join("\n"));
            assert_eq!(model.made().len(), 1);
        }
    }
}

#[test]
fn trace_41_a_desired_deletion_is_driven() {
    let mut model = Model::at_rest(&kinds::marked().paced(Pace::AtOnce, Pace::Driven));
    let name = model.made()[0].name.clone();
    model.cloud.begin_removal_by_hand(&name);
    model.ends_gone();
    assert_eq!(model.calls("poll"), 1);
}
