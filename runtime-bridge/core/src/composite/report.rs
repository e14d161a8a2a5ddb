//! What a process knows of a composite resource, as `/debug/objects` shows it. No content of an object is in it.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{
    circuit::CircuitSettings,
    memory::CompositeMemory,
    pipeline::{Lookup, RunOutcome},
    snapshot::RunState,
};

impl RunState {
    /// For people.
    pub fn to_json(&self) -> Value {
        match self {
            Self::None => json!({"state": "none"}),
            Self::Going { since, .. } => json!({"state": "going", "since": since.to_string()}),
            Self::Ended {
                outcome, took, at, ..
            } => json!({
                "state": if outcome.result.is_ok() { "succeeded" } else { "failed" },
                "ended": at.to_string(),
                "tookMillis": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
                // A failed run is tried again by a back-off, whatever its functions said before it failed.
                "ttlSeconds": outcome.ttl.filter(|_| outcome.result.is_ok()).map(|ttl| ttl.as_secs_f64()),
                "failure": outcome.result.as_ref().err().map(ToString::to_string),
                "requirements": requirements(outcome),
            }),
        }
    }
}

/// All that was looked up.
fn requirements(outcome: &RunOutcome) -> Vec<String> {
    outcome.looked.keys().map(Lookup::to_string).collect()
}

impl CompositeMemory {
    /// For people.
    pub fn to_json(&self, settings: &CircuitSettings, now: Timestamp) -> Value {
        let writes = self.failures.iter().map(|(name, failed)| {
            let why = failed_write(&failed.message, failed.failures, failed.retry_at);
            (name.clone(), why)
        });
        let deletions = self.failed_deletions.iter().map(|(uid, failed)| {
            let why = failed_write(&failed.message, failed.failures, failed.retry_at);
            (uid.clone(), why)
        });
        let open = self.circuit.open(now);
        json!({
            "failedRuns": self.failed_runs,
            "failedWrites": writes.collect::<Map<_, _>>(),
            "failedDeletions": deletions.collect::<Map<_, _>>(),
            "runsUponChanges": {
                "left": settings.burst.saturating_sub(self.circuit.spent(settings, now)),
                "of": settings.burst,
            },
            "circuitOpenUntil": open.map(|(_, until)| until.to_string()),
        })
    }
}

fn failed_write(message: &str, failures: u32, retry_at: Timestamp) -> Value {
    json!({"message": message, "failures": failures, "retryAt": retry_at.to_string()})
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use super::*;
    use crate::{
        composite::{facts::Facts, pipeline::RunFailure, sample, view},
        definition::Scope,
    };

    #[test]
    fn a_run_says_how_it_ended_and_for_how_long_that_is_good() {
        let snapshot = sample::snapshot(Scope::Namespaced, &json!({}), &Value::Null);
        let memory = CompositeMemory::default();
        let basis = view::basis(&Facts::new(&snapshot, &memory), snapshot.choice.as_ref().unwrap());
        let ended = |outcome| RunState::Ended {
            basis: basis.clone(),
            outcome: Arc::new(outcome),
            took: Duration::from_millis(20),
            at: sample::now(),
        };
        let good = ended(RunOutcome {
            ttl: Some(Duration::from_mins(1)),
            ..sample::outcome()
        });
        let expected = json!({
            "state": "succeeded", "ended": "2026-01-01T00:00:00Z", "tookMillis": 20, "ttlSeconds": 60.0,
            "failure": null, "requirements": [],
        });
        assert_eq!(good.to_json(), expected);
        let bad = ended(RunOutcome {
            result: Err(RunFailure::NoSteps),
            ttl: Some(Duration::from_mins(1)),
            ..sample::outcome()
        });
        assert_eq!(bad.to_json()["ttlSeconds"], Value::Null);
        assert_eq!(
            (&bad.to_json()["state"], &bad.to_json()["failure"]),
            (
                &json!("failed"),
                &json!("an array of pipeline steps is required in Pipeline mode")
            )
        );
        assert_eq!(RunState::None.to_json(), json!({"state": "none"}));
    }
}
