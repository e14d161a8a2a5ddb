//! Paths without a runtime.

use std::{
    collections::{BTreeMap, BTreeSet},
    hint::black_box,
};

use bridge_core::{
    external::Observation,
    managed::differences,
    queue::{Limits, Priority, Queue, Wake},
    watch_plan::{Definition, GroupKind, Want, WatchId, plan as plan_watches},
};
use bridge_engine::object::{Key, Object};
use jiff::{SignedDuration, Timestamp};

use crate::documents;

/// An object is decoded.
pub fn decode(runs: u32) {
    let (api, text) = (documents::api(), documents::ready("one", "7").to_string());
    for _ in 0..=runs {
        assert!(black_box(Object::decode(&api, black_box(&text))).is_ok());
    }
}

/// Nothing differs.
pub fn diff(runs: u32) {
    let kind = documents::kind();
    let desired = documents::large_parameters();
    let observation = Observation {
        parameters: desired.clone(),
        ..Observation::default()
    };
    for _ in 0..=runs {
        assert!(black_box(differences(&kind, black_box(&desired), &observation)).is_empty());
    }
}

/// A turn of one key beside many that wait.
pub fn queue_turn(runs: u32) {
    let mut queue = Queue::new(Limits {
        total: 32,
        per_kind: 16,
        per_flow: 16,
        per_kind_in_flow: 8,
        per_owner: 24,
    });
    let (now, flow) = (Timestamp::UNIX_EPOCH, "account".to_owned());
    let later = Wake {
        at: now + SignedDuration::from_mins(1),
        priority: Priority::DriftPoll,
    };
    let kind = |i: u32| GroupKind::new("example.org", &format!("Kind{}", i % 20));
    let keys: Vec<Key> = (0..1000)
        .map(|i| Key::new(kind(i), Some("default"), &format!("object-{i}")))
        .collect();
    for key in &keys {
        queue.mark(key, key.kind(), &flow, later);
    }
    let mut turn = |key: &Key| {
        let wake = Wake {
            at: now,
            priority: Priority::UserChange,
        };
        queue.mark(key, key.kind(), &flow, wake);
        assert!(queue.take(now).is_some_and(|permit| permit.key == *key));
        queue.finish(key, Some(later), Some(flow.clone()), None);
    };
    turn(&keys[0]);
    for key in keys.iter().cycle().take(runs as usize) {
        turn(key);
    }
}

/// What runs is what is wanted.
pub fn plan(runs: u32) {
    let kinds = (0..500).map(|i| GroupKind::new("example.org", &format!("Kind{i}")));
    let (mut wants, mut definitions, mut running) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
    for kind in kinds {
        let mut want = Want::new("v1", false);
        want.subscribe("a plugin serves it");
        let definition = Definition {
            uid: format!("uid of {}", kind.kind()),
            served: ["v1".to_owned()].into(),
            established: true,
        };
        running.insert(WatchId {
            kind: kind.clone(),
            version: "v1".to_owned(),
            definition: Some(definition.uid.clone()),
        });
        wants.insert(kind.clone(), want);
        definitions.insert(kind, definition);
    }
    let definitions = Ok(definitions);
    let (now, grace) = (Timestamp::UNIX_EPOCH, SignedDuration::from_secs(30));
    for _ in 0..=runs {
        assert!(black_box(plan_watches(&wants, &definitions, &None, &running, now, grace)).is_idle());
    }
}
