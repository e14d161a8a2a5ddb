//! What the steps of a run asked of their functions and how these answered, for people. No content of an object is in it.

use std::time::Duration;

use bridge_core::function::{FunctionFailure, RunResponse, Severity};
use jiff::Timestamp;
use serde_json::{Value, json};

/// Those of one run, in their order.
#[derive(Debug, Default)]
pub(super) struct StepCalls(Vec<StepCall>);

#[derive(Debug)]
struct StepCall {
    step: String,
    function: String,
    /// More than one: its requirements changed with what it was shown.
    calls: u32,
    /// Responses of former calls that are still good.
    kept: u32,
    took: Duration,
    state: State,
}

#[derive(Debug)]
enum State {
    Called { since: Timestamp },
    Answered { composed: usize },
    Failed(String),
}

impl StepCalls {
    /// The function is called now.
    pub(super) fn begin(&mut self, step: &str, function: &str, now: Timestamp) {
        let state = State::Called { since: now };
        match self.0.last_mut().filter(|last| last.step == step) {
            Some(again) => again.state = state,
            None => self.0.push(StepCall {
                step: step.to_owned(),
                function: function.to_owned(),
                calls: 0,
                kept: 0,
                took: Duration::ZERO,
                state,
            }),
        }
    }

    /// The call that was begun last has ended.
    pub(super) fn end(&mut self, answer: &Result<RunResponse, FunctionFailure>, now: Timestamp) {
        let Some(last) = self.0.last_mut() else { return };
        let State::Called { since } = last.state else {
            return;
        };
        last.calls += 1;
        last.took += now.duration_since(since).unsigned_abs();
        last.state = match answer {
            Ok(response) => {
                last.kept += u32::from(response.kept);
                let fatal = response
                    .results
                    .iter()
                    .find(|result| result.severity == Severity::Fatal);
                match fatal {
                    Some(fatal) => State::Failed(format!("fatal result: {}", fatal.message)),
                    None => State::Answered {
                        composed: response.desired.resources.len(),
                    },
                }
            }
            Err(failure) => State::Failed(failure.to_string()),
        };
    }

    pub(super) fn to_json(&self) -> Value {
        self.0.iter().map(StepCall::to_json).collect()
    }
}

impl StepCall {
    fn to_json(&self) -> Value {
        let mut json = json!({
            "step": self.step,
            "function": self.function,
            "calls": self.calls,
            "kept": self.kept,
            "tookMillis": u64::try_from(self.took.as_millis()).unwrap_or(u64::MAX),
        });
        let (name, value) = match &self.state {
            State::Called { since } => ("calledSince", json!(since.to_string())),
            State::Answered { composed } => ("composed", json!(composed)),
            State::Failed(why) => ("failure", json!(why)),
        };
        json[name] = value;
        json
    }
}

#[cfg(test)]
mod tests {
    use bridge_core::function::{ResultTarget, RunResult};

    use super::*;

    #[test]
    fn calls_of_a_step_are_one_line_with_what_came_of_the_last() {
        let at = |millis| Timestamp::from_millisecond(millis).unwrap();
        let mut calls = StepCalls::default();
        calls.begin("a", "function-a", at(0));
        calls.end(&Ok(RunResponse::default()), at(5));
        calls.begin("a", "function-a", at(6));
        let kept = RunResponse {
            kept: true,
            ..RunResponse::default()
        };
        calls.end(&Ok(kept), at(7));
        calls.begin("b", "function-b", at(8));
        let fatal = RunResult {
            severity: Severity::Fatal,
            message: "no size".to_owned(),
            reason: None,
            target: ResultTarget::Composite,
        };
        let failed = RunResponse {
            results: vec![fatal],
            ..RunResponse::default()
        };
        calls.end(&Ok(failed), at(9));
        calls.begin("c", "function-c", at(10));
        calls.end(&Err(FunctionFailure::OutOfTime), at(11));
        calls.begin("d", "function-d", at(12));
        let expected = json!([
            {"step": "a", "function": "function-a", "calls": 2, "kept": 1, "tookMillis": 6, "composed": 0},
            {"step": "b", "function": "function-b", "calls": 1, "kept": 0, "tookMillis": 1, "failure": "fatal result: no size"},
            {"step": "c", "function": "function-c", "calls": 1, "kept": 0, "tookMillis": 1, "failure": FunctionFailure::OutOfTime.to_string()},
            {"step": "d", "function": "function-d", "calls": 0, "kept": 0, "tookMillis": 0, "calledSince": "1970-01-01T00:00:00.012Z"},
        ]);
        assert_eq!(calls.to_json(), expected);
    }
}
