//! The last run of a pipeline as the bridge reports it, a line for each step.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::super::{
    facts::{ago, at, millis},
    tree::Tree,
};

/// What a bridge reports of a composite resource, as far as it is printed.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Reported {
    run: Run,
    steps: Option<Vec<Step>>,
    memory: Option<Memory>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Run {
    state: String,
    since: Option<Timestamp>,
    ended: Option<Timestamp>,
    took_millis: u64,
    ttl_seconds: Option<f64>,
    failure: Option<String>,
    requirements: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Step {
    #[serde(rename = "step")]
    name: String,
    function: String,
    calls: u32,
    kept: u32,
    took_millis: u64,
    asked_since: Option<Timestamp>,
    desired_resources: Option<usize>,
    failure: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Memory {
    circuit_open_until: Option<Timestamp>,
}

/// Of what `/debug/objects` says; empty: it knows of no run.
pub(in crate::trace) fn last_run(composition: &Value, now: Timestamp) -> Vec<String> {
    // A bridge of another version may say something else: what cannot be read is not shown.
    let reported = Reported::deserialize(composition).unwrap_or_default();
    let Some(headline) = reported.run.headline(now) else {
        return Vec::new();
    };
    let mut lines = vec![headline];
    let steps = reported.steps.unwrap_or_default();
    let steps = steps.iter().map(|step| step.line(now));
    let required = reported.run.requirements.iter();
    let below: Vec<String> = steps
        .chain(required.map(|one| format!("looked up: {one}")))
        .collect();
    for (index, line) in below.iter().enumerate() {
        let (branch, _) = Tree::branch(index + 1 == below.len());
        lines.push(format!("{branch}{line}"));
    }
    let memory = reported.memory.unwrap_or_default();
    if let Some(until) = memory.circuit_open_until {
        lines.push(format!(
            "runs follow changes more slowly, as they are many; all at once again {}",
            at(now, until)
        ));
    }
    lines
}

impl Run {
    fn headline(&self, now: Timestamp) -> Option<String> {
        if let Some(since) = self.since {
            return Some(format!("run: begun {}", ago(now, since)));
        }
        let ended = ago(now, self.ended?);
        let took = millis(self.took_millis);
        let good = match self.ttl_seconds {
            Some(seconds) => format!(", good for {seconds} s"),
            None => String::new(),
        };
        let failure = self.failure.as_ref().map(|why| format!(": {why}"));
        let failure = failure.unwrap_or_default();
        Some(format!(
            "last run: {} {ended}, in {took}{good}{failure}",
            self.state
        ))
    }
}

impl Step {
    fn line(&self, now: Timestamp) -> String {
        let took = match (self.calls, self.kept) {
            (calls, kept) if calls > 0 && calls == kept => "kept response".to_owned(),
            (1, _) => millis(self.took_millis),
            (calls, 0) => format!("{calls} calls, {}", millis(self.took_millis)),
            (calls, kept) => format!("{calls} calls, {kept} of them kept, {}", millis(self.took_millis)),
        };
        let outcome = match (self.asked_since, self.desired_resources, &self.failure) {
            (Some(since), _, _) => {
                return format!("{} ({}): asked {}", self.name, self.function, ago(now, since));
            }
            (None, _, Some(why)) => why.clone(),
            (None, Some(1), None) => "1 desired resource".to_owned(),
            (None, Some(desired), None) => format!("{desired} desired resources"),
            (None, None, None) => "answered".to_owned(),
        };
        format!("{} ({}): {took}, {outcome}", self.name, self.function)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(composition: &Value) -> Vec<String> {
        last_run(composition, "2026-01-01T00:01:00Z".parse().unwrap())
    }

    #[test]
    fn a_run_is_shown_step_by_step() {
        let shown = lines(&json!({
            "run": {
                "state": "succeeded", "ended": "2026-01-01T00:00:55Z", "tookMillis": 7, "ttlSeconds": 60.0, "failure": null,
                "requirements": ["ConfigMap default/a"],
            },
            "steps": [
                {"step": "one", "function": "f-one", "calls": 1, "kept": 0, "tookMillis": 4, "desiredResources": 1},
                {"step": "two", "function": "f-two", "calls": 3, "kept": 0, "tookMillis": 3, "desiredResources": 2},
                {"step": "three", "function": "f-three", "calls": 1, "kept": 1, "tookMillis": 0, "desiredResources": 2},
            ],
            "memory": {"circuitOpenUntil": "2026-01-01T00:01:30Z"},
        }));
        assert_eq!(
            shown,
            [
                "last run: succeeded 5s ago, in 7ms, good for 60 s",
                "├─ one (f-one): 4ms, 1 desired resource",
                "├─ two (f-two): 3 calls, 3ms, 2 desired resources",
                "├─ three (f-three): kept response, 2 desired resources",
                "└─ looked up: ConfigMap default/a",
                "runs follow changes more slowly, as they are many; all at once again in 30s",
            ]
        );
    }

    #[test]
    fn a_run_that_goes_on_or_failed_says_where() {
        let going = lines(&json!({
            "run": {"state": "going", "since": "2026-01-01T00:00:48Z"},
            "steps": [{"step": "one", "function": "f", "calls": 0, "kept": 0, "tookMillis": 0, "askedSince": "2026-01-01T00:00:48Z"}],
            "memory": null,
        }));
        assert_eq!(going, ["run: begun 12s ago", "└─ one (f): asked 12s ago"]);
        let failed = lines(&json!({
            "run": {"state": "failed", "ended": "2026-01-01T00:00:48Z", "tookMillis": 1, "failure": "no", "requirements": []},
            "steps": [{"step": "one", "function": "f", "calls": 1, "kept": 0, "tookMillis": 1, "failure": "out of time"}],
        }));
        assert_eq!(
            failed,
            [
                "last run: failed 12s ago, in 1ms: no",
                "└─ one (f): 1ms, out of time"
            ]
        );
        assert!(lines(&json!({"run": {"state": "none"}, "steps": null})).is_empty());
        assert!(lines(&Value::Null).is_empty());
    }
}
