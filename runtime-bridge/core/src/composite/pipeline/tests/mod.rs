//! Whole runs, with scripted functions.

mod credentials;
mod failures;
mod limits;
mod passing_on;
mod properties;
mod requirements;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use serde_json::{Value, json};

use crate::function::{
    Condition, ConditionStatus, DesiredState, FunctionFailure, HiddenMap, Observed, Requirements, Resource,
    ResourceMatch, ResourceSelector, ResultTarget, RunRequest, RunResponse, RunResult, SchemaSelector,
    SecretData, Severity,
};

use super::{
    super::{StepRequirements, digest::ContentDigest},
    CredentialSpec, Found, Limits, Lookup, Next, Pipeline, PipelineSpec, RunFailure, RunInput, RunOutcome,
    StepFailure, StepResult, StepSpec, Violation,
};

/// What happened in a run, in order.
#[derive(Debug, Default)]
struct Trace {
    looked: Vec<Vec<String>>,
    calls: Vec<(String, RunRequest)>,
}

type Answer = Result<RunResponse, FunctionFailure>;

/// Runs to the end. `function` is told the step and how often it was called before.
fn run(
    input: RunInput,
    find: impl Fn(&Lookup) -> Found,
    mut function: impl FnMut(&str, usize, &RunRequest) -> Answer,
) -> (RunOutcome, Trace) {
    let mut pipeline = Pipeline::begin(input);
    let mut trace = Trace::default();
    loop {
        let next = pipeline.next();
        assert_eq!(pipeline.next(), next, "asked twice it says the same");
        match next {
            Next::Need(lookups) => {
                assert!(!lookups.is_empty());
                trace
                    .looked
                    .push(lookups.iter().map(ToString::to_string).collect());
                let found = lookups.into_iter().map(|lookup| (lookup.clone(), find(&lookup)));
                pipeline.found(found.collect());
            }
            Next::Call {
                step,
                function: name,
                request,
            } => {
                assert_eq!(name, format!("function-{step}"));
                let before = trace.calls.iter().filter(|(called, _)| *called == step).count();
                let answer = function(&step, before, &request);
                trace.calls.push((step, *request));
                pipeline.answered(answer);
            }
            Next::End(outcome) => return (*outcome, trace),
        }
    }
}

fn steps<const N: usize>(names: [&str; N]) -> RunInput {
    let steps = names.map(|name| StepSpec {
        step: name.to_owned(),
        function: format!("function-{name}"),
        ..StepSpec::default()
    });
    let steps = PipelineSpec { steps: steps.into() };
    RunInput {
        steps,
        ..RunInput::default()
    }
}

fn by_name(name: &str) -> ResourceSelector {
    ResourceSelector {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        matching: ResourceMatch::Name(name.to_owned()),
        namespace: Some("ns".to_owned()),
    }
}

fn by_labels() -> ResourceSelector {
    ResourceSelector {
        matching: ResourceMatch::Labels([].into()),
        namespace: None,
        ..by_name("")
    }
}

fn requiring<const N: usize>(resources: [(&str, ResourceSelector); N]) -> Requirements {
    let resources = resources.map(|(name, selector)| (name.to_owned(), selector));
    Requirements {
        resources: resources.into(),
        ..Requirements::default()
    }
}

fn response(requirements: Requirements) -> RunResponse {
    RunResponse {
        requirements,
        ..RunResponse::default()
    }
}

fn desiring<const N: usize>(names: [&str; N]) -> DesiredState {
    let resources = names.map(|name| {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap"});
        (name.to_owned(), Resource::of(object))
    });
    DesiredState {
        composite: None,
        resources: resources.into(),
    }
}

fn result(severity: Severity, message: &str) -> RunResult {
    let message = message.to_owned();
    RunResult {
        severity,
        message,
        reason: None,
        target: ResultTarget::Composite,
    }
}

fn condition(type_: &str) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: ConditionStatus::True,
        reason: "R".to_owned(),
        message: None,
        target: ResultTarget::Composite,
    }
}

fn map(namespace: &str, name: &str) -> Resource {
    Resource::of(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name}}),
    )
}

/// One object for each name, but for `absent`.
fn find(lookup: &Lookup) -> Found {
    match lookup {
        Lookup::Resources(ResourceSelector {
            matching: ResourceMatch::Name(name),
            ..
        }) if name == "absent" => Found::Resources(Vec::new()),
        Lookup::Resources(ResourceSelector {
            matching: ResourceMatch::Name(name),
            ..
        }) if name == "forbidden" => Found::Failed("configmaps is forbidden".to_owned()),
        Lookup::Resources(ResourceSelector {
            matching: ResourceMatch::Name(name),
            ..
        }) => Found::Resources(vec![map("ns", name)]),
        Lookup::Resources(_) => Found::Resources(vec![map("b", "a"), map("a", "b"), map("a", "a")]),
        Lookup::Schema(_) => Found::Schema(None),
        Lookup::Secret { name, .. } if name == "absent" => Found::Secret(None),
        Lookup::Secret { .. } => {
            Found::Secret(Some(SecretData([("key".to_owned(), b"canary".to_vec())].into())))
        }
    }
}

fn nothing_is_looked_up(lookup: &Lookup) -> Found {
    panic!("{lookup}")
}

fn names_of(resources: &[Resource]) -> Vec<String> {
    let name = |resource: &Resource| {
        let metadata = &resource.object["metadata"];
        format!(
            "{}/{}",
            metadata["namespace"].as_str().unwrap(),
            metadata["name"].as_str().unwrap()
        )
    };
    resources.iter().map(name).collect()
}
