//! What one reconcile has parsed: each version once, whatever the number of its steps.

use std::{collections::HashMap, sync::Arc};

use bridge_core::composite::{ObjectState, RunOutcome, RunState};
use parking_lot::Mutex;

use super::live::live;
use crate::object::{Key, Object};

/// For as long as the reconcile lasts: between reconciles only texts are kept.
#[derive(Default)]
pub(super) struct Views {
    objects: Mutex<HashMap<Key, (Arc<Object>, ObjectState)>>,
    outcome: Mutex<Option<Arc<RunOutcome>>>,
}

impl Views {
    /// An object that exists.
    pub(super) fn of(&self, object: Arc<Object>) -> ObjectState {
        let key = object.key();
        if let Some((parsed, state)) = self.objects.lock().get(&key)
            && Arc::ptr_eq(parsed, &object)
        {
            return state.clone();
        }
        let state = exists(&object);
        self.objects.lock().insert(key, (object, state.clone()));
        state
    }

    /// What the last run desires stays parsed.
    pub(super) fn keep(&self, run: &RunState) {
        if let RunState::Ended { outcome, .. } = run {
            *self.outcome.lock() = Some(Arc::clone(outcome));
        }
    }
}

/// An object that exists, past what was parsed before.
pub(super) fn exists(object: &Object) -> ObjectState {
    match live(object) {
        Ok(object) => ObjectState::Exists(Arc::new(object)),
        Err(why) => ObjectState::Unknown(why.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use bridge_core::watch_plan::GroupKind;
    use serde_json::json;

    use super::*;
    use crate::object::ApiType;

    fn part(version: &str) -> Arc<Object> {
        let api = ApiType {
            kind: GroupKind::new("example.org", "Part"),
            version: "v1".to_owned(),
            plural: "parts".to_owned(),
            namespaced: true,
        };
        let json = json!({
            "metadata": {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": version},
            "spec": {"of": version},
        });
        Arc::new(Object::decode(&Arc::new(api), &json.to_string()).unwrap())
    }

    #[test]
    fn each_version_is_parsed_once() {
        let parsed = |state: ObjectState| match state {
            ObjectState::Exists(object) => object,
            other => panic!("{other:?}"),
        };
        let (views, first, next) = (Views::default(), part("1"), part("2"));
        let of_first = parsed(views.of(Arc::clone(&first)));
        assert!(Arc::ptr_eq(&of_first, &parsed(views.of(first))));
        let of_next = parsed(views.of(Arc::clone(&next)));
        assert_eq!(of_next.object()["spec"]["of"], "2");
        assert!(Arc::ptr_eq(&of_next, &parsed(views.of(next))));
    }
}
