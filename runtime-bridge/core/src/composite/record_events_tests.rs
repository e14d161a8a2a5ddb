use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::{
    composite::{
        ComposedResource, Composite, ObjectId, Performed, WriteFailure, WriteFailureKind, decide,
        decision::Deletion, object_id::group_of, resource_ref::ResourceRef, results, sample,
    },
    definition::Scope,
    driver::{Leadership, Moment},
    managed::Decision,
};

fn moment(now: Timestamp) -> Moment {
    Moment {
        now,
        leadership: Leadership {
            leads: true,
            term: 0,
            draining: false,
        },
        jitter: 0.5,
    }
}

/// The events of an action that ends like this.
fn told(memory: &mut CompositeMemory, action: &Action, performed: Performed) -> Vec<String> {
    let mut snapshot = sample::snapshot(Scope::Namespaced, &json!({}), &json!({}));
    let moment = moment(sample::now());
    let _ = results::record::<()>(memory, &mut snapshot, action, performed, sample::now(), &moment);
    memory
        .take_events()
        .into_iter()
        .map(|event| event.message)
        .collect()
}

fn config_map() -> ObjectId {
    ObjectId {
        group: group_of("v1").to_owned(),
        kind: "ConfigMap".to_owned(),
        namespace: Some("team".to_owned()),
        name: "map".to_owned(),
    }
}

fn failure(kind: WriteFailureKind, message: &str) -> WriteFailure {
    WriteFailure {
        kind,
        message: message.to_owned(),
    }
}

#[test]
fn each_reason_why_a_resource_is_not_written_is_told_once() {
    let mut memory = CompositeMemory::default();
    let resource = ComposedResource {
        resource_name: "map".to_owned(),
        id: config_map(),
        api_version: "v1".to_owned(),
        body: json!({}),
    };
    let create = Action::Create(vec![resource]);
    let mut fail = |kind, why| {
        let performed = Performed::Written(vec![Err(failure(kind, why))]);
        told(&mut memory, &create, performed)
    };
    let (refused, conflict) = (WriteFailureKind::Rejected, WriteFailureKind::Conflict);
    let forbidden = r#"cannot apply composed resource "map": forbidden"#;
    let invalid = r#"cannot apply composed resource "map": invalid"#;
    assert_eq!(fail(refused, "forbidden"), [forbidden]);
    assert_eq!(fail(refused, "forbidden"), [""; 0]);
    // The status says the same of both.
    assert_eq!(fail(refused, "invalid"), [invalid]);
    assert_eq!(fail(conflict, "another writer"), [""; 0]);
    assert_eq!(fail(refused, "forbidden"), [forbidden]);
}

#[test]
fn a_deletion_that_fails_as_before_once_it_could_be_carried_out_is_told_again() {
    let mut memory = CompositeMemory::default();
    let deletion = Deletion {
        reference: ResourceRef {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            namespace: None,
            name: "map".to_owned(),
        },
        id: config_map(),
        uid: "uid".to_owned(),
        resource_version: "1".to_owned(),
    };
    let delete = Action::Delete(vec![deletion]);
    let mut end = |ended| told(&mut memory, &delete, Performed::Deleted(vec![ended]));
    let denied = || Err(failure(WriteFailureKind::Rejected, "denied"));
    let told = [r#"cannot delete composed resource ConfigMap "team/map": denied"#];
    assert_eq!(end(denied()), told);
    assert_eq!(end(denied()), [""; 0]);
    assert_eq!(end(Ok(false)), [""; 0]);
    assert_eq!(end(denied()), told);
}

/// Of texts that differ each time only the last is remembered.
#[test]
fn what_was_told_is_not_remembered_for_ever() {
    let mut memory = CompositeMemory::default();
    let remove = Action::RemoveFinalizer;
    for attempt in 0..100 {
        let refused = ApiFailure {
            kind: ApiFailureKind::Rejected,
            retry_after: std::time::Duration::ZERO,
            message: format!("request {attempt} is denied"),
        };
        write_failed(&mut memory, &remove, &refused);
        secret_deletion(&mut memory, Some(&refused.message));
    }
    assert_eq!(memory.take_events().len(), 200);
    assert_eq!(memory.reported.len(), 2);
    secret_deletion(&mut memory, None);
    write_succeeded(&mut memory, false);
    assert_eq!(memory.reported, BTreeSet::new());
}

/// All else waits for that write, so that nobody would say why nothing happens.
#[test]
fn a_refused_write_of_the_composite_resource_is_said_and_repeated() {
    let mut memory = CompositeMemory::default();
    let mut snapshot = sample::snapshot(Scope::Namespaced, &json!({}), &json!({}));
    sample::end_run(&mut snapshot, sample::outcome());
    let refused = ApiFailure {
        kind: ApiFailureKind::Rejected,
        retry_after: std::time::Duration::ZERO,
        message: "a policy does not like its label".to_owned(),
    };
    let mut said = 0;
    for _ in 0..2 {
        let decision = decide(&snapshot, &memory);
        let Decision::Act(write @ Action::Write(_)) = decision else {
            panic!("{decision:?}");
        };
        write_failed(&mut memory, &write, &refused);
        let decision = decide(&snapshot, &memory);
        if let Decision::Act(Action::WriteStatus(write)) = decision {
            let mut conditions = write.status["conditions"].as_array().unwrap().iter();
            let synced = conditions
                .find(|condition| condition["type"] == "Synced")
                .unwrap();
            assert_eq!(synced["status"], "False");
            assert_eq!(
                synced["message"],
                "cannot update composite resource: a policy does not like its label"
            );
            said += 1;
            let mut object = snapshot.xr.object.clone();
            object["status"] = write.status;
            snapshot.xr = Composite::parse(object, Scope::Namespaced);
        }
    }
    assert_eq!(said, 1);
    // That the status cannot be written either holds nothing up.
    let decision = decide(&sample_without_status(&snapshot), &memory);
    let Decision::Act(status @ Action::WriteStatus(_)) = decision else {
        panic!("{decision:?}");
    };
    write_failed(&mut memory, &status, &refused);
    let decision = decide(&sample_without_status(&snapshot), &memory);
    assert!(
        matches!(decision, Decision::Act(Action::Write(_))),
        "{decision:?}"
    );
}

fn sample_without_status(snapshot: &Snapshot) -> Snapshot {
    let mut snapshot = snapshot.clone();
    let mut object = snapshot.xr.object.clone();
    object["status"] = json!({});
    snapshot.xr = Composite::parse(object, Scope::Namespaced);
    snapshot
}
