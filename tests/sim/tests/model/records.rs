//! Records that this bridge cannot read whole, or must not: nothing is done by them, and nothing of them is lost.

use std::time::Duration;

use bridge_core::{
    external::Verb,
    managed::{Policies, names},
};
use serde_json::json;

use crate::{
    fault_outcome::CallOutcome,
    kinds,
    reference_model::{A, Model},
    script::Script,
    stops::{mutations, parameters},
};

#[test]
fn a_record_that_cannot_be_read_stops_everything() {
    let mut model = Model::at_rest(&kinds::token());
    let record = model.object().managed.annotation(names::RECORD).to_owned();
    let before = mutations(&model);
    for consecutive_failures in [
        "",
        "{",
        "{\"uid\": \"uid-1\"}",
        &record.replace("externalName", "externalNome"),
    ] {
        model.etcd.annotate(names::RECORD, Some(consecutive_failures));
        model.advance(Duration::from_mins(2));
        model.rest();
        assert_eq!(
            model.value("Synced"),
            "False/RecordUnreadable",
            "{consecutive_failures}"
        );
    }
    model.etcd.delete(model.now);
    model.rest();
    assert!(
        model.etcd.object.is_some(),
        "nor is anything let go on the strength of it"
    );
    assert_eq!(mutations(&model), before);
    model.etcd.annotate(names::RECORD, Some(&record));
    model.ends_gone();
}

/// The object's record as a newer bridge may have written it.
fn newer_record(model: &Model, must_understand: &[&str]) -> String {
    let mut record = serde_json::to_value(model.record()).expect("JSON");
    record["format"] = json!(2);
    record["shard"] = json!("north");
    record["config"]["region"] = json!("north");
    record["replacement"] = json!({"generation": 1, "approvals": 1, "by": "north"});
    record["mustUnderstand"] = json!(must_understand);
    record.to_string()
}

#[test]
fn a_record_that_must_be_understood_stops_everything() {
    let mut model = Model::at_rest(&kinds::named());
    let (record, before) = (newer_record(&model, &["shard"]), mutations(&model));
    model.etcd.annotate(names::RECORD, Some(&record));
    model.edit("size", json!(2));
    model.advance(Duration::from_mins(2));
    model.rest();
    assert_eq!(model.value("Synced"), "False/RecordTooNew");
    assert!(model.message().contains("shard"), "{}", model.message());
    model.etcd.delete(model.now);
    model.rest();
    assert_eq!(mutations(&model), before);
    assert_eq!(model.object().managed.annotation(names::RECORD), record);
    let understood = record.replace("[\"shard\"]", "[]");
    model.etcd.annotate(names::RECORD, Some(&understood));
    model.ends_gone();
}

#[test]
fn a_record_that_must_be_understood_keeps_an_orphan_too() {
    let mut model = Model::at_rest(&kinds::named());
    let record = newer_record(&model, &["shard"]);
    model.etcd.annotate(names::RECORD, Some(&record));
    let kept = json!({"deletionPolicy": "Orphan"});
    model
        .etcd
        .edit(|object| object.managed.policies = Policies::of(&kept));
    model.etcd.delete(model.now);
    model.rest();
    assert!(
        model.etcd.object.is_some(),
        "a call may run that the record alone tells of"
    );
    assert_eq!(model.value("Synced"), "False/RecordTooNew");
    let uid = model.object().managed.uid.clone();
    model.etcd.annotate(names::ORPHAN, Some(&uid));
    model.rest();
    assert!(model.etcd.object.is_none(), "a person may let it go");
}

#[test]
fn what_an_unreadable_record_may_hold_is_left_to_it() {
    for record in [None, Some("{")] {
        let mut model = Model::at_rest(&kinds::named());
        let newer = newer_record(&model, &["shard"]);
        model.etcd.annotate(names::RECORD, Some(record.unwrap_or(&newer)));
        model.add_lane();
        let second = |model: &mut Model| {
            model.create();
            model.rest();
            let value = model.value("Synced");
            model.etcd.delete(model.now);
            model.rest();
            value
        };
        let value = model.beside(second);
        assert_eq!(
            value.as_deref(),
            Some("False/DoublyOwned"),
            "{}",
            model.log.join("\n")
        );
        assert_eq!(model.cloud.objects.len(), 1, "{}", model.log.join("\n"));
    }
}

#[test]
fn a_newer_record_is_acted_upon_and_keeps_its_fields() {
    let mut model = Model::at_rest(&kinds::named());
    let record = newer_record(&model, &[]);
    model.etcd.annotate(names::RECORD, Some(&record));
    model.edit("size", json!(2));
    model.ends_ready();
    assert_eq!(model.calls("update"), 1);
    model.etcd.delete(model.now);
    // One that the status records leaves the record as it is: the repeat of one whose answer is lost is recorded there.
    model.rest_after(Script::on(Verb::Delete, CallOutcome::LostBefore));
    model.ends_gone();
    let of_deletion = |record: &&str| record.contains("\"verb\":\"Delete\"");
    let records = model
        .etcd
        .history
        .iter()
        .map(|version| version.managed.annotation(names::RECORD));
    let rewritten: Vec<&str> = records.filter(of_deletion).collect();
    assert!(!rewritten.is_empty());
    for record in rewritten {
        assert_newer_fields(record);
    }
}

fn assert_newer_fields(record: &str) {
    let json: serde_json::Value = serde_json::from_str(record).expect("JSON");
    let found = [
        &json["shard"],
        &json["config"]["region"],
        &json["replacement"]["by"],
    ];
    assert_eq!(found, ["north"; 3], "{record}");
}

#[test]
fn newer_fields_stay_when_a_resource_is_created_anew() {
    for subject in [kinds::named(), kinds::token(), kinds::marked(), kinds::queue()] {
        let mut model = Model::at_rest(&subject);
        let record = newer_record(&model, &[]);
        model.etcd.annotate(names::RECORD, Some(&record));
        model.edit("size", json!(2));
        model.ends_ready();
        model.cloud.remove_by_hand(|_| true);
        model.advance(Duration::from_mins(2));
        model.ends_ready();
        assert_eq!(model.calls("create"), 2, "{}", subject.name);
        assert_newer_fields(model.object().managed.annotation(names::RECORD));
    }
}

#[test]
fn newer_fields_stay_when_a_resource_is_adopted() {
    let mut model = Model::started(&kinds::named());
    model.stop_before(A, "create");
    let now = model.now;
    model.cloud.foreign("thing", "", &parameters(), now);
    model.rest();
    assert_eq!(model.value("Synced"), "False/AlreadyExists");
    let record = newer_record(&model, &[]);
    model.etcd.annotate(names::RECORD, Some(&record));
    model.etcd.annotate(names::ADOPT, Some("thing"));
    model.rest();
    assert_eq!(model.value("Synced"), "True/ReconcileSuccess");
    assert!(model.record().adopted);
    assert_newer_fields(model.object().managed.annotation(names::RECORD));
}

#[test]
fn an_orphan_with_an_unreadable_record_is_named() {
    let mut model = Model::at_rest(&kinds::token());
    let name = model.object().managed.annotation(names::EXTERNAL_NAME).to_owned();
    model.etcd.annotate(names::RECORD, Some("{"));
    let uid = model.object().managed.uid.clone();
    model.etcd.annotate(names::ORPHAN, Some(&uid));
    model.etcd.delete(model.now);
    model.rest();
    assert!(model.etcd.object.is_none());
    assert!(model.events().contains(&"LeftExternalResource"));
    assert!(
        model.bridges[A]
            .reported
            .iter()
            .any(|event| event.message.contains(&name)),
        "{name}"
    );
}

#[test]
fn a_record_of_another_object_is_none() {
    for subject in [kinds::named(), kinds::marked(), kinds::token()] {
        let mut model = Model::new(&subject);
        model.create();
        model.etcd.annotate(
            names::RECORD,
            Some("{\"uid\": \"uid-of-a-backup\", \"newer\": 1}"),
        );
        model.ends_ready();
        assert_eq!(model.calls("create"), 1, "{}", subject.name);
    }
}
