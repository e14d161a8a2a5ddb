//! What came of a run, as it is kept for as long as its composite resource lives.

use std::{
    mem,
    sync::{Arc, Weak},
};

use bridge_core::composite::{RunFailure, RunOutcome};
use parking_lot::Mutex;
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

use crate::object::unreadable;

/// Desired objects are kept as text, which takes a fifth of the memory of parsed ones: most composite resources are at rest.
pub(super) struct StoredOutcome {
    /// Without the objects, and without the context, which is for those alone who show a run.
    rest: RunOutcome,
    composite: Option<StoredObject>,
    resources: Vec<StoredObject>,
    /// For as long as somebody holds it.
    whole: Mutex<Weak<RunOutcome>>,
}

enum StoredObject {
    Text(Box<RawValue>),
    /// The text of which would not be parsed as it was.
    Parsed(Value),
}

impl StoredOutcome {
    pub(super) fn new(mut outcome: RunOutcome) -> Self {
        outcome.context = None;
        let (mut composite, mut resources) = (None, Vec::new());
        if let Ok(desired) = &mut outcome.result {
            let take = |object: &mut Value| StoredObject::new(mem::take(object));
            composite = desired.composite.as_mut().map(|one| take(&mut one.object));
            resources = desired
                .resources
                .values_mut()
                .map(|one| take(&mut one.object))
                .collect();
        }
        Self {
            rest: outcome,
            composite,
            resources,
            whole: Mutex::default(),
        }
    }

    /// Why the run failed.
    pub(super) fn failure(&self) -> Option<&RunFailure> {
        self.rest.result.as_ref().err()
    }

    /// The outcome, its context aside.
    pub(super) fn whole(&self) -> Arc<RunOutcome> {
        let mut whole = self.whole.lock();
        if let Some(outcome) = whole.upgrade() {
            return outcome;
        }
        let mut outcome = self.rest.clone();
        if let Ok(desired) = &mut outcome.result {
            for (of, stored) in desired.composite.iter_mut().zip(&self.composite) {
                of.object = stored.parsed();
            }
            for (of, stored) in desired.resources.values_mut().zip(&self.resources) {
                of.object = stored.parsed();
            }
        }
        let outcome = Arc::new(outcome);
        *whole = Arc::downgrade(&outcome);
        outcome
    }
}

impl StoredObject {
    fn new(object: Value) -> Self {
        match to_raw_value(&object) {
            Ok(text) if unreadable(&text).is_none() => Self::Text(text),
            _ => Self::Parsed(object),
        }
    }

    fn parsed(&self) -> Value {
        match self {
            // It was a value, and nothing in it is read as anything else.
            Self::Text(text) => serde_json::from_str(text.get()).unwrap_or_default(),
            Self::Parsed(object) => object.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bridge_core::{
        composite::{RunFailure, StepRequirements},
        function::{DesiredState, HiddenMap, Readiness, Resource},
    };
    use serde_json::json;

    use super::*;

    fn outcome(objects: &[Value]) -> RunOutcome {
        let mut desired = DesiredState {
            composite: Some(Resource::of(json!({"status": {"size": 0.1}}))),
            ..DesiredState::default()
        };
        for (number, object) in objects.iter().enumerate() {
            let mut resource = Resource::of(object.clone());
            resource.ready = Readiness::Ready;
            desired.resources.insert(format!("part-{number}"), resource);
        }
        RunOutcome {
            result: Ok(desired),
            ttl: Some(Duration::from_mins(1)),
            ..RunOutcome::failed(RunFailure::NoSteps, StepRequirements::default())
        }
    }

    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!(1), |inner, _| json!([inner]))
    }

    #[test]
    fn an_outcome_is_given_back_as_it_was() {
        let objects = [
            json!({"kind": "Part", "spec": {"none": null, "b": 1e300, "a": [1.5, 9_007_199_254_740_993_u64, -3, "\u{7f}\u{2028}"]}}),
            json!({"key": 0.1 + 0.2, "low": f64::MIN_POSITIVE}),
            nested(127),
            nested(128),
            nested(1000),
            json!({"spec": {"tags": {"$serde_json::private::RawValue": "[1]"}}}),
            json!({"spec": {"tags": {"$serde_json::private::RawValue": "no JSON", "a": 1}}}),
        ];
        for count in 0..=objects.len() {
            let original = outcome(&objects[..count]);
            let stored = StoredOutcome::new(original.clone());
            assert!(*stored.whole() == original, "{count}");
        }
        let failed = RunOutcome::failed(RunFailure::NoSteps, StepRequirements::default());
        assert_eq!(*StoredOutcome::new(failed.clone()).whole(), failed);
    }

    #[test]
    fn it_is_parsed_once_for_all_who_hold_it() {
        let stored = StoredOutcome::new(outcome(&[json!({"kind": "Part"})]));
        let (one, other) = (stored.whole(), stored.whole());
        assert!(Arc::ptr_eq(&one, &other));
        drop((one, other));
        assert!(stored.whole.lock().upgrade().is_none());
    }

    #[test]
    fn the_context_is_let_go() {
        let mut original = outcome(&[]);
        original.context = Some(HiddenMap::default());
        assert_eq!(StoredOutcome::new(original).whole().context, None);
    }
}
