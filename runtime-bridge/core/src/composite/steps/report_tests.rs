use serde_json::json;

use super::*;
use crate::{
    composite::{Composite, facts::Facts, memory::CompositeMemory, sample, snapshot::Snapshot, view},
    definition::Scope,
};

/// A composite resource that refers to a `ConfigMap` that is not there and not desired, ten minutes after its run.
fn snapshot() -> (Snapshot, ObjectId) {
    let mut snapshot = sample::snapshot(Scope::Namespaced, &json!({}), &json!({}));
    let mut object = snapshot.xr.object.clone();
    object["spec"]["crossplane"]["resourceRefs"] =
        json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "gone"}]);
    snapshot.xr = Composite::parse(object, Scope::Namespaced);
    let memory = CompositeMemory::default();
    let basis = view::basis(&Facts::new(&snapshot, &memory), snapshot.choice.as_ref().unwrap());
    snapshot.run = RunState::Ended {
        basis,
        outcome: std::sync::Arc::new(sample::outcome()),
        took: Duration::from_millis(20),
        at: sample::now(),
    };
    snapshot.now = sample::now() + Duration::from_mins(10);
    let (id, _) = Facts::new(&snapshot, &memory).ids().next().unwrap();
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
