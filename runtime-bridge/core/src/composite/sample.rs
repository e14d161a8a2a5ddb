//! Samples for tests: arbitrary JSON, and a composite resource of which nothing has been composed yet.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{
    Composite,
    choose::Selected,
    facts::Facts,
    memory::CompositeMemory,
    pipeline::{PipelineSpec, RunOutcome},
    snapshot::{Chosen, InUse, RunState, Settings, Snapshot},
    view,
};
use crate::{definition::Scope, function::DesiredState};

/// When [`snapshot`] was taken.
pub(super) fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

/// Of a composite resource with these annotations and this status, which has a composition and no run.
pub(super) fn snapshot(scope: Scope, annotations: &Value, status: &Value) -> Snapshot {
    let object = json!({
        "apiVersion": "example.org/v1",
        "kind": "App",
        "metadata": {
            "name": "app",
            "namespace": "team",
            "uid": "uid",
            "resourceVersion": "1",
            "generation": 3,
            "annotations": annotations,
        },
        "spec": {},
        "status": status,
    });
    let pipeline = json!([{"step": "compose", "functionRef": {"name": "function"}}]);
    let chosen = Chosen {
        selected: Selected {
            composition: "app".to_owned(),
            revision: "app-1".to_owned(),
            revision_selector: None,
            changes: Vec::new(),
        },
        revision_uid: "revision".to_owned(),
        secrets_namespace: None,
        pipeline: Ok(Arc::new(PipelineSpec::parse(&pipeline).unwrap())),
    };
    Snapshot {
        xr: Composite::parse(object, scope),
        choice: Ok(chosen),
        seen: BTreeMap::new(),
        strays: Vec::new(),
        required: BTreeMap::new(),
        secrets: BTreeMap::new(),
        secrets_watched: true,
        unlisted_secrets: None,
        connection_keys: Arc::new(BTreeSet::new()),
        in_use: InUse::default(),
        is_unwatched: false,
        run: RunState::None,
        function_news: false,
        namespaced: BTreeMap::new(),
        reserved: BTreeMap::new(),
        term_began: now(),
        may_act: true,
        settings: Arc::new(Settings::default()),
        jitter: 0.5,
        now: now(),
    }
}

/// Its run has just ended like this, and began of what there is now.
pub(super) fn end_run(snapshot: &mut Snapshot, outcome: RunOutcome) {
    let memory = CompositeMemory::default();
    let basis = view::basis(&Facts::new(snapshot, &memory), snapshot.choice.as_ref().unwrap());
    snapshot.run = RunState::Ended {
        basis,
        outcome: Arc::new(outcome),
        took: Duration::from_millis(20),
        at: now(),
    };
}

/// Of a run that desires nothing.
pub(super) fn outcome() -> RunOutcome {
    RunOutcome {
        result: Ok(DesiredState::default()),
        context: None,
        results: Vec::new(),
        conditions: Vec::new(),
        ttl: None,
        requirements: super::StepRequirements::default(),
        looked: BTreeMap::new(),
    }
}

/// Any JSON, a few levels deep.
pub(super) fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1000_i64..1000).prop_map(Value::from),
        (-1000_i32..1000).prop_map(|number| Value::from(f64::from(number) / 4.0)),
        "[a-c]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            fields(inner).prop_map(Value::from),
        ]
    })
}

/// A JSON object.
pub(super) fn object() -> impl Strategy<Value = Value> {
    fields(json()).prop_map(Value::from)
}

fn fields(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::btree_map("[a-e]{1,2}", value, 0..5).prop_map(|fields| fields.into_iter().collect())
}

/// The same, its keys put in the other way round, where a map keeps their order at all.
pub(super) fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(object) => object
            .iter()
            .rev()
            .map(|(key, value)| (key.clone(), reversed(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(elements) => elements.iter().map(reversed).collect(),
        other => other.clone(),
    }
}
