use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::{
    composite::{
        digest::ContentDigest,
        memory::CompositeMemory,
        pipeline::{Lookup, RunFailure, RunOutcome, StepFailure},
        sample,
        snapshot::Snapshot,
    },
    definition::Scope,
    function::{FunctionFailure, ResourceMatch, ResourceSelector},
};

const MINUTE: Duration = Duration::from_mins(1);

/// A composite resource of this uid, whose run has just ended like this and saw what is there now.
fn ended(uid: &str, annotations: &Value, outcome: RunOutcome) -> Snapshot {
    let mut snapshot = sample::snapshot(Scope::Namespaced, annotations, &Value::Null);
    snapshot.xr.object["metadata"]["uid"] = uid.into();
    sample::end_run(&mut snapshot, outcome);
    snapshot
}

fn due_after(snapshot: &Snapshot) -> Option<Duration> {
    let memory = CompositeMemory {
        failed_runs: 1,
        ..CompositeMemory::default()
    };
    let at = due(&Context::new(snapshot, &memory))?;
    Some(at.duration_since(sample::now()).unsigned_abs())
}

fn with_ttl(ttl: Duration) -> RunOutcome {
    RunOutcome {
        ttl: Some(ttl),
        ..sample::outcome()
    }
}

#[test]
fn without_ttl_and_interval_no_run_is_due_by_itself() {
    assert_eq!(due_after(&ended("uid", &json!({}), sample::outcome())), None);
}

#[test]
fn no_run_is_due_before_the_ttl_has_ended() {
    let mut all: Vec<Duration> = (0..500)
        .map(|n| due_after(&ended(&format!("uid-{n}"), &json!({}), with_ttl(MINUTE))).unwrap())
        .collect();
    all.sort_unstable();
    let (first, last) = (all[0], all[499]);
    assert!(first >= MINUTE, "{first:?}");
    assert!(last <= MINUTE.mul_f64(1.1), "{last:?}");
    // What began together does not stay together.
    assert!(last > first + Duration::from_secs(4), "{first:?} to {last:?}");
}

#[test]
fn one_composite_resource_is_due_after_the_same_time_each_time() {
    let of = |uid| due_after(&ended(uid, &json!({}), with_ttl(MINUTE)));
    assert_eq!(of("a"), of("a"));
}

#[test]
fn an_interval_counts_where_there_is_no_ttl() {
    let annotations = json!({"crossplane.io/poll-interval": "10m"});
    let after = due_after(&ended("uid", &annotations, sample::outcome())).unwrap();
    assert!((10 * MINUTE..=11 * MINUTE).contains(&after), "{after:?}");
}

#[test]
fn a_ttl_counts_before_an_interval() {
    for interval in ["10s", "10m"] {
        let annotations = json!({"crossplane.io/poll-interval": interval});
        let after = due_after(&ended("uid", &annotations, with_ttl(MINUTE))).unwrap();
        assert!(
            (MINUTE..=MINUTE.mul_f64(1.1)).contains(&after),
            "{interval}: {after:?}"
        );
    }
}

#[test]
fn no_interval_is_shorter_than_a_second_or_longer_than_a_year() {
    let of = |ttl| due_after(&ended("uid", &json!({}), with_ttl(ttl))).unwrap();
    let shortest = of(Duration::from_millis(1));
    assert!(
        (SHORTEST..=SHORTEST.mul_f64(1.1)).contains(&shortest),
        "{shortest:?}"
    );
    let longest = of(Duration::from_hours(24 * 3650));
    assert!((LONGEST..=LONGEST.mul_f64(1.1)).contains(&longest), "{longest:?}");
}

#[test]
fn a_change_is_due_once_runs_have_settled_whatever_the_ttl() {
    let mut snapshot = ended("uid", &json!({}), with_ttl(MINUTE));
    snapshot.xr.object["metadata"]["labels"] = json!({"changed": "yes"});
    // Four times what the last one took.
    assert_eq!(due_after(&snapshot), Some(Duration::from_millis(80)));
}

#[test]
fn the_first_runs_after_quiet_follow_each_other_sooner() {
    let mut snapshot = ended("uid", &json!({}), sample::outcome());
    snapshot.xr.object["metadata"]["labels"] = json!({"changed": "yes"});
    if let RunState::Ended { took, .. } = &mut snapshot.run {
        *took = Duration::from_millis(1);
    }
    let mut memory = CompositeMemory::default();
    let settled = [(); 6].map(|()| {
        let at = due(&Context::new(&snapshot, &memory)).unwrap();
        memory
            .circuit
            .spend(&snapshot.settings.circuit, Changing::Observed, snapshot.now);
        at.duration_since(sample::now()).as_millis()
    });
    assert_eq!(settled, [25, 50, 75, 100, 100, 100]);
    snapshot.xr.object["status"] = json!({"conditions": [{"type": "Ready", "status": "True"}]});
    let ready = due(&Context::new(&snapshot, &CompositeMemory::default())).unwrap();
    assert_eq!(ready.duration_since(sample::now()).as_millis(), 100);
}

/// It answers again, or listens elsewhere.
#[test]
fn a_run_that_waits_for_a_function_is_repeated_once_there_is_news_of_it() {
    let failed = RunOutcome {
        result: Err(RunFailure::Step {
            step: "compose".to_owned(),
            why: StepFailure::Function {
                function: "function".to_owned(),
                why: FunctionFailure::NoEndpoint("none".to_owned()),
            },
        }),
        ..sample::outcome()
    };
    let mut snapshot = ended("uid", &json!({}), failed);
    let back_off = due_after(&snapshot);
    snapshot.function_news = true;
    let due = due_after(&snapshot);
    assert_eq!(due, Some(Duration::from_millis(80)));
    assert!(back_off > due, "{back_off:?}");
}

#[test]
fn a_failed_run_is_repeated_by_its_back_off_whatever_changes() {
    let failed = RunOutcome {
        result: Err(RunFailure::NoSteps),
        ..sample::outcome()
    };
    let mut snapshot = ended("uid", &json!({}), failed);
    let back_off = Some(policies::RUN.wait(1, 0.5));
    assert_eq!(due_after(&snapshot), back_off);
    snapshot.xr.object["metadata"]["labels"] = json!({"changed": "yes"});
    assert_eq!(due_after(&snapshot), back_off);
}

#[test]
fn a_failed_run_is_repeated_at_once_when_what_it_requires_comes() {
    let failed = RunOutcome {
        result: Err(RunFailure::NoSteps),
        ..sample::outcome()
    };
    let mut snapshot = ended("uid", &json!({}), failed);
    let lookup = Lookup::Resources(ResourceSelector {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        matching: ResourceMatch::Name("plan".to_owned()),
        namespace: Some("team".to_owned()),
    });
    let [absent, exists] =
        [json!([]), json!([{"kind": "ConfigMap"}])].map(|found| ContentDigest::of_value(&found));
    if let RunState::Ended { basis, .. } = &mut snapshot.run {
        basis.required = [(lookup.clone(), absent)].into();
    }
    let back_off = Some(policies::RUN.wait(1, 0.5));
    for (found, expected) in [
        (Ok(absent), back_off),
        (Err("configmaps is forbidden".to_owned()), back_off),
        // Four times what the last one took.
        (Ok(exists), Some(Duration::from_millis(80))),
    ] {
        snapshot.required = [(lookup.clone(), found)].into();
        assert_eq!(due_after(&snapshot), expected);
    }
}

/// Each run may desire something else.
#[test]
fn a_ttl_does_not_go_past_an_open_circuit() {
    let mut snapshot = ended("uid", &json!({}), with_ttl(Duration::from_secs(1)));
    let mut memory = CompositeMemory::default();
    let settings = std::sync::Arc::clone(&snapshot.settings);
    while memory.circuit.not_before(sample::now(), sample::now()).is_none() {
        memory
            .circuit
            .spend(&settings.circuit, Changing::Observed, sample::now());
    }
    snapshot.now = sample::now() + Duration::from_secs(2);
    let of = Context::new(&snapshot, &memory);
    let held = held_until(&of).unwrap();
    assert!(held > sample::now() + Duration::from_secs(10), "{held}");
    assert_eq!(due(&of), Some(held));
}
