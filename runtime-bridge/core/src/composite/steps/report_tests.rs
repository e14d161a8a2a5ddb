use serde_json::json;

use super::*;
use crate::{
    composite::{
        Composite,
        facts::Facts,
        memory::{CompositeMemory, RejectedStatus},
        sample,
        snapshot::Snapshot,
    },
    definition::Scope,
};

/// A composite resource that refers to a `ConfigMap` that is not there and not desired, ten minutes after its run.
fn snapshot() -> (Snapshot, ObjectId) {
    let mut snapshot = sample::snapshot(Scope::Namespaced, &json!({}), &json!({}));
    let mut object = snapshot.xr.object.clone();
    object["spec"]["crossplane"]["resourceRefs"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone"}]);
    snapshot.xr = Composite::parse(object, Scope::Namespaced);
    sample::end_run(&mut snapshot, sample::outcome());
    snapshot.now = sample::now() + Duration::from_mins(10);
    let (id, _) = Facts::new(&snapshot, &CompositeMemory::default())
        .ids()
        .next()
        .unwrap();
    snapshot.seen.insert(id.clone(), ObjectState::Absent);
    (snapshot, id)
}

/// Seed 12 of the simulation with compositions: it came back at once, again and again.
#[test]
fn what_could_not_be_read_is_waited_for_and_no_creation_that_has_ended() {
    let (snapshot, id) = snapshot();
    let until = snapshot.now + Duration::from_secs(5);
    let memory = CompositeMemory {
        failed_reads: [(id, until)].into(),
        ..CompositeMemory::default()
    };
    let rest = rest(&Context::new(&snapshot, &memory));
    assert_eq!(rest.wake, Some(until));
}

/// What is written of one whose only resource is not ready, so long after its first run began; else when to come back.
fn said(status: &serde_json::Value, after: Duration, failure: Option<&str>) -> Result<(), Option<Timestamp>> {
    let mut snapshot = sample::snapshot(Scope::Namespaced, &json!({}), status);
    let mut outcome = sample::outcome();
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    if let Ok(desired) = &mut outcome.result {
        let resource = crate::function::Resource::of(object);
        desired.resources.insert("map".to_owned(), resource);
    }
    let mut memory = CompositeMemory {
        progress_since: Some(sample::now()),
        ..CompositeMemory::default()
    };
    sample::end_run(&mut snapshot, outcome);
    snapshot.now = sample::now() + after;
    memory.rejected_status = failure.map(|message| {
        Box::new(RejectedStatus {
            desired: json!({}),
            message: message.to_owned(),
            retry_at: None,
        })
    });
    let of = Context::new(&snapshot, &memory);
    match write_status(&of) {
        NEXT => Err(rest(&of).wake),
        _ => Ok(()),
    }
}

#[test]
fn what_may_become_ready_soon_is_not_said_to_be_unready_first() {
    let second = Duration::from_secs(1);
    let (soon, late) = (Duration::from_millis(200), second);
    let nothing = json!({});
    assert_eq!(said(&nothing, soon, None), Err(Some(sample::now() + second)));
    assert_eq!(said(&nothing, late, None), Ok(()));
    assert_eq!(said(&nothing, soon, Some("why")), Ok(()));
    let ready =
        json!({"conditions": [{"type": "Ready", "status": "True"}, {"type": "Synced", "status": "True"}]});
    assert_eq!(said(&ready, soon, None), Ok(()));
}
