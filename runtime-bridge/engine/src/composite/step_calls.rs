//! What the steps of a run asked of their functions and how these answered, for people. Of contents it has the texts of failures alone, as conditions
//! show them.

use std::time::Duration;

use bridge_core::{
    composite::RunFailure,
    function::{FunctionFailure, RunResponse},
};
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
    /// Since then it waits for its place, and for the answer.
    Asked {
        since: Timestamp,
    },
    /// So much is desired by now, what the steps before it desire included.
    Answered {
        desired: usize,
    },
    Failed(String),
}

impl StepCalls {
    /// The function is asked now.
    pub(super) fn begin(&mut self, step: &str, function: &str, now: Timestamp) {
        let state = State::Asked { since: now };
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

    /// What was asked last is answered.
    pub(super) fn end(&mut self, answer: &Result<RunResponse, FunctionFailure>, now: Timestamp) {
        let Some(last) = self.0.last_mut() else { return };
        let State::Asked { since } = last.state else {
            return;
        };
        last.calls += 1;
        last.took += now.duration_since(since).unsigned_abs();
        last.state = match answer {
            Ok(response) => {
                last.kept += u32::from(response.kept);
                State::Answered {
                    desired: response.desired.resources.len(),
                }
            }
            Err(failure) => State::Failed(failure.to_string()),
        };
    }

    /// The run has failed, whatever the function of that step answered.
    pub(super) fn fail(&mut self, failure: &RunFailure) {
        let last = self.0.last_mut();
        if let Some(last) = last.filter(|last| failure.step() == Some(&last.step)) {
            last.state = State::Failed(failure.to_string());
        }
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
            State::Asked { since } => ("askedSince", json!(since.to_string())),
            State::Answered { desired } => ("desiredResources", json!(desired)),
            State::Failed(why) => ("failure", json!(why)),
        };
        json[name] = value;
        json
    }
}

#[cfg(test)]
mod tests {
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
        calls.end(&Ok(RunResponse::default()), at(9));
        calls.begin("c", "function-c", at(10));
        calls.end(&Err(FunctionFailure::OutOfTime), at(11));
        calls.begin("d", "function-d", at(12));
        let expected = json!([
            {"step": "a", "function": "function-a", "calls": 2, "kept": 1, "tookMillis": 6, "desiredResources": 0},
            {"step": "b", "function": "function-b", "calls": 1, "kept": 0, "tookMillis": 1, "desiredResources": 0},
            {"step": "c", "function": "function-c", "calls": 1, "kept": 0, "tookMillis": 1, "failure": FunctionFailure::OutOfTime.to_string()},
            {"step": "d", "function": "function-d", "calls": 0, "kept": 0, "tookMillis": 0, "askedSince": "1970-01-01T00:00:00.012Z"},
        ]);
        assert_eq!(calls.to_json(), expected);
    }

    #[test]
    fn a_step_whose_answer_cannot_be_used_has_failed() {
        let at = |millis| Timestamp::from_millisecond(millis).unwrap();
        let failure = |step: &str| RunFailure::Fatal {
            step: step.to_owned(),
            message: "no size".to_owned(),
        };
        let mut calls = StepCalls::default();
        calls.begin("a", "function-a", at(0));
        calls.end(&Ok(RunResponse::default()), at(1));
        calls.fail(&failure("b"));
        assert_eq!(calls.to_json()[0]["desiredResources"], 0);
        calls.fail(&failure("a"));
        let step = &calls.to_json()[0];
        assert_eq!(
            (&step["failure"], &step["desiredResources"]),
            (&json!(failure("a").to_string()), &Value::Null)
        );
    }
}
